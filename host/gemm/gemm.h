/*
 * gemm.h - matrix multiplication: the one interface of all its providers.
 *
 *   C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * A(m,k) is A[m*lda + k], or A[k*lda + m] with trans_a. B(n,k) is B[n*ldb + k]
 * (as torch's Linear stores weights), or B[k*ldb + n] with trans_b. The order
 * of summation over k depends on K alone, never on M or the batch.
 * residual has C's stride ldc and may be C itself. With `times` it is a factor.
 * batch > 1 (never with trans_a): M rows each, A and C advance by M * lda, M *
 * ldc; B is shared. That is only a hint about where pictures begin; the result
 * is the same as that of batch * M rows.
 */
#ifndef VT_GEMM_GEMM_H
#define VT_GEMM_GEMM_H
#include "ocl/ocl.h"

typedef struct vt_gemm vt_gemm;

typedef enum {
    VT_ACT_NONE,
    VT_ACT_GELU,       /* x/2 (1 + erf(x / sqrt 2)) */
    VT_ACT_GELU_TANH,  /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    VT_ACT_GELU_QUICK, /* x sigmoid(1.702 x) */
    VT_ACT_TANH,
    VT_ACT_RELU,
    VT_ACT_SILU
} vt_act;
const char *vt_act_name(vt_act a);

/* Devices, with the user's parameters; vt_dev_info() has their number. */
vitcl_status vt_gemm_dev_open(vt_dev **out, const char *select);
vitcl_status vt_gemm_dev_list(vitcl_device_info *out, uint32_t index);
/* What a device of this class takes by default, unprobed, for listings. */
const char *vt_gemm_usual(vt_class class);

typedef struct vt_gemm_desc {
    int batch, M, N, K;
    int lda, ldb, ldc; /* elements; 0: dense */
    bool trans_a, trans_b;
    bool accumulate; /* C += ... ; no other epilogue then */
    bool sums;       /* bias[m] += sum_k A(m,k) too, where vt_gemm_sums() */
    bool bias, scale, residual;
    bool times; /* with residual: C = residual * scale * act(..) */
    vt_act act;
    bool b_packed; /* b was made by vt_gemm_pack(): constant weights */
    vt_dtype type; /* of the multiplication: f32, f16, bf16, i8 */
    vt_dtype a;    /* how A is stored: f32, f16, bf16; B unpacked is f32 */
    vt_dtype out;  /* of C: f32, or f16, bf16 for a consumer that wants it */
    vt_class device_class;
} vt_gemm_desc;

/* Buffers of one multiplication; unused ones NULL. `temp` is device memory of
 * vt_gemm_temp_bytes() that is this gemm's only while it runs. */
typedef struct vt_gemm_bufs {
    vt_buf *c, *a, *b, *bias, *scale, *residual, *temp;
} vt_gemm_bufs;

/* The provider that will be used: `wanted` NULL: the device's default. An
 * unknown or unusable name is an error that lists the usable ones. */
vitcl_status vt_gemm_provider(const char **out, vt_dev *dev,
                              const char *wanted);
/* Whether that provider multiplies in this type; *instead: who does. */
bool vt_gemm_multiplies(const char **instead, vt_dev *dev, const char *provider,
                        vt_dtype type, vt_class class);
/* A word for the layout that packing gives ("rows8x2"): equal words, equal
 * bytes. "" where the provider takes B as it is. */
const char *vt_gemm_layout(vt_dev *dev, const char *provider,
                           const vt_gemm_desc *d);
size_t vt_gemm_packed_bytes(vt_dev *dev, const char *provider,
                            const vt_gemm_desc *d);
/* B as f32 device memory (ldb, trans_b as in d) -> packed. In order on q. */
vitcl_status vt_gemm_pack(vt_queue *q, const char *provider,
                          const vt_gemm_desc *d, vt_buf *packed, vt_buf *b);
/* Whether d, with `sums`, can be done: by a provider that has A's rows in hand
 * while it accumulates. */
bool vt_gemm_sums(vt_dev *dev, const char *provider, const vt_gemm_desc *d);
size_t vt_gemm_temp_bytes(vt_dev *dev, const char *provider,
                          const vt_gemm_desc *d);
vitcl_status vt_gemm_new(vt_gemm **out, vt_dev *dev, const char *provider,
                         const vt_gemm_desc *d, const vt_gemm_bufs *bufs);
vitcl_status vt_gemm_ready(vt_gemm *g); /* vt_kernel_ready() of its kernels */
vitcl_status vt_gemm_launch(vt_queue *q, vt_gemm *g);
/* Would a first packed product of this type have vitcl-try try an instruction
 * that nobody has tried here yet, on this device with this driver? */
bool vt_gemm_untried(vt_dev *dev, vt_dtype type);
/* By what a CPU multiplies in bf16 or int8: an instruction, "fma" or "untried";
 * and what failed its trial or cannot have one. */
void vt_gemm_form(char *out, size_t size, vt_dev *dev, vt_dtype type);
/* For vitcl-try alone, as it may crash: is the instruction "wrong", "slower" or
 * "faster" than multiply-adds? */
vitcl_status vt_gemm_try_form(const char **verdict, vt_dev *dev,
                              const char *instruction);
/* Where packed products of this type are made of dot-product instructions: a
 * kernel of them alone, gemm_dot_peak, and what one of its work-items adds and
 * multiplies in a round. Else *out is NULL. */
vitcl_status vt_gemm_peak(vt_kernel **out, double *flops, vt_dev *dev,
                          vt_dtype type);
const char *vt_gemm_name(const vt_gemm *g); /* the provider's */
/* For vitcl plan: the kernel and its variant in a few words. */
const char *vt_gemm_describe(const vt_gemm *g);
void vt_gemm_free(vt_gemm *g);

#endif
