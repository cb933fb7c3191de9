/*
 * lora.c - LoRA's parameters: how they begin, and their sum with the weights.
 */
#include "train/lora.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STREAM 0x6c6f7261u /* of random numbers */

static const char a_name[] = ".lora_A.weight", b_name[] = ".lora_B.weight";

const char *const vt_lora_trained[] = {"*.lora_[AB].weight", "head.*",
                                       "head_dist.*", NULL};

vitcl_status vt_lora_read(float *out, void *context, const char *name,
                          uint64_t count)
{
    const vt_lora_source *s = context;
    vt_random r;
    double bound;

    if (!s->rank || !(vt_path_ends(name, a_name) || vt_path_ends(name, b_name)))
        return vt_model_read_param(out, s->model, name, count);
    r = vt_random_new(s->random_state, STREAM,
                      vt_checksum((const uint8_t *)name, strlen(name)));
    bound = vt_path_ends(name, a_name) ? 1 / sqrt((double)count / s->rank) : 0;
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)(bound * (2 * vt_random_uniform(&r) - 1));
    return VITCL_OK;
}

bool vt_lora_weight(char out[VT_NAME], const char *name)
{
    if (!vt_path_ends(name, a_name) && !vt_path_ends(name, b_name))
        return false;
    snprintf(out, VT_NAME, "%.*s.weight", (int)(strlen(name) - strlen(a_name)),
             name);
    return true;
}

bool vt_lora_name(char out[VT_NAME], const char *weight, char which)
{
    if (!vt_path_ends(weight, ".weight"))
        return false;
    snprintf(out, VT_NAME, "%.*s.lora_%c.weight",
             (int)(strlen(weight) - strlen(".weight")), weight, which);
    return true;
}

void vt_lora_merge(float *w, const float *a, const float *b, size_t rows,
                   size_t columns, size_t rank, double s)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < rank; k++) {
            const float f = (float)(s * (double)b[i * rank + k]);

            for (size_t j = 0; j < columns; j++)
                w[i * columns + j] += f * a[k * columns + j];
        }
}
