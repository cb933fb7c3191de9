/*
 * tally.h - what a worker of eval counted. Counts of parts add up to those of
 * one run, and every score is computed from them alone.
 */
#ifndef VT_PARTS_TALLY_H
#define VT_PARTS_TALLY_H
#include "base/bins.h"
#include "parts/partition.h"

typedef struct vt_tally {
    uint64_t pictures, failed, right1, right5;
    uint64_t bins[VT_BIN_COUNTS]; /* all 0: the answers have no probabilities */
    bool real; /* labels with several classes a picture were given */
    uint64_t real_pictures, real_right;
    uint32_t rows, columns; /* classes of the pictures, of the model */
    char **name;            /* [rows] */
    uint32_t *match;        /* [rows] the model's class of each */
    char **label;           /* [columns] the model's names; NULL: none */
    uint32_t *answers;      /* [rows][columns]; NULL: not counted */
} vt_tally;

/* Room for the classes, of which no names are known yet; for the counts of
 * answers, too, if `answers` is set. */
vitcl_status vt_tally_new(vt_tally *out, uint32_t rows, uint32_t columns,
                          bool answers);
void vt_tally_free(vt_tally *t);
/* As one line of JSON; of the labels only those of classes that were answered.
 * Errors stay in the stream. */
void vt_tally_write(FILE *f, const vt_tally *t);
/* The sum of all parts, none of which may be missing. */
vitcl_status vt_tally_sum(vt_tally *out, const vt_parts *p);

#endif
