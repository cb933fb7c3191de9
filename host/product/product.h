/*
 * product.h - which form multiplies a product: the order of the providers, what
 * was measured, what the user named. Plans and operations ask here.
 */
#ifndef VT_PRODUCT_PRODUCT_H
#define VT_PRODUCT_PRODUCT_H
#include "gemm/form.h"
#include "product/timed.h"

/* The default of a GPU and of a processor that is not known, in a provider's
 * place: the fastest one of each product, which is timed when it is first asked
 * for (fastest.h). */
#define VT_PRODUCT_MEASURED "measured"
/* The provider that will be used; `wanted` NULL: the device's default. An
 * unknown or unusable name is an error that lists the usable ones. */
vitcl_status vt_product_provider(const char **out, vt_dev *dev,
                                 const char *wanted);
/* The provider that is first in the order of this class, without a probe. */
const char *vt_product_first(vt_class class);

/* A product with what was decided about it. */
typedef struct vt_product {
    const vt_form *form; /* NULL: it is to be measured; see below */
    vt_told told;        /* d filled in */
    bool own;            /* is the form of the provider that was asked for? */
    const char *layout;  /* of packed B: equal names mean equal bytes; "": B is
                          * not packed */
    size_t packed_bytes; /* of B, or B's as it is */
    size_t temp_bytes;   /* of vt_gemm_bufs */
    bool sums;           /* may `d` have sums? */
} vt_product;

/* If the provider does not support it, the first one in the device's order that
 * does computes it (plain supports all but int8). May time forms, and try
 * instructions. */
vitcl_status vt_product_of(vt_product *out, vt_dev *dev, const char *provider,
                           const vt_gemm_desc *d);
/* The same without timing. If the forms must be timed first, form is NULL,
 * temp_bytes the most that one of them needs, and there are no sums. */
vitcl_status vt_product_look(vt_product *out, vt_dev *dev, const char *provider,
                             const vt_gemm_desc *d);
/* A product of this type with 16 rows, columns and terms, to ask about all;
 * tries no instruction on a CPU. */
vitcl_status vt_product_any(vt_product *out, vt_dev *dev, const char *provider,
                            vt_dtype type, vt_class class);

/* Packs B from f32 device memory (ldb, trans_b as in d). In order on q. */
vitcl_status vt_product_pack(vt_queue *q, const vt_product *p, vt_buf *packed,
                             vt_buf *b);
vitcl_status vt_product_bind(vt_gemm **out, vt_dev *dev, const vt_product *p,
                             const vt_gemm_bufs *bufs);
/* vt_timed_new() by a provider; NULL: the default one. */
vitcl_status vt_product_timed(vt_timed *t, vt_dev *dev, const char *provider,
                              const vt_gemm_desc *d, const float *a,
                              const float *b);

/* ---- about a provider ---- */

/* Are its kernels the simple ones, so that other operations' should be? */
bool vt_product_plain(const char *provider);
/* VT_DOT_BF16 or VT_DOT_BF16_TILES if a CPU multiplies bf16 by them with it, so
 * that other kernels should, too; or VT_DOT_NONE. May try the instruction. */
int vt_product_dots(vt_dev *dev, const char *provider);
/* In which 16 bits does a GPU's matrix unit compute attention, of a plan whose
 * products have none? bf16 before f16, which has a small range; VT_F32: in
 * none. May try instructions. */
vt_dtype vt_product_attention(vt_dev *dev, const char *provider);
/* False: it rounds no A[rows,K] to words. May try an instruction. */
bool vt_product_int_rows(vt_int_rows *out, vt_dev *dev, const char *provider,
                         int rows, int K);
/* If packed products of this type are not computed by vector multiply-adds: a
 * kernel of their instructions only, with cl/peak.cl's arguments, and the
 * floating-point operations of one of its work-items per iteration. Else *out
 * is NULL. */
vitcl_status vt_product_peak(vt_kernel **out, double *flops, vt_dev *dev,
                             vt_dtype type);

#endif
