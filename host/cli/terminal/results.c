/*
 * results.c - results as JSON or text on stdout.
 */
#include "base/utf8.h"
#include "terminal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

static int results_errno;

int flush_results(void)
{
    if (fflush(stdout) == 0)
        return EXIT_OK;
    results_errno = errno;
    return EXIT_FAILED;
}

int close_results(int code)
{
    const bool bad = flush_results() != EXIT_OK || ferror(stdout);

    errno = 0;
    if (!bad && fclose(stdout) == 0)
        return code;
    errno = bad ? results_errno : errno;
    return fail("standard output cannot be written%s%s", errno ? ": " : "",
                errno ? strerror(errno) : "");
}

vt_json_writer json_results = {.more = false};

void json_put(const char *format, ...)
{
    va_list args;

    json_results.f = stdout;
    va_start(args, format);
    vt_json_vput(&json_results, format, args);
    va_end(args);
}

void json_number(double v)
{
    if (isfinite(v))
        printf("%.9g", v);
    else
        printf("null");
}

void put_text(const char *s, size_t most)
{
    vt_utf8_put(stdout, s, most, is_terminal(stdout));
}

/* Some programs end a line at such a character, or a terminal that is shown the
 * file obeys it. */
static bool is_control(const char *s, size_t n)
{
    const uint32_t c = n ? vt_utf8_code(s, n) : ' ';

    return c < ' ' || (c >= 0x7F && c < 0xA0);
}

void tsv_text(const char *s)
{
    const bool shown = is_terminal(stdout);

    for (size_t n; s && *s; s += n) {
        n = vt_utf8_character(s);
        if (*s == '\t' || *s == '\n' || *s == '\\')
            printf("\\%c", *s == '\t' ? 't' : *s == '\n' ? 'n' : '\\');
        else
            vt_utf8_put(stdout, s, n ? n : 1, shown || is_control(s, n));
        n = n ? n : 1;
    }
}

void tsv_title(const char *s)
{
    const bool bold = is_screen(stdout);

    fputs(bold ? "\033[1m" : "", stdout);
    tsv_text(s);
    fputs(bold ? "\033[0m" : "", stdout);
}

void make_text(char *s)
{
    for (size_t n; *s; s += n) {
        n = vt_utf8_character(s);
        if (vt_utf8_steers(s, n))
            memset(s, '_', n ? n : 1);
        n = n ? n : 1;
    }
}
