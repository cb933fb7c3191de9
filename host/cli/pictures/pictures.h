/*
 * pictures.h - the pictures that operands name, decoded batch by batch.
 */
#ifndef VT_CLI_PICTURES_H
#define VT_CLI_PICTURES_H
#include "cli/setup/setup.h"
#include "walk/walk.h"

typedef struct picture_options {
    bool nul;        /* a list on stdin ends its paths with NUL */
    bool deep, flat; /* --recursive, --no-recursive */
    bool follow;
    bool summary;
    const char *shard;  /* K/N, auto; NULL: all pictures */
    bool tar;           /* the operands are archives */
    const char *absent; /* NULL, or what to say of an operand that is no file */
} picture_options;
/* The name of one that says which pictures there are, such as "--null", if it
 * was given; else NULL. */
const char *paths_option(const picture_options *p);
/* T has a picture_options `pictures`. */
#define OPT_PICTURES(T)                                                        \
    OPT_RULED(T, 'r', "recursive", OPT_FLAG, NULL,                             \
              "read the folders in folders, too (default)", pictures.deep,     \
              .not_with = "no-recursive"),                                     \
        OPT_ROW(T, 0, "no-recursive", OPT_FLAG, NULL,                          \
                "read only the named folders, not those in them",              \
                pictures.flat),                                                \
        OPT_FOLLOW(T, pictures.follow),                                        \
        OPT_ROW(T, '0', "null", OPT_FLAG, NULL,                                \
                "paths on stdin end with NUL, not newline", pictures.nul),     \
        OPT_RULED(T, 0, "summary", OPT_FLAG, NULL,                             \
                  "end with a line that counts the pictures, even in a pipe",  \
                  pictures.summary, .not_with = "quiet")
/* The same; for commands whose runs may be split. */
#define OPT_SHARD(T)                                                           \
    OPT_ROW(T, 0, "shard", OPT_TEXT, "K/N|auto",                               \
            "only part K of N of the pictures; auto: as Slurm, MPI or "        \
            "Kubernetes (auto/N) says",                                        \
            pictures.shard)
#define OPT_TAR(T)                                                             \
    OPT_RULED(                                                                 \
        T, 0, "tar", OPT_FLAG, NULL,                                           \
        "the operands are tar archives, such as pics-{000..099}.tar, or "      \
        "- on standard input",                                                 \
        pictures.tar, .not_with = "null|no-recursive|recursive|follow")

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
 * prepared pictures for vitcl_session_run_rgb(). */
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
typedef struct picture_batch {
    answer *answers;
    uint8_t *rgb;
    uint32_t count;
} picture_batch;
/* Would batches_next() return without waiting for a list on stdin? */
bool batches_ready(picture_batches *f);
/* Keeps the batch that was returned last. What `into` had before is used for
 * others; it begins as zeros. False: out of memory, which is said. */
bool batches_keep(picture_batch *into, picture_batches *f);
void batches_free(picture_batch *b);
/* Counts a picture whose numbers are not finite. */
void batches_fail(picture_batches *f);
/* The library's last message without the picture's name in front of it. */
const char *error_of(const char *path);
/* Prints a failed picture's line on stderr. */
void say_failure(const answer *a);
/* The beginning of a picture's JSON line, {"picture":PATH; of a failed picture
 * the whole line with its error, and false. */
bool json_picture(const answer *a);
/* "picture":PATH and, of a path that is not UTF-8, "path_bytes":BASE64. */
void json_path(const char *path);

#endif
