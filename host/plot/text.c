/*
 * text.c - check and clean text from files.
 */
#include "plot/text.h"

#include <string.h>

size_t vt_text_character(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n = s[0] < 0x80                    ? 1
               : s[0] >= 0xC2 && s[0] <= 0xDF ? 2
               : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
               : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                              : 0;

    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

bool vt_text_steers(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;

    return n == 0 || s[0] < ' ' || s[0] == 127 ||
           (n == 2 && s[0] == 0xC2 && s[1] < 0xA0) ||
           (n == 3 && s[0] == 0xE2 &&
            ((s[1] == 0x80 && s[2] >= 0xA8 && s[2] <= 0xAE) ||
             (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9)));
}

bool vt_text_clean(char *out, size_t room, const char *text)
{
    static const char unknown[] = "\xEF\xBF\xBD"; /* U+FFFD */
    const char *s = text ? text : "";
    size_t used = 0;

    while (*s) {
        const size_t n = vt_text_character(s);
        const bool bad = vt_text_steers(s, n);
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

bool vt_text_ends(const char *s, const char *ending)
{
    const size_t n = strlen(s), m = strlen(ending);

    return n > m && strcmp(s + n - m, ending) == 0;
}

/* A character of at most three bytes. */
static void json_escape(FILE *f, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned code = s[0];

    if (n == 2)
        code = (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    else if (n == 3)
        code = (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
    fprintf(f, "\\u%04x", code);
}

void vt_text_json(FILE *f, const char *text)
{
    size_t n;

    putc('"', f);
    for (const char *s = text; *s; s += n) {
        n = vt_text_character(s);
        if (n == 0)
            n = 1, fputs("\xEF\xBF\xBD", f);
        else if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if (*s == '\n')
            fputs("\\n", f);
        else if (*s == '\t')
            fputs("\\t", f);
        else if (vt_text_steers(s, n))
            json_escape(f, s, n);
        else
            fwrite(s, 1, n, f);
    }
    putc('"', f);
}
