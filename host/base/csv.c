/*
 * csv.c - a field is quoted only where it must be; rows are read in place.
 */
#include "base/csv.h"

#include "base/utf8.h"

#include <string.h>

/* ---- writing ---- */

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

void vt_csv_put(FILE *f, const char *text, vt_csv kind, bool shown)
{
    const char *quote = text[strcspn(text, ",\"\r\n")] ? "\"" : "";

    fputs(quote, f);
    if (is_formula(text))
        fputs(kind == VT_CSV_PATH ? "./" : "'", f);
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\"");
        vt_utf8_put(f, text, n, shown);
        if (text[n])
            fputs("\"\"", f), n++;
    }
    fputs(quote, f);
}

/* ---- reading ---- */

vt_csv_text vt_csv_begin(char *text, size_t n)
{
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t skip = n >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

    return (vt_csv_text){text + skip, text + n, 0, 1, ','};
}

/* Is this the last byte of a line? It ends with LF, CR, or both. */
static bool ends_line(const char *at, const char *end)
{
    return *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] != '\n'));
}

/* Moves the text between quotes to *to, and t->at behind the last quote. */
static vitcl_status unquote(char **to, vt_csv_text *t)
{
    for (t->at++;; t->at++) {
        if (t->at == t->end)
            return vt_fail(VITCL_ECORRUPT,
                           "line %u: a field begins with a quote that does not "
                           "end",
                           t->line);
        if (*t->at == '"' && (t->at + 1 == t->end || t->at[1] != '"'))
            break;
        t->at += *t->at == '"';
        t->next += ends_line(t->at, t->end);
        *(*to)++ = *t->at;
    }
    t->at++;
    return VITCL_OK;
}

static bool ends_row(const char *at, const char *end)
{
    return at == end || *at == '\n' || *at == '\r';
}

/* *last: nothing of the row is left. */
static vitcl_status next_field(char **out, bool *last, vt_csv_text *t)
{
    char *to = t->at;

    *out = to;
    if (t->at < t->end && *t->at == '"')
        VT_RET(unquote(&to, t));
    else
        while (!ends_row(t->at, t->end) && *t->at != t->separator)
            to = ++t->at;
    *last = ends_row(t->at, t->end);
    if (!*last && *t->at != t->separator)
        return vt_fail(VITCL_ECORRUPT,
                       "line %u: text after the quote that ends a field",
                       t->line);
    if (memchr(*out, 0, (size_t)(to - *out)))
        return vt_fail(VITCL_ECORRUPT,
                       "line %u: a zero byte; save the table as UTF-8",
                       t->line);
    if (*last && t->end - t->at > 1 && t->at[0] == '\r' && t->at[1] == '\n')
        t->at++;
    t->next += *last && t->at < t->end;
    t->at += t->at < t->end;
    *to = '\0';
    return VITCL_OK;
}

vitcl_status vt_csv_row(char **field, size_t *n, size_t most, vt_csv_text *t)
{
    bool last, blank = true;
    char *text;

    *n = 0;
    while (blank && t->at < t->end) {
        t->line = t->next;
        for (*n = 0, last = false; !last; (*n)++) {
            VT_RET(next_field(&text, &last, t));
            if (*n < most)
                field[*n] = text;
        }
        blank = *n == 1 && !*text;
    }
    if (blank)
        *n = 0;
    return VITCL_OK;
}
