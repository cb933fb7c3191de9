/*
 * forms.h - trials of attention on matrix units and of its gradients: a
 * problem of self-attention, the kernels that compute it, and whether they are
 * faster than those without matrix units. For attention.c, gradient.c.
 */
#ifndef VT_TRIALS_FORMS_H
#define VT_TRIALS_FORMS_H
#include "units/matrix.h"

/* Two heads of 64 numbers, C of them; q, k and v of a token are TOKEN. Results
 * are compared at an odd number of tokens. */
enum { HEADS = 2, TOKENS = 77, D = 64, C = HEADS * D, TOKEN = 3 * C };

/* Element i: a multiple of 1/16 below 2, which f16 and bf16 hold. */
float vt_mma_element(int i);

typedef struct vt_mma_problem {
    int pictures, tokens;
    vt_queue *q;
    vt_buf *b[5];
} vt_mma_problem;
/* n buffers, of so many bytes a token. Buffer `out` has NaNs. */
vitcl_status vt_mma_problem_new(vt_mma_problem *p, vt_dev *dev, int pictures,
                                int tokens, const size_t *bytes, int n,
                                int out);
void vt_mma_problem_free(vt_mma_problem *p);

/* Kernels that run one after the other, and the best of their times in ms.
 * Zeros: none yet. */
typedef struct vt_mma_form {
    vt_kernel *k[3];
    int n;
    double best;
} vt_mma_form;
/* Adds a kernel with the buffers `args`, of which the last is -1, and what all
 * kernels of attention have after them. The launch is for the caller to set. */
vitcl_status vt_mma_form_add(vt_kernel **out, vt_mma_form *f,
                             const vt_mma_problem *p, const char *file,
                             const char *name, const char *defines,
                             const int *args);
/* Adds attention of rows that are stored so, in `type` on the unit, or in
 * tiles. args: the output, and twice q, k and v. */
vitcl_status vt_mma_form_unit(vt_mma_form *f, const vt_mma_problem *p,
                              vt_mma_choice c, vt_dtype type, vt_dtype stored,
                              const int *args);
vitcl_status vt_mma_form_tiles(vt_mma_form *f, const vt_mma_problem *p,
                               vt_dtype stored, const int *args);
vitcl_status vt_mma_form_run(vt_mma_form *f, const vt_mma_problem *p);
void vt_mma_form_free(vt_mma_form *f);

/* What both trials are timed at: tokens of a picture of 224 pixels, and as many
 * heads as a batch of 32 has in ViT-B. */
enum { VIT_TOKENS = 197, VIT_PICTURES = 192 };
/* Pictures for this unit; an emulation computes one. */
int vt_mma_race_pictures(vt_mma_choice c);
/* Is `unit` faster by a seventh? what: for the log. */
vitcl_status vt_mma_race(bool *faster, vt_mma_form *unit, vt_mma_form *tiles,
                         const vt_mma_problem *p, vt_mma_choice c,
                         const char *what);

#endif
