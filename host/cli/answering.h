/*
 * answering.h - one answer a picture: classify, embed, search.
 */
#ifndef VT_CLI_ANSWERING_H
#define VT_CLI_ANSWERING_H
#include "cmd.h"

typedef struct answering {
    const model_options *common;
    const words *operands;
    const picture_options *pictures;
    const vt_left *listed; /* NULL, or what was left out of the operands when
                            * they were listed */
    const char *done;      /* in the summary: "named" */
    double start;
    uint64_t count, bad; /* of pictures, failed ones too; of those */
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;   /* of several devices: the first */
    struct machines *several; /* NULL: one device */
    picture_batches *batches;
    /* Of this tensor `share` numbers a picture are read; of these the first
     * `used` are printed, or written to rows. */
    const char *tensor;
    size_t share, used;
    const uint8_t *rgb; /* of the batch, while its answers are printed */
    float *numbers, *nan_row;
    vitcl_rows *rows; /* NULL: none */
    /* Prints an answer; may change its `used` numbers before they are written.
     * After a failure they are NaN. */
    void (*print)(void *context, const answer *a, float *numbers);
    /* NULL, or changes the session's options. */
    void (*options)(void *context, vitcl_session_options *options);
    bool rows_tell; /* a failed picture is a row, not a failure of the run */
    bool broken;    /* print() failed and has said why: run no further */
    /* NULL, or called after the last answer. Returns the exit status. */
    int (*finish)(void *context);
    void *context;
} answering;
/* Opens model, pictures and session. Then set tensor, share, used and print. */
int answering_open(answering *w, const char *const *keep);
/* Starts decoding, and writing rows if `path` is not NULL. */
int answering_start(answering *w, const char *path, const vitcl_shape *row);
/* Prints all answers. Returns the exit status (answering_run.c). */
int answering_run(answering *w);
/* One picture's answer; wrong: why its numbers are none, or NULL. Returns the
 * exit status. */
int answering_give(answering *w, const answer *given, float *numbers,
                   const char *wrong);
/* After the answers of a batch. */
int answering_gave(answering *w, progress *bar);
/* After the last: the summary. Returns the exit status. */
int answering_over(answering *w, progress *bar, int code);
/* All answers by several devices (several.c). */
int answering_share(answering *w, progress *bar);
/* "992 pictures named, 5 could not be read (listed above), 3 skipped; 12.1 s";
 * where: " (listed above)". */
void answering_counts(char *out, size_t size, const answering *w,
                      const char *where);
/* After a run with this exit status: keeps the rows of a file that was not
 * completed, and says where. */
void answering_keep(answering *w, int code);
/* "stopped; the first 72 answers are in x.partial.jsonl"; what: "answer". */
void say_kept(int code, uint64_t count, const char *what, const char *name);
/* It could not be kept; after a failure the cause has been said. */
void say_not_kept(int code);
void answering_close(answering *w);

#endif
