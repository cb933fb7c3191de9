/*
 * fewshot.h - few-shot evaluation of frozen features by ridge regression.
 *
 * As in the ViT paper's few-shot linear evaluation (arXiv 2010.11929, section
 * 4.1; settings of big_vision's fewshot_lsr): features are standardised with
 * the training part's mean and standard deviation (+1e-5), a constant column of
 * 100 is appended, targets are +1 for the class and -1 otherwise, and
 *
 *     W = (X^T X + l2 I)^-1 X^T Y
 *
 * is solved in double by Cholesky, in the smaller of two equivalent forms (with
 * X^T X if there are at least as many pictures as columns, else with X X^T).
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

/* Accuracy, 0 to 1, on `test` of the ridge classifier fitted to `train`. */
vitcl_status vt_ridge_accuracy(double *out, const vt_features *train,
                               const vt_features *test, uint32_t classes,
                               double l2);
/* Chooses up to `shots` pictures of each class; the choice depends on
 * random_state alone. chosen[]: their indices into label[count], with room for
 * shots * classes. *n: how many (fewer if a class has fewer pictures). */
vitcl_status vt_fewshot_choose(size_t *chosen, size_t *n, const uint32_t *label,
                               size_t count, uint32_t classes, uint32_t shots,
                               uint64_t random_state);

#endif
