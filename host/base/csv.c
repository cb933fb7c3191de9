/*
 * csv.c - see csv.h.
 */
#include "base/csv.h"

#include "base/utf8.h"

#include <string.h>

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
