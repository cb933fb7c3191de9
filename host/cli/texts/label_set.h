/*
 * label_set.h - labels in words, which a model of pictures and texts tells
 * apart without a classifier.
 */
#ifndef VT_CLI_LABEL_SET_H
#define VT_CLI_LABEL_SET_H
#include "texts.h"

typedef struct label_set {
    text_list labels, prompts;
    /* by label_set_open() */
    vitcl_answer answer;
    float scale, bias; /* the logit of a cosine c: scale * c + bias */
    uint32_t width;
    float *vector; /* [labels, width] of length 1 */
    float *logits; /* [labels] of the last picture */
    float *scratch;
    bool cut; /* a text was longer than the model's context */
} label_set;

/* Reads --labels and --prompt. labels NULL: the caller adds them. Prints why
 * not. */
int label_set_read(label_set *s, const char *labels, const words *prompts);
/* `wrong`, an exit status, if there are none, or two that are the same. For the
 * message, what: where they are from; how they were read: "", or " (...)". */
int label_set_check(const label_set *s, const char *what, const char *how,
                    int wrong);
/* Hexadecimal: equal for the same labels and prompts in the same order. */
enum { LABEL_SET_ID = 65 };
void label_set_identity(char id[LABEL_SET_ID], const label_set *s);
/* Computes the labels' vectors, or finds them in the cache. */
int label_set_open(label_set *s, vitcl_device *device, const vitcl_model *model,
                   const model_options *o, const text_options *how,
                   uint32_t width, const char *what);
/* The logits of a picture with these features, until the next call; NULL: NaN,
 * of a picture that failed. */
const float *label_set_logits(label_set *s, const float *features);
void label_set_close(label_set *s);

#endif
