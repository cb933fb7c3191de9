/*
 * unigram.h - a text in the pieces whose scores have the largest sum.
 */
#ifndef VT_TEXT_UNIGRAM_H
#define VT_TEXT_UNIGRAM_H
#include "text/bpe.h"

typedef struct vt_unigram {
    const vt_vocab *vocab;
    const double *scores;
    const uint8_t *types; /* of SentencePiece, which adds in float; else NULL */
    double least, most;   /* of the scores */
    int32_t unknown;      /* id, or -1 */
    bool fallback;        /* bytes in place of an unknown character */
    int32_t byte[256];
} vt_unigram;

/* Appends the ids of a text. */
vitcl_status vt_unigram_encode(vt_ids *out, const vt_unigram *u, const char *s,
                               size_t n);

#endif
