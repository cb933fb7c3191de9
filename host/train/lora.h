/*
 * lora.h - LoRA (Hu et al. 2021, arXiv:2106.09685), as in loralib and peft: a
 * layer with the frozen weight W computes
 *
 *   y = W x + b + alpha / rank * B (A x)
 *
 * vt_dense() writes both products. They are not W + s B A, once a step: that
 * would need dW, which costs a product as large as the layer's and memory as
 * large as W. With true products of low rank nothing is computed or kept in W's
 * size. A model is saved with W + s B A, and the run folder keeps W in base/.
 */
#ifndef VT_TRAIN_LORA_H
#define VT_TRAIN_LORA_H
#include "models/model.h"

/* What trains: A, B and the head. NULL-ended patterns. */
extern const char *const vt_lora_trained[];

/* Reads parameters: of the model, or those of LoRA as they begin: A uniform
 * within 1 / sqrt(columns), by (random state, name), B zero. context: a
 * vt_lora_source. */
typedef struct vt_lora_source {
    vt_model *model;
    unsigned random_state, rank;
} vt_lora_source;
vitcl_status vt_lora_read(float *out, void *context, const char *name,
                          uint64_t count);

/* The layer's weight for one of LoRA's parameters; false: it is another. */
bool vt_lora_weight(char out[VT_NAME], const char *name);
/* The name of A or B for a layer's weight; false: it is no weight. */
bool vt_lora_name(char out[VT_NAME], const char *weight, char which);
/* w[rows, columns] += s B A */
void vt_lora_merge(float *w, const float *a, const float *b, size_t rows,
                   size_t columns, size_t rank, double s);

#endif
