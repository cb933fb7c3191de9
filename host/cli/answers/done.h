/*
 * done.h - batches of pictures that are computed, in the order of the input: by
 * one device (single.c) or by several (several.c).
 */
#ifndef VT_CLI_DONE_H
#define VT_CLI_DONE_H
#include "cli/pictures/pictures.h"

typedef struct done_batch {
    const answer *answers; /* failures, too */
    uint32_t count;        /* of these; 0: the end */
    const uint8_t *rgb;    /* [rows] as the model sees them */
    float *numbers;        /* [rows, share] */
    char *const *wrong;    /* [rows] why numbers are no answer; NULL: they are
                            * one */
} done_batch;

struct answering;
typedef struct done_source done_source;
struct done_source {
    /* What this had given before is used again. EXIT_FAILED: says why. */
    int (*next)(done_batch *out, done_source *s);
    void (*close)(done_source *s);
};
/* After answering_session(). NULL: says why. */
done_source *single_open(struct answering *w);
done_source *several_open(struct answering *w);

/* For both: is a number of rows 0 to n not finite, wrong[] says why. The last
 * run of the session was of these rows. False: out of memory. */
bool done_judge(char **wrong, const float *numbers, uint32_t n,
                vitcl_session *session, const struct answering *w);
void done_forget(char **wrong, uint32_t n);

#endif
