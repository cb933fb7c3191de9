/*
 * cmd.h - declarations that the commands share.
 *
 * A command is one file with one table of options and one row in main.c. The
 * table has the offset of each option's value in the command's struct, so that
 * parsing, --help and the man page's test need no other list. Commands include
 * this and public headers, of the library itself host/base and host/walk.
 */
#ifndef VT_CLI_CMD_H
#define VT_CLI_CMD_H
#include "base/status.h"
#include "walk/walk.h"

#include "model_names.h"

#include <vitcl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED = 130 };

/* ---- options (opt.c) ---- */

typedef struct words { /* a list option's values, or the operands; NULL-ended */
    const char **item;
    size_t count;
} words;
typedef struct frame_size { /* pixels; 0: as trained */
    uint32_t height, width;
} frame_size;

typedef enum {
    OPT_FLAG,    /* bool */
    OPT_TEXT,    /* const char * */
    OPT_COUNT,   /* uint32_t, from 1 */
    OPT_NATURAL, /* uint32_t, from 0 */
    OPT_REAL,    /* double, above zero */
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
/* The entry of names[] (NULL-ended) that `word` most likely means. */
const char *nearest(const char *word, const char *const *names);

/* ---- messages (out.c) ---- */

/* One line on stderr, "vitcl classify: ...", which is wrapped on a terminal;
 * returns the exit status. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern const char *command_name; /* "" before it is known */
void summary(const char *text);  /* such a line without the name */
/* The library's last message. */
int failed(void);
void set_command_name(const char *name); /* for these messages */
bool is_terminal(FILE *f);
/* -v: from now on the library's log goes to stderr. */
void be_verbose(void);
bool is_verbose(void);
/* --quiet: no progress and no notes from now on, only results and errors. */
void be_quiet(void);
bool is_quiet(void);

/* ---- results (out.c) ---- */

void json_string(const char *text);        /* NULL: null; invalid UTF-8 becomes
                                            * U+FFFD */
void json_text(FILE *f, const char *text); /* the same elsewhere */
void json_number(double v);                /* not finite: null */
void tsv_text(const char *s);              /* tab, newline, backslash escaped */
/* Text from a file, at most `most` bytes. Here, in messages and in tsv_text(),
 * control characters are written as \ooo to a terminal. */
void put_text(const char *s, size_t most);
/* The bytes of the character at s; 0: not UTF-8, or it steers a terminal. */
size_t text_length(const char *s);
/* Makes bytes that are not UTF-8 "_". */
void make_text(char *s);
/* place.c: EXIT_FAILED if no file can be written at `path`. made: a folder that
 * the command itself creates, or NULL. */
int place_ready(const char *path, const char *made);
/* The same of a folder, and of files in one that is there. */
int place_folder(const char *path);
int flush_results(void); /* EXIT_FAILED: close_results() says why */
/* At the end: returns the status, or EXIT_FAILED if writing standard output
 * failed. Closes it, because a file system may report errors late. */
int close_results(int code);

/* ---- text that fits (terminal.c, layout.c) ---- */

int columns_of(FILE *f); /* of that terminal, else COLUMNS; 80 for anything
                          * that is no terminal */
/* Characters, not bytes: those that continue one in UTF-8 do not count. */
int width_of(const char *s, size_t size);
/* Of the character at s, in UTF-8: two for those of East Asia and pictures. */
int character_columns(const char *s);
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

/* ---- numbers of things (counts.c) ---- */

enum { BYTES_TEXT = 16 };
void bytes_text(char text[BYTES_TEXT], double bytes); /* "1.2 GB" */
void print_bytes(double bytes);

/* ---- progress (progress.c), time and Ctrl-C (out.c) ---- */

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
double now(void);                 /* seconds, monotonic */

/* From now on Ctrl-C, SIGTERM and SIGHUP only set stopped(); a second one
 * kills, but for SIGHUP. One that was ignored at the start stays so. */
void catch_stop(void);
void note_signals(void);   /* before a driver is loaded: which are ignored? */
int exit_status(int code); /* of EXIT_STOPPED: 128 + the signal */
bool stopped(void);

/* ---- waiting (waiting.c) ---- */

/* From now on a line on stderr says when this device's kernels are compiled for
 * longer than half a second. Not with -v, whose log says more. */
void wait_watch(vitcl_device *device);
/* A line with `what` if it takes longer until wait_end(). once: as for kernels,
 * else only on a terminal and after two seconds. */
void wait_begin(const char *what, bool once);
void wait_end(void);

/* ---- threads (threads.c) ---- */

/* Before a driver is loaded. --threads: that many in the drivers of processors
 * and for the library's own work. */
int limit_threads(uint32_t n);
/* Without it: VITCL_THREADS, else OMP_NUM_THREADS, else as many as the cores
 * that the process may run on. */
int usual_threads(void);

/* ---- drivers (guard.c) ---- */

/* main()'s arguments, for a restart. */
void guard_arguments(char *const *argv);
/* Before a driver is loaded: chooses a trusted folder for its cache. */
void guard_caches(void);
/* From here to the end of the first run (or of the command) the program
 * restarts if a driver crashes. */
void guard_begin(void);
void guard_end(void);
void guard_spent(void); /* input was read that cannot be read again */
/* guard_tell(): the first part of the results has been printed, though a driver
 * may still crash. guard_told(): was it printed before the restart? */
void guard_tell(void);
bool guard_told(void);

/* ---- models (load.c) ---- */

typedef struct model_options {
    const char *model, *preset, *device, *devices, *gemm, *precision, *pixels;
    frame_size size;
    uint32_t batch, threads;
    bool once; /* there is only one batch */
} model_options;
#define OPT_ROW(T, letter, name, kind, value, help, member)                    \
    {                                                                          \
        letter, name, kind, value, help, offsetof(T, member)                   \
    }
#define OPT_MODEL(T)                                                           \
    OPT_ROW(T, 'm', "model", OPT_TEXT, "DIR",                                  \
            "checkpoint: a folder, a file or a name (vitcl models); else "     \
            "VITCL_MODEL, else the built-in one",                              \
            common.model),                                                     \
        OPT_ROW(T, 0, "preset", OPT_TEXT, "NAME",                              \
                "an architecture with random weights, such as vit-b/16",       \
                common.preset)
#define OPT_THREADS(T, member)                                                 \
    OPT_ROW(T, 0, "threads", OPT_COUNT, "N",                                   \
            "threads on the processor; else VITCL_THREADS, OMP_NUM_THREADS "   \
            "or one a core",                                                   \
            member)
/* For commands whose pictures several devices share. */
#define OPT_DEVICES(T)                                                         \
    OPT_ROW(T, 0, "devices", OPT_TEXT, "all|DEV,...",                          \
            "several devices, such as 0:0,0:1, which share the pictures",      \
            common.devices)
#define OPT_DEVICE(T)                                                          \
    OPT_ROW(T, 'd', "device", OPT_TEXT, "DEV",                                 \
            "0:1, part of a name, cpu, gpu or any; else VITCL_DEVICE",         \
            common.device),                                                    \
        OPT_THREADS(T, common.threads)
/* In the order of vitcl_precision; the public header has no names. */
#define PRECISIONS "f32|bf16|f16|half|int8"
#define OPT_RUN(T)                                                             \
    OPT_ROW(T, 0, "gemm", OPT_CHOICE, "clblast|native|plain",                  \
            "matrix multiplication; without it, what is faster here",          \
            common.gemm),                                                      \
        OPT_ROW(T, 0, "precision", OPT_CHOICE, PRECISIONS,                     \
                "of the multiplications (default f32); half: bf16 or f16, "    \
                "the faster",                                                  \
                common.precision)
#define OPT_BATCH(T, help)                                                     \
    OPT_ROW(T, 0, "batch", OPT_COUNT, "N", help, common.batch)
#define OPT_SIDES(T)                                                           \
    OPT_ROW(T, 0, "size", OPT_SIZE, "N|HxW",                                   \
            "pixels, when other than the model was trained with", common.size)
#define PIXELS_HELP                                                            \
    "resize pictures bit for bit as they do; without it, as the model's "      \
    "files "                                                                   \
    "say"
#define OPT_PIXELS(T)                                                          \
    OPT_ROW(T, 0, "pixels", OPT_CHOICE, "pillow|torchvision", PIXELS_HELP,     \
            common.pixels)
#define OPT_CLASSES_BY(T)                                                      \
    OPT_ROW(T, 0, "classes-by", OPT_CHOICE, "name|number",                     \
            "match classes by name (default) or number", by)
#define OPT_FOLLOW(T, member)                                                  \
    OPT_ROW(T, 0, "follow", OPT_FLAG, NULL,                                    \
            "read the folders that links in folders lead to, but for one "     \
            "above",                                                           \
            member)
/* T has a picture_options `pictures`. */
#define OPT_PICTURES(T)                                                        \
    OPT_ROW(T, 'r', "recursive", OPT_FLAG, NULL,                               \
            "read the folders in folders, too (default)", pictures.deep),      \
        OPT_ROW(T, 0, "no-recursive", OPT_FLAG, NULL,                          \
                "read only the named folders, not those in them",              \
                pictures.flat),                                                \
        OPT_FOLLOW(T, pictures.follow),                                        \
        OPT_ROW(T, '0', "null", OPT_FLAG, NULL,                                \
                "paths on stdin end with NUL, not newline", pictures.nul),     \
        OPT_ROW(T, 0, "summary", OPT_FLAG, NULL,                               \
                "end with a line that counts the pictures, also in a pipe",    \
                pictures.summary),                                             \
        OPT_ROW(T, 'q', "quiet", OPT_FLAG, NULL,                               \
                "no progress, notes or summary: only answers and errors",      \
                pictures.quiet)
/* The same; for commands whose runs may be split. */
#define OPT_SHARD(T)                                                           \
    OPT_ROW(T, 0, "shard", OPT_TEXT, "K/N|auto",                               \
            "only part K of N of the pictures; auto: as Slurm, MPI or "        \
            "Kubernetes (auto/N) says",                                        \
            pictures.shard)
#define OPT_TAR(T)                                                             \
    OPT_ROW(T, 0, "tar", OPT_FLAG, NULL,                                       \
            "the operands are tar archives, such as pics-{000..099}.tar, or "  \
            "- on standard input",                                             \
            pictures.tar)
/* The end of every table: -v, which opt.c handles, and a row without a name. */
#define OPT_IS_VERBOSE SIZE_MAX
#define OPT_DONE                                                               \
    {'v',                                                                      \
     "verbose",                                                                \
     OPT_FLAG,                                                                 \
     NULL,                                                                     \
     "say what is done and decided, on stderr",                                \
     OPT_IS_VERBOSE},                                                          \
    {                                                                          \
        0, NULL, OPT_FLAG, NULL, NULL, 0                                       \
    }

/* The value of -m or VITCL_MODEL, a path or a name; NULL: neither. */
const char *model_word(const model_options *o);
/* Opens a device; prints which tuning settings are ignored there. */
int open_device(vitcl_device **device, const char *select);
/* Tests the instructions of this precision, unless they were tested before, and
 * prints which failed or cannot be tested. */
void try_first(vitcl_device *device, vitcl_precision precision);
/* Opens the device (unless device is NULL) and the model. Prints why not. */
int open_model(vitcl_device **device, vitcl_model **model,
               const model_options *o);
/* The value of --precision; NULL: f32. */
vitcl_precision precision_of(const char *word);
/* Is --classes-by "number"? Prints a note if it is. */
bool classes_by_number(const char *word);
/* Of o's batch, size, gemm and precision. */
vitcl_session_options session_options(const model_options *o);
/* Tries what the precision needs, then opens a session. Prints why not. */
int start_session(vitcl_session **out, vitcl_device *device, vitcl_model *model,
                  const vitcl_session_options *options);
/* The same without a word. */
VITCL_STATUS try_session(vitcl_session **out, vitcl_device *device,
                         vitcl_model *model,
                         const vitcl_session_options *options);
/* Both, with keep and profile. */
int open_session(vitcl_session **out, vitcl_device *device, vitcl_model *model,
                 const model_options *o, const char *const *keep, int profile);
/* The name to show: the preset, or the model's path without slashes. */
const char *model_name(const model_options *o);
/* Prints a note on stderr if this is the built-in model, or has random weights,
 * whose results are meaningless. */
void say_model(const model_options *o);

/* ---- tensors to keep (keep.c) ---- */

/* The patterns of --keep with timm's names as those of vitcl. */
int keep_open(words *out, const words *given);
void keep_close(words *w);
/* EXIT_FAILED, and prints why, if a pattern matches no tensor. */
int keep_check(const words *names, const words *given,
               const vitcl_session *session);

/* ---- traces (trace.c) ---- */

/* Writes the steps of the last run, with the times that `profile` measured, for
 * chrome://tracing and Perfetto. Prints why not. */
int trace_write(const char *path, const vitcl_session *session,
                const char *model, const char *device);

/* ---- pictures (picture_paths.c, picture_batches.c) ---- */

typedef struct picture_options {
    bool nul;        /* a list on stdin ends its paths with NUL */
    bool deep, flat; /* --recursive, --no-recursive */
    bool follow;
    bool summary, quiet;
    const char *shard; /* K/N, auto; NULL: all pictures */
    bool tar;          /* the operands are archives */
} picture_options;
typedef struct picture_paths picture_paths;
/* The paths of operands in order: files, the files in folders (sorted), "-": a
 * list on stdin, one per line or NUL-terminated. */
picture_paths *paths_open(const words *operands, const picture_options *how);
/* NULL at the end. *error: NULL, or why this path is no picture, or why the end
 * is early. Both are valid until the next call. */
const char *paths_next(picture_paths *s, const char **error);
/* Waits for paths_next() to have a path at once: for `ms` at most, -1: as long
 * as it takes. Only a list on stdin makes it wait. */
bool paths_ready(picture_paths *s, int ms);
/* What was left out of folders, up to here. */
void paths_left(vt_left *out, const picture_paths *s);
/* The bytes of the path returned last, if they came on stdin, else NULL; valid
 * until paths_close(). */
const void *paths_picture(const picture_paths *s, size_t *size);
void paths_close(picture_paths *s);
bool is_address(const char *name);

typedef struct answer {
    char *path;
    const char *error; /* without the path; NULL: row of the batch */
    uint32_t row;
    const void *piped;               /* its bytes, if they came on stdin */
    void *bytes;                     /* or in an archive */
    size_t size;                     /* of either */
    bool sharded;                    /* its row says the position */
    uint64_t position;               /* in the whole input, from 0 */
    int64_t file_size, file_changed; /* bytes, ns: when it was opened; -1: it
                                      * is no file that was decoded */
    vitcl_image small;  /* with batches_thumbnails(); without pixels: none */
    float *numbers;     /* by answering_next(): of its row */
    const uint8_t *rgb; /* the picture as the model sees it */
} answer;
typedef struct picture_batches picture_batches;
picture_batches *batches_open(const words *operands,
                              const picture_options *how);
/* A batch size for these pictures: `most`, or less for few pictures, and for a
 * list that is written slowly. */
uint32_t batches_batch(picture_batches *f, uint32_t most);
/* Does one batch hold all pictures? */
bool batches_fits(const picture_batches *f, uint32_t batch);
/* Before the start: answers have thumbnails with this longer side. */
void batches_thumbnails(picture_batches *f, uint32_t side);
/* Starts decoding. */
int batches_start(picture_batches *f, vitcl_session *session);
/* The next pictures and failures, in input order: 0 at the end. rgb: `rows`
 * prepared pictures for vitcl_run_rgb(). */
uint32_t batches_next(const answer **answers, const uint8_t **rgb,
                      uint32_t *rows, picture_batches *f);
/* How many pictures there are, for a progress bar on stderr; 0: unknown. */
uint64_t batches_total(const words *operands, const picture_options *how);
/* After the end: EXIT_FAILED if it was early; prints why. */
int batches_broken(const picture_batches *f);
uint64_t batches_failures(const picture_batches *f);
void batches_left(vt_left *out, const picture_batches *f);
/* Says what was left out that may be pictures, or hold some. */
void say_left(vt_left left);
void batches_say_left(const picture_batches *f);
/* Did Ctrl-C come before the last picture? */
bool batches_cut(const picture_batches *f);
/* At the end: how many pictures all workers have, and a hash of their names. */
struct vt_manifest;
void batches_whole(struct vt_manifest *into, const picture_batches *f);
void batches_close(picture_batches *f);
/* A batch that is kept while the next ones are read: what batches_next()
 * returned. */
typedef struct kept_batch {
    answer *answers;
    uint8_t *rgb;
    uint32_t count;
} kept_batch;
/* Would batches_next() return without waiting for a list on stdin? */
bool batches_ready(picture_batches *f);
/* Keeps the batch that was returned last. What `into` had before is used for
 * others; it begins as zeros. False: out of memory, which is said. */
bool batches_keep(kept_batch *into, picture_batches *f);
void batches_drop(kept_batch *b);
void batches_free(kept_batch *b);
/* Counts a picture whose numbers are not finite. */
void batches_fail(picture_batches *f);
/* Why n numbers, row `row` of `tensor`, are no answer; NULL: they are all
 * finite. Valid until the library's next failure in this thread. */
const char *numbers_wrong(const float *numbers, size_t n,
                          vitcl_session *session, const char *tensor,
                          uint32_t row);
/* The library's last message without the picture's name in front of it. */
const char *error_of(const char *path);
/* Prints a failed picture's line on stderr. */
void say_failure(const answer *a);
/* The beginning of a picture's JSON line, {"picture":PATH; of a failed picture
 * the whole line with its error, and false. */
bool json_picture(const answer *a);
/* "picture":PATH and, of a path that is not UTF-8, "path_bytes":BASE64. */
void json_path(const char *path);

/* ---- scores of labelled pictures: eval, fewshot (scoring.c) ---- */

enum { BROKEN_NAMED = 10 };
struct vitcl_dataset;
typedef struct scoring {
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    struct machines *several; /* NULL: one device, else the three are its
                               * first one's */
    size_t starting; /* devices of `several` that have not run yet: a crash may
                      * be a driver's */
    progress bar;
    pthread_mutex_t lock;       /* of these lines */
    char *broken[BROKEN_NAMED]; /* lines that were printed */
} scoring;
#define OPT_STRICT(T)                                                          \
    OPT_ROW(T, 0, "strict", OPT_FLAG, NULL,                                    \
            "a picture that cannot be decoded is an error; without: left out", \
            strict)
/* Opens labelled pictures; says what was left out. */
int scoring_data(struct vitcl_dataset **out, const char *path,
                 const char *split, bool follow);
/* Says how many of the test pictures were training pictures. train NULL: those
 * of train/ in the folder `path`, if there is one. */
int scoring_shared(const struct vitcl_dataset *test,
                   const struct vitcl_dataset *train, const char *path,
                   bool follow);
/* From now on the first pictures that cannot be decoded are named on stderr;
 * with `strict` the first is an error. */
int scoring_broken(scoring *s, struct vitcl_dataset *dataset, bool strict);
/* Opens model and session. Says which model it is. */
int scoring_open(scoring *s, const model_options *common);
/* The callback for the library; context: the scores. */
int scoring_progress(void *context, uint64_t done, uint64_t total);
void scoring_begin(scoring *s); /* before the library's call */
void scoring_clear(scoring *s); /* in a thread: before other lines */
/* After it: EXIT_OK if there are results to print. */
int scoring_end(scoring *s, vitcl_status st);
/* The exit status after `failed` pictures; says how many. */
int scoring_failed(uint32_t failed);
void scoring_close(scoring *s);

#endif
