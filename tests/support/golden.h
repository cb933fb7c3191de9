/*
 * golden.h - compare a checkpoint's results with its own library's.
 */
#ifndef VT_TESTS_GOLDEN_H
#define VT_TESTS_GOLDEN_H
#include "models/model.h"
#include "support/device.h"

/* A plan that has run: of folder's model on its input.safetensors, or on
 * `pixels` ([B,3,H,W]) where those are given. */
typedef struct vt_test_run {
    vt_model *model;
    vt_store *store;
    vt_plan *plan;
    vt_val pixels;
    vt_outputs out;
} vt_test_run;
vitcl_status vt_test_start(vt_test_run *r, const char *path, const int dim[4],
                           const char *const *keep);
void vt_test_stop(vt_test_run *r);

/* Every tensor of expected.safetensors within 1e-4 of its largest value; names
 * the first that is not. keep_all: false runs the plan as classify does, and
 * compares what the library itself returns. Returns the worst error. */
double vt_test_golden(const char *folder, bool keep_all);
/* The same with the kernels for GPUs, in this precision and within this bound,
 * of what a plan with every tensor kept computes. `gemm`: a part of
 * every product's vt_gemm_describe(). */
double vt_test_golden_as(const char *folder, vitcl_precision precision,
                         double bound, const char *gemm);

#endif
