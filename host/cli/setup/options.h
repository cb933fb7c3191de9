/*
 * options.h - commands and their options.
 *
 * A command is one file with one table of options and one row in main.c. The
 * table has the offset of each option's value in the command's struct, so that
 * parsing, --help and the man page's test need no other list.
 */
#ifndef VT_CLI_OPTIONS_H
#define VT_CLI_OPTIONS_H
#include "cli/terminal/terminal.h"

/* The library's limits: of a batch, and of a picture's sides. */
enum { BATCH_MOST = 65536, SIDE_MOST = 16384 };

typedef struct words { /* a list option's values, or the operands; NULL-ended */
    const char **item;
    size_t count;
} words;
typedef struct frame_size { /* pixels; 0: as trained */
    uint32_t height, width;
} frame_size;

typedef struct cosine {
    bool given;
    double value;
} cosine;
typedef struct natural {
    bool given;
    uint32_t value;
} natural;

typedef enum {
    OPT_FLAG,    /* bool */
    OPT_TEXT,    /* const char * */
    OPT_COUNT,   /* uint32_t, from 1 */
    OPT_NATURAL, /* natural: from 0 */
    OPT_REAL,    /* double, above zero */
    OPT_COSINE,  /* cosine: from -1 to 1 */
    OPT_CHOICE,  /* const char *: one of the words in `value`, "a|b" */
    OPT_FILE,    /* const char *: ends like one in `value`, "FILE.a|FILE.b" */
    OPT_SIZE,    /* frame_size: N or HxW */
    OPT_LIST     /* words: may be repeated */
} opt_kind;
typedef struct opt {
    char letter; /* 0: none */
    const char *name;
    opt_kind kind;
    const char *value; /* its value in --help: "DIR" */
    const char *help;
    size_t at; /* offsetof() in the command's struct */
    /* Names with | between them; one that the command does not have counts for
     * nothing: */
    const char *needs;    /* one of these must be given, too; NULL: none */
    const char *not_with; /* none of these may be; NULL: all may */
    const char *unless;   /* it must be given, or one of these, which may be
                           * ""; NULL: it may be left out */
} opt;

typedef struct command {
    const char *name, *operands;
    const char *summary;
    const char *more;   /* may be NULL */
    const opt *options; /* ends with a NULL name */
    size_t size;        /* of the command's struct, which is zeroed first */
    int (*run)(void *options, const words *operands);
} command;

/* All of them, in the order of --help; NULL-ended. main() sets it. */
extern const command *const *commands;
/* Parses argv[1..], runs the command, returns its exit status. */
int command_run(const command *c, int argc, char **argv);
void command_help(const command *c);
enum { OPT_MOST = 64 }; /* of a command */
/* A command's option; NULL: it has none of this name. */
const opt *opt_find(const command *c, const char *name, size_t n);
/* Whether the options that were given may be given together (opt_rules.c);
 * given[i]: was options[i]? Prints why not. */
int opt_check(const command *c, const bool given[OPT_MOST]);
/* The entry of names[] (NULL-ended) that `word` most likely means. */
const char *nearest(const char *word, const char *const *names);

/* ---- rows of the tables ---- */

#define OPT_ROW(T, letter, name, kind, value, help, member)                    \
    OPT_RULED(T, letter, name, kind, value, help, member, .needs = NULL)
/* With needs, not_with or unless. */
#define OPT_RULED(T, letter, name, kind, value, help, member, ...)             \
    {                                                                          \
        letter, name, kind, value, help, .at = offsetof(T, member),            \
                                         __VA_ARGS__                           \
    }
#define OPT_THREADS(T, member)                                                 \
    OPT_ROW(T, 0, "threads", OPT_COUNT, "N",                                   \
            "threads on the processor; else VITCL_THREADS, OMP_NUM_THREADS "   \
            "or one per core",                                                 \
            member)
#define OPT_FOLLOW(T, member)                                                  \
    OPT_ROW(T, 0, "follow", OPT_FLAG, NULL,                                    \
            "also read folders that links in folders lead to, except those "   \
            "above",                                                           \
            member)
/* For commands that read labelled pictures; T has a table_options `table`. */
typedef struct table_options {
    words column;
    const char *separator;
} table_options;
enum { TABLE_COLUMNS = 1024 };
#define OPT_TABLE(T)                                                           \
    OPT_ROW(T, 0, "column", OPT_LIST, "[path=|split=]NAME",                    \
            "the column of a table with the labels (paths, splits), if its "   \
            "name is not label (path, split)",                                 \
            table.column),                                                     \
        OPT_ROW(T, 0, "sep", OPT_TEXT, "CHAR",                                 \
                "what is between a table's columns: a character, or tab "      \
                "(default: a comma)",                                          \
                table.separator)
/* As vt_dataset_options has them; "": the usual ones. */
int table_columns(char out[TABLE_COLUMNS], const table_options *t);
/* The end of every table: -q and -v, which opt.c handles, and a row without a
 * name. */
#define OPT_IS_VERBOSE SIZE_MAX
#define OPT_IS_QUIET (SIZE_MAX - 1)
#define OPT_DONE                                                               \
    {.letter = 'q',                                                            \
     .name = "quiet",                                                          \
     .help = "no progress, notes or summary: only results and errors",         \
     .at = OPT_IS_QUIET},                                                      \
        {.letter = 'v',                                                        \
         .name = "verbose",                                                    \
         .help = "say what is done and decided, on stderr",                    \
         .at = OPT_IS_VERBOSE},                                                \
    {                                                                          \
        .name = NULL                                                           \
    }

#endif
