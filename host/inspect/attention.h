/*
 * attention.h - what attention probabilities say about a picture and a model.
 *
 * Pure arithmetic in double on the host: no device, no files. Probabilities are
 * a layer's [heads, T, T] of one picture, row-major: how much token i takes
 * from token j. Tokens are `prefix` ones (class, distillation, registers), then
 * the patches of a grid, row by row.
 */
#ifndef VT_INSPECT_ATTENTION_H
#define VT_INSPECT_ATTENTION_H
#include "base/status.h"

#include <stdbool.h>

/* Axial attention is over lines of a grid without prefix tokens: its rows, or
 * its columns. A line's probabilities are lines[rows, heads, columns, columns],
 * or lines[columns, heads, rows, rows]. Writes them as a layer's
 * out[heads, T, T], which is 0 between tokens of two lines. */
void vt_attention_of_lines(float *out, const float *lines, int heads, int rows,
                           int columns, bool by_column);

typedef enum { VT_FUSE_MEAN, VT_FUSE_MAX, VT_FUSE_MIN } vt_fuse;

typedef struct vt_rollout_options {
    vt_fuse heads;   /* how the heads of a layer become one */
    double residual; /* weight of the identity, 0 to below 1; Abnar & Zuidema:
                      * 0.5 */
    double discard;  /* share of a layer's smallest numbers that count as 0, 0
                      * to below 1; those of column 0 are kept (as in
                      * jacobgil's vit-explain) */
} vt_rollout_options;

/* Attention rollout (Abnar & Zuidema, arXiv 2005.00928): the product over the
 * layers of
 *
 *     A' = rows of ((1 - residual) fuse(A) + residual I), each divided by its
 *          sum
 *
 * A layer is added at a time and only its fused T x T is kept, as f32. */
typedef struct vt_rollout vt_rollout;
vitcl_status vt_rollout_new(vt_rollout **out, int layers, int tokens,
                            const vt_rollout_options *options);
void vt_rollout_free(vt_rollout *r);
/* The next layer. VITCL_EINVAL after the last. */
vitcl_status vt_rollout_add(vt_rollout *r, const float *probs, int heads);
/* Forgets the layers, for the next picture. */
void vt_rollout_clear(vt_rollout *r);

typedef struct vt_patch_grid {
    int prefix;                 /* tokens before the patches */
    int rows, columns;          /* of patches */
    double height_px, width_px; /* of a patch */
    int read_first, read_count; /* tokens that the head reads */
} vt_patch_grid;

/* What the answer takes from each token after the last layer: equal shares of
 * those that the head reads, and 0 of the others. out[T]. */
void vt_answer_row(double *out, const vt_patch_grid *grid);
/* How much of each input token reaches the answer: the mean of the rows of
 * A'[last] ... A'[0] of the tokens that the head reads. out[T] sums to 1. */
void vt_rollout_answer(double *out, vt_rollout *r, const vt_patch_grid *grid);

/* Mean attention distance of each head, in pixels (the paper's figures 7 and
 * 11): the distance between the centres of the querying patch and of the patch
 * that it looks at, weighted by attention, averaged over queries. Prefix tokens
 * have no place: they do not count, and the rest of a row is divided by its
 * sum. NAN if no patch looks at a patch. */
void vt_attention_distance(double *out, const float *probs, int heads,
                           const vt_patch_grid *grid);

/* A step of Chefer, Gur and Wolf's relevance (arXiv 2103.15679, equations 5 and
 * 6), with product = probabilities times a class' gradient in them, [heads, T,
 * T]: the row of R + mean over heads(product, negative numbers as 0) R that
 * belongs to the answer. Its layers come from the last to the first; row[T]
 * begins with vt_answer_row(). room[T]. */
void vt_relevance_step(double *row, double *room, const float *product,
                       int heads, int tokens);

/* Attention to each patch, out[heads][patches]: from patch `query`; or, if that
 * is -1, the mean from the tokens that the head reads. */
void vt_attention_map(double *out, const float *probs, int heads,
                      const vt_patch_grid *grid, int query);

#endif
