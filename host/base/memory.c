/*
 * memory.c - checked arithmetic and allocation.
 */
#include "base/memory.h"

#include "base/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool vt_mul(size_t *out, size_t a, size_t b)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool vt_sum(size_t *out, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

vitcl_status vt_new(void *out, size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (!p)
        return vt_fail(VITCL_ENOMEM, "out of memory for %zu elements of %zu", n,
                       size);
    memcpy(out, &p, sizeof p);
    return VITCL_OK;
}

vitcl_status vt_grow(void *ptr, size_t *cap, size_t need, size_t size)
{
    size_t want = *cap ? *cap : 8, bytes;
    void *p;

    if (need <= *cap)
        return VITCL_OK;
    while (want < need && want <= SIZE_MAX / 2)
        want *= 2;
    memcpy(&p, ptr, sizeof p);
    if (want < need || !vt_mul(&bytes, want, size) || !(p = realloc(p, bytes)))
        return vt_fail(VITCL_ENOMEM, "out of memory for %zu elements of %zu",
                       need, size);
    memset((char *)p + *cap * size, 0, (want - *cap) * size);
    memcpy(ptr, &p, sizeof p);
    *cap = want;
    return VITCL_OK;
}

vitcl_status vt_strdup(char **out, const char *s)
{
    return vt_format(out, "%s", s);
}

vitcl_status vt_format(char **out, const char *format, ...)
{
    va_list args;
    locale_t before;
    char *s;
    int n;

    before = vt_point_begin(); /* the text may be written to a file */
    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    s = n < 0 ? NULL : malloc((size_t)n + 1);
    va_start(args, format);
    if (s)
        vsnprintf(s, (size_t)n + 1, format, args);
    va_end(args);
    vt_point_end(before);
    if (!s)
        return vt_fail(VITCL_ENOMEM, "out of memory for a string");
    *out = s;
    return VITCL_OK;
}
