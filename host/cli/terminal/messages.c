/*
 * messages.c - lines on stderr.
 */
#include "base/utf8.h"
#include "terminal.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

const char *command_name = "";
static bool quiet;

void set_command_name(const char *name)
{
    command_name = name;
}

/* A newline, as in file names, is written as \n. */
static void put_line(const char *s, size_t size)
{
    const char *end = s + size;

    while (s < end) {
        const char *line = memchr(s, '\n', (size_t)(end - s));
        const size_t n = (size_t)((line ? line : end) - s);

        vt_utf8_put(stderr, s, n, is_terminal(stderr));
        if (line)
            fputs("\\n", stderr);
        s += n + (line != NULL);
    }
}

/* A word is so much wider than its width_of(). */
static int newlines(const char *s, size_t size)
{
    int n = 0;

    for (size_t i = 0; i < size; i++)
        n += s[i] == '\n';
    return n;
}

/* One line, whose first `at` columns are written; on a terminal, several that
 * end between words. */
static void put_words(const char *text, int at)
{
    enum { INDENT = 2 };
    const int columns = is_terminal(stderr) ? columns_of(stderr) : INT_MAX;
    size_t n;

    for (const char *s = text;; s += n + 1) {
        int wide;

        n = strcspn(s, " ");
        wide = width_of(s, n) + newlines(s, n) + (at > 0);
        if (at > 0 && wide > columns - at) {
            fprintf(stderr, "\n%*s", INDENT, "");
            at = INDENT - 1;
        } else if (at > 0) {
            fputc(' ', stderr);
        }
        put_line(s, n);
        at += wide;
        if (!s[n])
            break;
    }
    fputc('\n', stderr);
}

static void say(const char *format, va_list args)
{
    static const char cut[] = " ...";
    char text[8192]; /* a path and a message */
    int at;

    if (vsnprintf(text, sizeof text, format, args) >= (int)sizeof text)
        memcpy(text + sizeof text - sizeof cut, cut, sizeof cut);
    at =
        fprintf(stderr, "vitcl%s%s:", command_name[0] ? " " : "", command_name);
    put_words(text, at);
}

void summary(const char *text)
{
    put_words(text, 0);
}

int fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    return EXIT_FAILED;
}

int usage(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    return EXIT_USAGE;
}

void note(const char *format, ...)
{
    va_list args;

    if (quiet)
        return;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

int failed(void)
{
    return fail("%s", vitcl_last_error());
}

int code_of(int status)
{
    return status >= VITCL_OK         ? status
           : status == VITCL_ESTOPPED ? EXIT_STOPPED
                                      : failed();
}

static bool verbose;
static double verbose_from;

static void log_line(void *context, const char *line)
{
    (void)context;
    note("[%7.3f s] %s", now() - verbose_from, line);
}

void be_verbose(void)
{
    verbose = true;
    verbose_from = now();
    vitcl_log_set(log_line, NULL);
}

bool is_verbose(void)
{
    return verbose;
}

void be_quiet(void)
{
    quiet = true;
}

bool is_quiet(void)
{
    return quiet;
}
