/*
 * variants.c - which of the kernels that no GPU has chosen yet are used.
 */
#include "units/variants.h"

#include "base/environment.h"

#include <stdio.h>
#include <string.h>

static const char *const words[VT_VARIANTS] = {
    [VT_VARIANT_NORM] = "norm",       [VT_VARIANT_TAIL] = "tail",
    [VT_VARIANT_HEADS7] = "heads7",   [VT_VARIANT_HEADS13] = "heads13",
    [VT_VARIANT_COLUMNS] = "columns", [VT_VARIANT_PARTS] = "parts",
    [VT_VARIANT_ROWS] = "rows",       [VT_VARIANT_LAST] = "last",
    [VT_VARIANT_FAR] = "far",         [VT_VARIANT_PIXELS] = "pixels",
    [VT_VARIANT_EMBED] = "embed",
};

const char *vt_variant_name(vt_variant v)
{
    return words[v];
}

/* The next word of a list from *at on; NULL: there is none. */
static const char *next(const char **at, size_t *n)
{
    const char *word = *at;

    if (!word || !*word)
        return NULL;
    *n = strcspn(word, ",");
    *at = word + *n + (word[*n] == ',');
    return word;
}

static bool is(vt_variant v, const char *word, size_t n)
{
    return strlen(words[v]) == n && strncmp(words[v], word, n) == 0;
}

bool vt_variant_wanted(vt_variant v)
{
    const char *at = vt_getenv("VITCL_VARIANTS"), *word;
    size_t n;

    while ((word = next(&at, &n)))
        if (is(v, word, n))
            return true;
    return false;
}

vitcl_status vt_variant_setting(void)
{
    const char *at = vt_getenv("VITCL_VARIANTS"), *word;
    char all[128] = "";
    size_t n;
    int v;

    while ((word = next(&at, &n))) {
        for (v = 0; v < VT_VARIANTS && !is((vt_variant)v, word, n); v++)
            ;
        if (v < VT_VARIANTS)
            continue;
        for (v = 0; v < VT_VARIANTS; v++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                     v ? ", " : "", words[v]);
        return vt_fail(VITCL_EINVAL,
                       "VITCL_VARIANTS has \"%.*s\"; its words can be %s",
                       (int)(n < 40 ? n : 40), word, all);
    }
    return VITCL_OK;
}
