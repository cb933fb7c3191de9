/*
 * out.c - messages on stderr, results as JSON or text on stdout.
 */
#include "cmd.h"

#include "base/clock.h"
#include "base/json_print.h"
#include "base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

const char *command_name = "";

void set_command_name(const char *name)
{
    command_name = name;
}

static void put(FILE *f, const char *s, size_t size)
{
    vt_utf8_put(f, s, size, is_terminal(f));
}

/* A newline, as in file names, is written as \n. */
static void put_line(const char *s, size_t size)
{
    const char *end = s + size;

    while (s < end) {
        const char *line = memchr(s, '\n', (size_t)(end - s));
        const size_t n = (size_t)((line ? line : end) - s);

        put(stderr, s, n);
        if (line)
            fputs("\\n", stderr);
        s += n + (line != NULL);
    }
}

/* Of a word as it is put on a terminal. */
static int columns_shown(const char *s, size_t size)
{
    int columns = 0;

    for (size_t at = 0, n; at < size; at += n) {
        const size_t known = vt_utf8_character(s + at);

        n = known ? known : 1;
        if (s[at] == '\n')
            columns += 2;
        else
            columns += vt_utf8_steers(s + at, known)
                           ? 4 * (int)n
                           : character_columns(s + at);
    }
    return columns;
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
        wide = columns_shown(s, n) + (at > 0);
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

    va_start(args, format);
    say(format, args);
    va_end(args);
}

int failed(void)
{
    return fail("%s", vitcl_last_error());
}

static bool verbose, quiet;
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
    vitcl_set_log(log_line, NULL);
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

/* ---- results ---- */

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

void json_text(FILE *f, const char *text)
{
    if (text)
        vt_json_print_string(f, text);
    else
        fputs("null", f);
}

void json_string(const char *text)
{
    json_text(stdout, text);
}

void json_path(const char *path)
{
    vt_json_print_path(stdout, "picture", "path_bytes", path);
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
    put(stdout, s, most);
}

void tsv_text(const char *s)
{
    while (s && *s) {
        const size_t n = strcspn(s, "\t\n\\");

        put(stdout, s, n);
        s += n;
        if (*s)
            printf("\\%c", *s == '\t' ? 't' : *s == '\n' ? 'n' : '\\');
        s += *s != '\0';
    }
}

size_t text_length(const char *s)
{
    const size_t n = vt_utf8_character(s);

    return vt_utf8_steers(s, n) ? 0 : n;
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

double now(void)
{
    return vt_now_ms() / 1000;
}

/* ---- Ctrl-C, and a terminal that closes ---- */

static volatile sig_atomic_t raised; /* the first signal */

static void raise_flag(int signal)
{
    if (!raised)
        raised = signal;
}

/* A second one kills, but for SIGHUP: a terminal may raise that twice. */
static const struct {
    int signal, flags;
} stops[] = {
    {SIGINT, (int)SA_RESETHAND}, {SIGTERM, (int)SA_RESETHAND}, {SIGHUP, 0}};
enum { STOPS = sizeof stops / sizeof *stops };

/* By nohup, or in a shell's background. A driver's compiler may set a handler
 * later, so that this is asked before one is loaded. */
static bool ignored[STOPS];

void note_signals(void)
{
    struct sigaction before;

    for (int i = 0; i < STOPS; i++)
        ignored[i] = sigaction(stops[i].signal, NULL, &before) == 0 &&
                     before.sa_handler == SIG_IGN;
}

void catch_stop(void)
{
    struct sigaction action = {.sa_handler = raise_flag};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < STOPS; i++) {
        action.sa_flags = stops[i].flags;
        action.sa_handler = ignored[i] ? SIG_IGN : raise_flag;
        sigaction(stops[i].signal, &action, NULL);
    }
}

int exit_status(int code)
{
    return code == EXIT_STOPPED && raised ? 128 + raised : code;
}

bool stopped(void)
{
    return raised != 0;
}
