/*
 * fuzz_weights.h - shared by the fuzz targets of weight files: open a file,
 * read all its numbers, and map its tensor names as a model would.
 */
#ifndef VT_TESTS_FUZZ_WEIGHTS_H
#define VT_TESTS_FUZZ_WEIGHTS_H
#include "models/family.h"
#include "weights/weights.h"

#include <stdlib.h>

static inline void fuzz_weights(const uint8_t *bytes, size_t size)
{
    vt_tensors *t = NULL;
    vt_weights *w = NULL;
    float *f = malloc(sizeof *f << 16);

    if (!f || vt_tensors_open_memory(&t, bytes, size, "input") != VITCL_OK) {
        free(f);
        return;
    }
    for (size_t i = 0; i < vt_tensors_count(t); i++)
        if (vt_tensors_at(t, i)->count <= 1 << 16)
            vt_tensor_f32(f, vt_tensors_at(t, i));
    if (vt_weights_new(&w, t, NULL, vt_names_of_families) == VITCL_OK) {
        for (size_t i = 0; i < vt_weights_count(w); i++)
            if (vt_weights_at(w, i)->count <= 1 << 16)
                vt_weight_f32(f, w, vt_weights_at(w, i));
        vt_weights_free(w);
    } else {
        vt_tensors_free(t);
    }
    free(f);
}

#endif
