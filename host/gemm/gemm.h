/*
 * gemm.h - matrix multiplication: what a product is, and running one.
 *
 *   C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * A(m,k) is A[m*lda + k], or A[k*lda + m] with trans_a. B(n,k) is B[n*ldb + k]
 * (as torch's Linear stores weights), or B[k*ldb + n] with trans_b. The order
 * of summation over k depends on K, N and the device, never on the batch, and
 * on M only with trans_a; but in 16 bits, without any_batch, a device may have
 * another instruction for many rows.
 * residual has C's stride ldc and may be C itself; with `times` it is a factor.
 * batch > 1 (never with trans_a): M rows each, A and C advance by M * lda and
 * M * ldc; B is shared. It only says where pictures begin; the result is the
 * same as that of batch * M rows.
 *
 * Which form multiplies, and with which instruction, is not decided here but in
 * product.h: a form is told (form.h).
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
    VT_ACT_SILU,
    VT_ACT_SIGMOID,
    VT_ACT_RELU6,
    VT_ACT_RELU2,
    VT_ACT_RELU_LEAKY,
    VT_ACT_ELU,
    VT_ACT_SELU,
    VT_ACT_MISH,
    VT_ACT_SIGMOID_HARD,
    VT_ACT_SWISH_HARD,
    VT_ACT_MISH_HARD,
    VT_ACT_GELU_10,
    VT_ACT_LAPLACE,
    VT_ACTS
} vt_act;
const char *vt_act_name(vt_act a);

typedef struct vt_gemm_desc {
    int batch, M, N, K;
    int lda, ldb, ldc; /* elements; 0: dense */
    bool trans_a, trans_b;
    bool accumulate; /* C += ...; excludes other epilogues */
    bool sums;       /* bias[m] += sum_k A(m,k) too, where a product can */
    bool bias, scale, residual;
    bool times; /* with residual: C = residual * scale * act(..) */
    vt_act act;
    bool any_batch; /* the same bits for any number of rows */
    bool b_packed;  /* b comes from vt_product_pack(): constant weights */
    vt_dtype type;  /* of the multiplication: f32, f16, bf16, i8 */
    vt_dtype a;     /* how A is stored: f32, f16, bf16, i8: vt_int_rows */
    vt_dtype b;     /* how B is stored, if it is not packed: f32, bf16 */
    vt_dtype out;   /* how C is stored: f32, f16, bf16 */
    vt_dtype res;   /* how the residual is stored: f32, f16, bf16 */
    vt_class device_class;
} vt_gemm_desc;

/* Layer norm of C's rows, or RMS norm, in bf16: vt_form.norms. */
typedef struct vt_gemm_norm {
    vt_buf *buf[3]; /* out or NULL: none; gamma, beta or NULL */
    float eps;
    bool rms;
} vt_gemm_norm;

/* Buffers of one multiplication; NULL if unused. `temp`: device memory of the
 * product's temp_bytes, used only while this gemm runs. */
typedef struct vt_gemm_bufs {
    vt_buf *c, *a, *b, *bias, *scale, *residual, *temp;
    vt_gemm_norm norm; /* its buffers outlive the gemm */
} vt_gemm_bufs;
/* Drops a reference on each. */
void vt_gemm_bufs_free(const vt_gemm_bufs *b);

/* A[rows,K] as the words of integers that a CPU's int8 products multiply, each
 * row with its scale and a zero point: `bytes` in all, of which a row's words
 * are ld. gemm_dot_rows.cl writes them, with `defines`, in `items` work-items.
 */
typedef struct vt_int_rows {
    size_t bytes;
    int ld, items;
    char defines[96];
} vt_int_rows;

/* vt_kernel_ready() of its kernels. Where one needs more local memory than the
 * device has, and there are smaller tiles, it is made with these. */
vitcl_status vt_gemm_ready(vt_gemm *g);
vitcl_status vt_gemm_launch(vt_queue *q, vt_gemm *g);
/* How many kernels that starts; a call of CLBlast counts as one. */
unsigned vt_gemm_launches(const vt_gemm *g);
const char *vt_gemm_name(const vt_gemm *g); /* the provider's name */
/* For vitcl plan: the kernel and its variant in a few words. */
const char *vt_gemm_describe(const vt_gemm *g);
bool vt_gemm_norms(const vt_gemm *g); /* has it a vt_gemm_norm? */
void vt_gemm_free(vt_gemm *g);

#endif
