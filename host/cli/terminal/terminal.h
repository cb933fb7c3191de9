/*
 * terminal.h - what the program says: messages, results, text that fits,
 * progress; and how it is stopped.
 */
#ifndef VT_CLI_TERMINAL_H
#define VT_CLI_TERMINAL_H
#include "base/json_print.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <vitcl.h>

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED = 130 };

/* VT_TRY in a function with an int `code`. expr: an exit status, or a status of
 * the library, whose message is shown. */
#define TRY(expr)                                                              \
    do {                                                                       \
        if ((code = code_of(expr)) != EXIT_OK)                                 \
            goto done;                                                         \
    } while (0)
/* The same in a function that has nothing to free, as VT_RET. */
#define RET(expr)                                                              \
    do {                                                                       \
        const int code_ = code_of(expr);                                       \
        if (code_ != EXIT_OK)                                                  \
            return code_;                                                      \
    } while (0)

/* ---- messages ---- */

/* One line on stderr, "vitcl classify: ...", which is wrapped on a terminal;
 * returns the exit status. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* nothing after be_quiet() */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern const char *command_name; /* "" before it is known */
void summary(const char *text);  /* such a line without the name */
/* The library's last message. */
int failed(void);
/* The exit status of a library's: EXIT_OK, EXIT_STOPPED without a line, or
 * failed(). An exit status is returned as it is. */
int code_of(int status);
void set_command_name(const char *name); /* for these messages */
bool is_terminal(FILE *f);
/* One that also follows escape sequences; TERM=dumb does not. */
bool is_screen(FILE *f);
/* -v: from now on the library's log goes to stderr. */
void be_verbose(void);
bool is_verbose(void);
/* --quiet: no progress and no notes from now on, only results and errors. */
void be_quiet(void);
bool is_quiet(void);

/* ---- results ---- */

/* vt_json_put() (base/json_print.h) to stdout. */
void json_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* For many numbers, whose signs the caller prints. Not finite: null. */
void json_number(double v);
extern vt_json_writer json_results;
void tsv_text(const char *s);  /* tab, newline, backslash and other
                                            * control characters escaped */
void tsv_title(const char *s); /* the same, bold where it can be */
/* Text from a file, at most `most` bytes. Here, in messages and in tsv_text(),
 * control characters are written as \ooo to a terminal. */
void put_text(const char *s, size_t most);
/* printf() to stdout at once, as a driver may crash next, and into `also`,
 * unless that is NULL. */
void put_both(FILE *also, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The bytes of the character at s; 0: not UTF-8, or it steers a terminal. */
size_t text_length(const char *s);
/* Makes bytes that are not UTF-8 "_". */
void make_text(char *s);
int flush_results(void); /* EXIT_FAILED: close_results() says why */
/* At the end: returns the status, or EXIT_FAILED if writing standard output
 * failed. Closes it, because a file system may report errors late. */
int close_results(int code);

/* ---- text that fits ---- */

int columns_of(FILE *f); /* of that terminal, else COLUMNS; 80 for anything
                          * that is no terminal */
/* Of the character at s, in UTF-8: two for those of East Asia and pictures,
 * none for those that combine with the one before. */
int character_columns(const char *s);
/* How many of the first bytes of a text fit into so many columns; *used: of
 * them. put_text() prints a byte that cannot be shown as \ooo. */
size_t fitting(const char *s, size_t size, int columns, int *used);
/* The same of all of it, with a newline as a space. */
int width_of(const char *s, size_t size);
/* For text on standard output: as wide as the terminal, from 60 to 80. */
int text_columns(void);
int terminal_columns(void); /* of standard output; a pipe has no edge */
/* Prints words in lines of at most `columns`. The first line is at column `at`,
 * the next begin at `indent`. A blank line parts paragraphs; other newlines are
 * spaces. No line begins with a dash. */
void put_wrapped(const char *text, int at, int indent, int columns);
/* Prints a row of a table as it is; on a terminal that is too narrow, in lines
 * that end between words. */
void put_cells(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- numbers of things ---- */

enum { BYTES_TEXT = 16 };
void bytes_text(char text[BYTES_TEXT], double bytes); /* "1.2 GB" */
void print_bytes(double bytes);

/* ---- progress ---- */

typedef struct progress { /* a line on stderr if that is a terminal */
    const char *what;     /* "pictures"; NULL: the total is in seconds */
    uint64_t total;       /* 0: unknown */
    double start, shown;
    bool on, drawn;
} progress;
void progress_start(progress *p, const char *what, uint64_t total);
/* text: shown after the bar, or NULL */
void progress_show(progress *p, uint64_t done, const char *text);
void progress_clear(progress *p); /* before other lines, and at the end */

/* ---- time and Ctrl-C ---- */

double now(void); /* seconds, monotonic */

/* From now on Ctrl-C, SIGTERM and SIGHUP only set stopped(); a second one
 * kills, but for SIGHUP. One that was ignored at the start stays so. */
void catch_stop(void);
void note_signals(void);   /* before a driver is loaded: which are ignored? */
int exit_status(int code); /* of EXIT_STOPPED: 128 + the signal */
bool stopped(void);

/* ---- waiting ---- */

/* From now on a line on stderr says when this device's kernels are compiled for
 * longer than half a second. Not with -v, whose log says more. */
void wait_watch(vitcl_device *device);
/* A line with `what` if it takes longer until wait_end(). once: as for kernels,
 * else only on a terminal and after two seconds. */
void wait_begin(const char *what, bool once);
void wait_end(void);

#endif
