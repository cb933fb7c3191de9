/*
 * fewshot.h - how good are frozen features? Ridge regression in closed form.
 *
 * As the paper's few-shot linear evaluation has it (arXiv 2010.11929, section
 * 4.1; settings of big_vision's fewshot_lsr): features are standardised by the
 * training part's mean and deviation (+1e-5), a constant column of 100 is
 * appended, targets are +1 for the class and -1 else, and
 *
 *     W = (X^T X + l2 I)^-1 X^T Y
 *
 * is solved in double by Cholesky, in the smaller of the two equal forms
 * (X^T X where there are more pictures than features, else X X^T).
 */
#ifndef VT_EVAL_FEWSHOT_H
#define VT_EVAL_FEWSHOT_H
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct vt_features {
    size_t count, width;
    float *x;        /* [count, width] */
    uint32_t *label; /* [count] */
} vt_features;
void vt_features_free(vt_features *f);

/* Share of `test` that the ridge classifier of `train` gets right. */
vitcl_status vt_ridge_accuracy(double *out, const vt_features *train,
                               const vt_features *test, uint32_t classes,
                               double l2);
/* chosen: which `shots` of each class are taken from label[count]; the choice
 * depends on random_state alone. *n: how many were written (fewer than
 * shots * classes where a class has fewer pictures). */
vitcl_status vt_fewshot_choose(size_t *chosen, size_t *n, const uint32_t *label,
                               size_t count, uint32_t classes, uint32_t shots,
                               uint64_t random_state);

#endif
