/*
 * known.h - answers of two models with random weights that timm computed in
 * double: tools/golden_selftest.py.
 */
#ifndef VT_CLI_KNOWN_H
#define VT_CLI_KNOWN_H
#include "cli/setup/setup.h"

/* Of each picture, sums over the classes j, j + 8, j + 16 and so on: one wrong
 * logit changes one of them. */
enum { KNOWN_SUMS = 8, KNOWN_PRECISIONS = 4 };

typedef struct known_answer {
    uint32_t pictures;
    const double (*sums)[KNOWN_SUMS];
} known_answer;

extern const known_answer known_small; /* vit-ti/16, 64 pixels */
extern const known_answer known_large; /* vit-b/16, 224 pixels */

/* A bound says that something is wrong, not how exact a precision is. */
typedef struct known_precision {
    const char *name;
    vitcl_precision precision;
    double bound;
} known_precision;

extern const known_precision known_precisions[KNOWN_PRECISIONS];

/* The pictures, one after the other. */
void known_pictures(uint8_t *rgb, size_t bytes);
/* How far the logits of all these pictures are from the answer, over its
 * largest sum. */
double known_error(const known_answer *a, const float *logits,
                   uint32_t classes);

#endif
