/*
 * gemm.h - matrix multiplication: the one interface of all its providers.
 *
 *   C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * A(m,k) is A[m*lda + k], or A[k*lda + m] with trans_a. B(n,k) is B[n*ldb + k]
 * (as torch's Linear stores weights), or B[k*ldb + n] with trans_b. The order
 * of summation over k depends on K, N and the device, never on the batch, and
 * on M only with trans_a.
 * residual has C's stride ldc and may be C itself; with `times` it is a factor.
 * batch > 1 (never with trans_a): M rows each, A and C advance by M * lda and
 * M * ldc; B is shared. It only says where pictures begin; the result is the
 * same as that of batch * M rows.
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

/* Opens a device with the user's parameters; vt_dev_info() has their number. */
vitcl_status vt_gemm_dev_open(vt_dev **out, const char *select);
vitcl_status vt_gemm_dev_list(vitcl_device_info *out, uint32_t index);
/* The provider that is first in the order of this class, without a probe. */
const char *vt_gemm_first(vt_class class);
/* A GPU's default, in a provider's place: the fastest one of each product,
 * which is timed when it is first asked for (fastest.h). */
#define VT_GEMM_MEASURED "measured"
/* How many products were timed since this device was opened. */
uint32_t vt_gemm_timed(const vt_dev *dev);

typedef struct vt_gemm_desc {
    int batch, M, N, K;
    int lda, ldb, ldc; /* elements; 0: dense */
    bool trans_a, trans_b;
    bool accumulate; /* C += ...; excludes other epilogues */
    bool sums;       /* bias[m] += sum_k A(m,k) too, where vt_gemm_sums() */
    bool bias, scale, residual;
    bool times; /* with residual: C = residual * scale * act(..) */
    vt_act act;
    bool b_packed; /* b comes from vt_gemm_pack(): constant weights */
    vt_dtype type; /* of the multiplication: f32, f16, bf16, i8 */
    vt_dtype a;    /* how A is stored: f32, f16, bf16, i8: vt_gemm_int_rows();
                    * B unpacked is f32 */
    vt_dtype out;  /* how C is stored: f32, f16, bf16 */
    vt_dtype res;  /* how the residual is stored: f32, f16, bf16 */
    vt_class device_class;
} vt_gemm_desc;

/* Buffers of one multiplication; NULL if unused. `temp`: device memory of
 * vt_gemm_temp_bytes(), used only while this gemm runs. */
typedef struct vt_gemm_bufs {
    vt_buf *c, *a, *b, *bias, *scale, *residual, *temp;
} vt_gemm_bufs;

/* The provider that will be used; `wanted` NULL: the device's default. An
 * unknown or unusable name is an error that lists the usable ones. */
vitcl_status vt_gemm_provider(const char **out, vt_dev *dev,
                              const char *wanted);
/* Does that provider support this type? *instead: the one that is used. */
bool vt_gemm_multiplies(const char **instead, vt_dev *dev, const char *provider,
                        vt_dtype type, vt_class class);
/* Are weights of this type that are used once best left unpacked, and the bits
 * the same? */
bool vt_gemm_streams(vt_dev *dev, const char *provider, vt_dtype type,
                     vt_class class);
/* Which form of the provider multiplies this: "rows"; "" if another provider
 * does. */
const char *vt_gemm_form_of(vt_dev *dev, const char *provider,
                            const vt_gemm_desc *d);
/* The provider that has a form; NULL: none. */
const char *vt_gemm_form_name(const char *form);
/* The class of device that a form is for; VT_CLASS_AUTO: all. */
vt_class vt_gemm_form_class(const char *form);
/* The name of the packed layout ("rows8x2"): equal names mean equal bytes. ""
 * if the provider does not pack B. */
const char *vt_gemm_layout(vt_dev *dev, const char *provider,
                           const vt_gemm_desc *d);
size_t vt_gemm_packed_bytes(vt_dev *dev, const char *provider,
                            const vt_gemm_desc *d);
/* Packs B from f32 device memory (ldb, trans_b as in d). In order on q. */
vitcl_status vt_gemm_pack(vt_queue *q, const char *provider,
                          const vt_gemm_desc *d, vt_buf *packed, vt_buf *b);
/* Is d with `sums` supported? Only by a provider that reads A's rows while it
 * accumulates. */
bool vt_gemm_sums(vt_dev *dev, const char *provider, const vt_gemm_desc *d);
size_t vt_gemm_temp_bytes(vt_dev *dev, const char *provider,
                          const vt_gemm_desc *d);
vitcl_status vt_gemm_new(vt_gemm **out, vt_dev *dev, const char *provider,
                         const vt_gemm_desc *d, const vt_gemm_bufs *bufs);
vitcl_status vt_gemm_ready(vt_gemm *g); /* vt_kernel_ready() of its kernels */
vitcl_status vt_gemm_launch(vt_queue *q, vt_gemm *g);
/* How many kernels that starts; a call of CLBlast counts as one. */
unsigned vt_gemm_launches(const vt_gemm *g);
const char *vt_gemm_name(const vt_gemm *g); /* the provider's name */
/* For vitcl plan: the kernel and its variant in a few words. */
const char *vt_gemm_describe(const vt_gemm *g);
void vt_gemm_free(vt_gemm *g);

/* ---- instructions that are tried once on a device ---- */

/* Would the first packed product of this type start vitcl-try, because an
 * instruction has not been tried on this device with this driver? */
bool vt_gemm_untried(vt_dev *dev, vt_dtype type);
/* Tries it, unless its result is known. */
void vt_gemm_try(vt_dev *dev, vt_dtype type);
/* How a CPU multiplies in bf16, f16 or int8: an instruction, "fma" or
 * "untried"; then the instruction that failed its trial or could not be tried.
 */
void vt_gemm_form(char *out, size_t size, vt_dev *dev, vt_dtype type);
/* Does a CPU multiply bf16 by AVX-512's dot products with this provider, so
 * that other kernels should, too? May try the instruction. */
bool vt_gemm_dots(vt_dev *dev, const char *provider);
/* A[rows,K] as the words of integers that a CPU's int8 products multiply, each
 * row with its scale and zero point: `bytes` in all, of which a row's words are
 * ld. cl/gemm_dot_rows.cl with `defines` writes them, in so many work-items. */
typedef struct vt_int_rows {
    size_t bytes;
    int ld, items;
    char defines[96];
} vt_int_rows;
/* False: this provider rounds no A to such words. May try an instruction. */
bool vt_gemm_int_rows(vt_int_rows *out, vt_dev *dev, const char *provider,
                      int rows, int K);
/* If packed products of this type are not computed by vector multiply-adds: a
 * kernel of their instructions only, with cl/peak.cl's arguments, and the
 * floating-point operations of one of its work-items per iteration. Else *out
 * is NULL. */
vitcl_status vt_gemm_peak(vt_kernel **out, double *flops, vt_dev *dev,
                          vt_dtype type);

#endif
