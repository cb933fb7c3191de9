/*
 * answering.h - pictures go through a model, and each has an answer: classify,
 * embed, search.
 *
 *     code = answering_open(&w);
 *     code = answering_session(&w, keep);
 *     w.tensor = .., w.share = .., w.used = ..;
 *     code = answering_start(&w);
 *     while (code == EXIT_OK && (a = answering_next(&w)))
 *         code = print(a);
 *     code = answering_end(&w, code);
 *     answering_close(&w);
 */
#ifndef VT_CLI_ANSWERING_H
#define VT_CLI_ANSWERING_H
#include "computing.h"

typedef struct answering {
    /* set before answering_open() */
    const model_options *common;
    const words *operands;
    const picture_options *pictures;
    const vt_left *listed; /* NULL, or what was left out of the operands when
                            * they were listed */
    const char *done;      /* in the summary: "named" */
    bool rows_tell;        /* a failed picture is a row, not a failure of the
                            * run */
    bool said;             /* which model it is, or nobody wants to know */
    /* by answering_open(); the options may be changed */
    double start;
    device_pool devices;
    vitcl_device *device; /* of several, the first */
    vitcl_model *model;
    picture_batches *batches;
    vitcl_session_options options;
    /* by answering_session() */
    vitcl_session *session;
    /* Set before answering_start(): of this tensor `share` numbers a picture
     * are read; `used` of these, after `skip`, are the answer. */
    const char *tensor;
    size_t share, skip, used;
    /* by answering_next() */
    uint64_t count, bad; /* of pictures, failed ones too; of those */
    computing *computing;
    computed batch;
    uint32_t at; /* in the batch */
    size_t picture_bytes;
    float *nan_row;
    answer given;
    progress bar;
    int code; /* why there is no next answer */
} answering;
/* Opens the model and the pictures. */
int answering_open(answering *w);
/* Opens the session, or one on each device. */
int answering_session(answering *w, const char *const *keep);
/* Starts decoding and computing; from here on Ctrl-C ends the answers. */
int answering_start(answering *w);
/* The next picture's answer, in the order of the input; NULL: there is none.
 * It is the caller's until the next call. A picture that failed, which has been
 * said, has an error, and its numbers are NaN. */
answer *answering_next(answering *w);
/* Would answering_next() wait for a list that may go on later? */
bool answering_waits(answering *w);
/* After the last, or after a failure with this exit status: the summary.
 * Returns the exit status, EXIT_STOPPED after Ctrl-C. */
int answering_end(answering *w, int code);
/* EXIT_FAILED if pictures failed, unless rows tell that. */
int answering_failures(const answering *w);
/* The last line, where somebody reads it: how many there were. */
void answering_summary(const answering *w);
/* "992 pictures named, 5 could not be read (listed above), 3 skipped; 12.1 s";
 * where: " (listed above)". */
void answering_counts(char *out, size_t size, const answering *w,
                      const char *where);
/* "stopped; the first 72 answers are in x.partial.jsonl"; what: "answer". */
void say_kept(int code, uint64_t count, const char *what, const char *name);
/* It could not be kept; after a failure the cause has been said. */
void say_not_kept(int code);
void answering_close(answering *w);

#endif
