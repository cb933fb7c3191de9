/*
 * evaluate.h - the scores of a model on labelled pictures, and few-shot tests.
 *
 * The caller's runner computes the numbers of each picture, so that this folder
 * needs no session.
 */
#ifndef VT_EVAL_EVALUATE_H
#define VT_EVAL_EVALUATE_H
#include "data/labels.h"

#include <vitcl_train.h>

typedef struct vt_labelled {
    const vt_dataset *d;
    const vt_labels *labels; /* NULL: none */
    bool by_number;          /* match classes by number, not by name */
    uint32_t part, parts;    /* from 1; only every parts-th picture */
} vt_labelled;

/* Pictures to be run through the model, one after the other. */
typedef struct vt_pass {
    const vt_dataset *d;
    const size_t *chosen; /* NULL: 0, 1, .. */
    size_t count;
    const char *tensor; /* tensor to read, `width` a picture */
    size_t width;
    /* row NULL: the picture could not be decoded */
    void (*take)(void *context, size_t position, const float *row);
    void *context;
    uint64_t before, total; /* for progress over several passes */
} vt_pass;
uint32_t vt_pass_picture(const vt_pass *s, size_t position);

typedef struct vt_runner {
    vitcl_status (*run)(void *context, const vt_pass *pass);
    void *context;
} vt_runner;

/* A runner (towards.c) whose logits are cosines: of a picture's features and of
 * vectors[classes * width] of length 1. */
typedef struct vt_vectors_runner {
    const float *vectors;
    uint32_t classes;
    size_t width;
    vt_runner of; /* computes features */
} vt_vectors_runner;
vitcl_status vt_run_vectors(void *runner, const vt_pass *pass);

/* vitcl_evaluate(): fills in all but the size; what is there is 0. known: the
 * model's classes. temperature divides the logits; 0: they are none. */
vitcl_status vt_evaluate(vitcl_scores *out, uint32_t *confusion,
                         const vt_labelled *pictures, const vt_classes *known,
                         vitcl_answer answer, double temperature,
                         const vt_runner *runner);
/* The same for answers that are not one class (map_mse.c), in passes as this
 * one. */
vitcl_status vt_evaluate_map_mse(vitcl_scores *out, const vt_labelled *pictures,
                                 const vt_classes *known, vitcl_answer answer,
                                 const vt_pass *of, const vt_runner *runner);
typedef struct vt_fewshot_score {
    uint32_t shots;
    double mean, sd; /* of the accuracies of `tries` random choices, 0 to 1 */
    uint32_t failed; /* pictures that could not be decoded, in the test data and
                        in all choices; left out */
    uint32_t few; /* classes with fewer than `shots` training pictures, of which
                     all are used */
} vt_fewshot_score;
/* Few-shot tests; width: of the model's features. */
vitcl_status vt_fewshot(vt_fewshot_score *scores, uint32_t n, uint32_t tries,
                        uint64_t random_state, const vt_labelled *train,
                        const vt_labelled *test, size_t width,
                        const vt_runner *runner);

#endif
