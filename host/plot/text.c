/*
 * text.c - check and clean text from files.
 */
#include "plot/text.h"

#include <stdint.h>
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

/* Of a character of n bytes. */
static uint32_t code_of(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c = n == 1 ? s[0] : s[0] & (0x7Fu >> n);

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3Fu);
    return c;
}

bool vt_text_steers(const char *text, size_t n)
{
    const uint32_t c = n == 0 ? 0 : code_of(text, n);

    return c < ' ' || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E ||
           c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x206F) || (c >= 0xE0000 && c <= 0xE007F);
}

void vt_text_put(FILE *f, const char *text, size_t size, bool shown)
{
    if (!shown)
        fwrite(text, 1, strnlen(text, size), f);
    for (size_t at = 0, n; shown && at < size && text[at]; at += n) {
        bool bad;

        n = vt_text_character(text + at);
        bad = vt_text_steers(text + at, n);
        n = n ? n : 1;
        for (size_t i = 0; i < n; i++)
            fprintf(f, bad ? "\\%03o" : "%c", (unsigned char)text[at + i]);
    }
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

static void json_escape(FILE *f, const char *text, size_t n)
{
    const uint32_t c = code_of(text, n);

    if (c < 0x10000)
        fprintf(f, "\\u%04x", (unsigned)c);
    else /* a pair of UTF-16 */
        fprintf(f, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (c >> 10)),
                (unsigned)(0xDC00 + (c & 0x3FF)));
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

/* A spreadsheet computes a cell that begins with one of these; of the last
 * four, which are wide, some do. */
static bool is_formula(const char *text)
{
    static const char *const begins[] = {"=",
                                         "+",
                                         "-",
                                         "@",
                                         "\t",
                                         "\r",
                                         "\n",
                                         "\xEF\xBC\x9D",
                                         "\xEF\xBC\x8B",
                                         "\xEF\xBC\x8D",
                                         "\xEF\xBC\xA0"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

void vt_text_csv(FILE *f, const char *text, vt_csv kind, bool shown)
{
    const char *quote = text[strcspn(text, ",\"\r\n")] ? "\"" : "";

    fputs(quote, f);
    if (is_formula(text))
        fputs(kind == VT_CSV_PATH ? "./" : "'", f);
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\"");
        vt_text_put(f, text, n, shown);
        if (text[n])
            fputs("\"\"", f), n++;
    }
    fputs(quote, f);
}

void vt_text_base64(FILE *f, const void *data, size_t size)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = data;

    for (size_t i = 0; i < size; i += 3) {
        const size_t n = size - i < 3 ? size - i : 3;
        const uint32_t bits = (uint32_t)in[i] << 16 |
                              (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                              (n > 2 ? (uint32_t)in[i + 2] : 0);

        putc(digit[bits >> 18], f);
        putc(digit[bits >> 12 & 63], f);
        putc(n > 1 ? digit[bits >> 6 & 63] : '=', f);
        putc(n > 2 ? digit[bits & 63] : '=', f);
    }
}

void vt_text_json_path(FILE *f, const char *key, const char *bytes,
                       const char *path)
{
    size_t at = 0, n;

    fprintf(f, "\"%s\":", key);
    vt_text_json(f, path);
    while (path[at] && (n = vt_text_character(path + at)) > 0)
        at += n;
    if (!path[at])
        return;
    fprintf(f, ",\"%s\":\"", bytes);
    vt_text_base64(f, path, strlen(path));
    putc('"', f);
}
