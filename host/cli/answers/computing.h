/*
 * computing.h - batches of pictures that the devices compute, in the order of
 * the input.
 */
#ifndef VT_CLI_COMPUTING_H
#define VT_CLI_COMPUTING_H
#include "cli/devices/device_pool.h"
#include "cli/pictures/pictures.h"

typedef struct computed {
    const answer *answers; /* failures, too */
    uint32_t count;        /* of these; 0: the end */
    const uint8_t *rgb;    /* [rows] as the model sees them */
    float *numbers;        /* [rows, share] */
    char *const *wrong;    /* [rows] why numbers are no answer; NULL: they are
                            * one */
} computed;

struct answering;
typedef struct computing computing;
/* After answering_session(). NULL: says why. */
computing *computing_open(struct answering *w);
/* What this had given before is used again. EXIT_FAILED: says why. */
int computing_next(computed *out, computing *c);
void computing_close(computing *c); /* or NULL */

#endif
