/*
 * utf8.c - well-formed characters, and text that is safe to show.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t vt_utf8_length(const void *text, size_t left)
{
    const uint8_t *s = text;
    size_t n = s[0] < 0x80             ? 1
               : (s[0] & 0xe0) == 0xc0 ? 2
               : (s[0] & 0xf0) == 0xe0 ? 3
               : (s[0] & 0xf8) == 0xf0 ? 4
                                       : 0;
    uint32_t v;

    if (n <= 1)
        return n;
    if (n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    v = vt_utf8_code(text, n);
    if (v < (n == 2   ? 0x80U
             : n == 3 ? 0x800U
                      : 0x10000U) ||
        v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return 0;
    return n;
}

size_t vt_utf8_cut(const char *text, size_t n)
{
    n = strnlen(text, n);
    while (n && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    return n;
}

bool vt_utf8(const void *text, size_t size)
{
    const uint8_t *s = text;
    for (size_t at = 0, n; at < size; at += n)
        if ((n = vt_utf8_length(s + at, size - at)) == 0)
            return false;
    return true;
}

size_t vt_utf8_character(const char *text)
{
    return vt_utf8_length(text, strnlen(text, 4));
}

uint32_t vt_utf8_code(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c = n == 1 ? s[0] : s[0] & (0x7Fu >> n);

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3Fu);
    return c;
}

bool vt_utf8_steers(const char *text, size_t n)
{
    const uint32_t c = n == 0 ? 0 : vt_utf8_code(text, n);

    return c < ' ' || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E ||
           c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x206F) || (c >= 0xE0000 && c <= 0xE007F);
}

void vt_utf8_put(FILE *f, const char *text, size_t size, bool shown)
{
    if (!shown)
        fwrite(text, 1, strnlen(text, size), f);
    for (size_t at = 0, n; shown && at < size && text[at]; at += n) {
        bool bad;

        n = vt_utf8_character(text + at);
        bad = vt_utf8_steers(text + at, n);
        n = n ? n : 1;
        for (size_t i = 0; i < n; i++)
            fprintf(f, bad ? "\\%03o" : "%c", (unsigned char)text[at + i]);
    }
}

bool vt_utf8_clean(char *out, size_t room, const char *text)
{
    static const char unknown[] = "\xEF\xBF\xBD"; /* U+FFFD */
    const char *s = text ? text : "";
    size_t used = 0;

    while (*s) {
        const size_t n = vt_utf8_character(s);
        const bool bad = vt_utf8_steers(s, n);
        const size_t size = bad ? sizeof unknown - 1 : n;

        if (used + size >= room)
            break;
        memcpy(out + used, bad ? unknown : s, size);
        used += size;
        s += n ? n : 1;
    }
    out[used] = '\0';
    return !*s;
}
