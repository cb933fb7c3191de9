/*
 * known.c - the pictures, the bounds, and how far logits are from the sums.
 */
#include "known.h"

#include "known_sums.h"

#include <math.h>

const known_answer known_small = {sizeof small / sizeof *small, small};
const known_answer known_large = {sizeof large / sizeof *large, large};

const known_precision known_precisions[KNOWN_PRECISIONS] = {
    {"f32", VITCL_F32, 1e-5},
    {"f16", VITCL_F16, 5e-3},
    {"bf16", VITCL_BF16, 4e-2},
    {"int8", VITCL_INT8, 8e-2}};

void known_pictures(uint8_t *rgb, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        rgb[i] = (uint8_t)((uint64_t)i * 2654435761u >> 13);
}

double known_error(const known_answer *a, const float *logits, uint32_t classes)
{
    double most = 0, off = 0;

    for (uint32_t i = 0; i < a->pictures; i++, logits += classes) {
        for (uint32_t k = 0; k < KNOWN_SUMS; k++) {
            const double want = a->sums[i][k];
            double sum = 0;

            for (uint32_t j = k; j < classes; j += KNOWN_SUMS)
                sum += j * 2654435761u >> 31 ? -(double)logits[j] : logits[j];
            most = fmax(most, fabs(want));
            off = isfinite(sum) ? fmax(off, fabs(sum - want)) : INFINITY;
        }
    }
    return off / most;
}
