/*
 * form.h - one form of matrix multiplication: what it is told, and what it
 * does. For the forms of this folder, for host/tune (their parameters) and for
 * host/product, which chooses.
 *
 * Each form is a file <name>.c with one vt_form, and a row of vt_forms[]. It
 * chooses nothing: it is told an instruction, parameters and sizes, says
 * whether it supports them, and then packs, binds and launches.
 *
 * Surprising: `residual` has C's stride ldc and may be C itself. So a kernel
 * must not have `restrict` on both, and must read an element before writing it,
 * in the same work-item.
 */
#ifndef VT_GEMM_FORM_H
#define VT_GEMM_FORM_H
#include "gemm/gemm.h"
#include "units/matrix.h"

/* How a CPU's forms divide a product: see common.h. */
typedef struct vt_rows_shape {
    int lanes, vectors; /* of a register block: its width, */
    int block;          /* and its maximum number of rows */
    int terms;          /* of K at a time, at most */
    int rows, panels;   /* per work-group, at most */
    int groups;         /* minimum number of work-groups per core */
    bool any; /* set by dot.c: blocks may have any height up to `block` */
} vt_rows_shape;

/* Vectors per register block, unless gemm_rows.cl is tuned. */
#define VT_ROWS_VECTORS 2
/* Rows of a register block, unless tuned: accumulators, one row of weights and
 * a broadcast value fill 16 registers (SSE, NEON, AVX2) or 32 (AVX-512). */
static inline int vt_rows_block(int lanes)
{
    return lanes == 16 ? 14 : 6;
}

/* A parameter of tile.c or clblast.c. */
enum { VT_NUMBERS = 16 };
typedef struct vt_number {
    const char *name;
    int value;
} vt_number;

/* What a form is told of a product. In the description batch >= 1, lda, ldb
 * and ldc are actual strides, device_class is CPU or GPU, never AUTO. There are
 * `M` rows times `batch` pictures, and A and C advance by M * lda and M * ldc:
 * that is one matrix of batch * M rows. */
typedef struct vt_told {
    vt_gemm_desc d;
    int dot;                      /* of dots.h; VT_DOT_NONE: multiply-adds */
    vt_mma_choice unit;           /* of matrix.h */
    vt_rows_shape rows;           /* also of the panels of other forms */
    vt_number number[VT_NUMBERS]; /* of tile.c and clblast.c */
    bool tuned, measured;         /* for the note */
    bool small; /* the compiled kernel of a large tile needs more local memory
                 * than there is */
    int parts, units; /* of K, and processors, for tests of parts.c; 0: by the
                       * device */
} vt_told;

typedef struct vt_form vt_form;

/* Made and freed by run.c (which also holds references on the buffers). */
struct vt_gemm {
    const vt_form *form;
    vt_dev *dev;
    vt_told t;
    vt_gemm_bufs bufs;
    vt_kernel *kernel[4]; /* launched in order by default */
    void *state;          /* the form's; freed by its free() */
    char note[96];        /* for vt_gemm_describe(): the provider, then the form
                           * in words; default: the provider */
};

/* Which instruction a form is told of. */
typedef enum {
    VT_ASKS_NOTHING,
    VT_ASKS_DOT,  /* of a CPU */
    VT_ASKS_UNIT, /* of a GPU: for inference if B is packed, or else training */
} vt_asks;

struct vt_form {
    const char *provider; /* as users choose it by name: several forms' */
    const char *name;     /* this form's, also in kinds[] of tune/params.c; at
                           * most 15 characters without spaces */
    vt_class class;       /* of the devices whose products it computes; AUTO: of
                           * both */
    vt_asks asks;
    /* Does a product with a B that is not packed have the same bits, and cost
     * no more if B is used once? */
    bool streams;
    /* Is it faster if A and C are stored in fewer bytes? May a B that is not
     * packed be in bf16? */
    bool stored, stored_b;
    /* Are its kernels simple ones, for readers? With them, other operations
     * use their simple kernels, too. */
    bool plain;
    /* Has it smaller tiles with the same bits, for told.small? */
    bool shrinks;
    /* Can it be used on this device at all? Called once per device; may probe
     * (compile, run, compare); must log no errors. NULL: yes. */
    bool (*usable)(vt_dev *dev, const vt_number *numbers);
    /* Could it support this multiplication, which is of its class, with the
     * right instruction? NULL: yes. The instruction is asked for only then. */
    bool (*could)(vt_dev *dev, const vt_gemm_desc *d);
    /* Does it, with this instruction? NULL: yes. t has no parameters yet. */
    bool (*takes)(vt_dev *dev, const vt_told *t);
    /* NULL (all three): it does not support b_packed. They are for products
     * with it. Equal names of a layout ("panel32") mean equal bytes. */
    const char *(*layout)(vt_dev *dev, const vt_told *t);
    size_t (*packed_bytes)(vt_dev *dev, const vt_told *t);
    vitcl_status (*pack)(vt_queue *q, const vt_told *t, vt_buf *packed,
                         vt_buf *b);
    /* Does it support `sums` with this one? NULL: never. */
    bool (*sums)(vt_dev *dev, const vt_told *t);
    /* NULL: none. */
    size_t (*temp_bytes)(vt_dev *dev, const vt_told *t);
    /* The words of A in int8. NULL: it reads none. */
    void (*int_rows)(vt_int_rows *out, vt_dev *dev, const vt_told *t);
    /* Can it write a vt_gemm_norm, too, and faster? NULL: never. */
    bool (*norms)(vt_dev *dev, const vt_told *t);
    /* Makes g->kernel[] or g->state from g->t and g->bufs. After an error,
     * run.c and free() free what was made before. */
    vitcl_status (*bind)(vt_gemm *g);
    vitcl_status (*launch)(vt_queue *q, vt_gemm *g); /* NULL: g->kernel[] */
    void (*free)(vt_gemm *g);                        /* NULL: nothing more */
    /* If its products are not computed by vector multiply-adds: a kernel of
     * their instructions only, with cl/peak.cl's arguments, and the
     * floating-point operations of a work-item per iteration. */
    vitcl_status (*peak)(vt_kernel **out, double *flops, vt_dev *dev,
                         const vt_told *t);
};

/* All of them (forms.c), ended by NULL. Of a provider's forms, the first that
 * supports a product computes it; on a GPU, and on a processor that is not
 * known, the fastest, if no provider is named. */
extern const vt_form *const vt_forms[];
extern const vt_form vt_form_dot, vt_form_outer, vt_form_rows, vt_form_mma,
    vt_form_tile, vt_form_clblast, vt_form_plain;
enum { VT_FORMS = 8 }; /* at most */

/* clblast.c: a call of CLBlast that its own tuner times, C = 2 A B^T + 2 C in
 * f32, all square, which runs Xgemm alone. *ms: the best of some. The device
 * must not be used for other products. */
enum { VT_CLBLAST_SIDE = 1024 };
vitcl_status vt_clblast_time(double *ms, vt_dev *dev, const vt_number *numbers);

/* B's bytes if it is packed, or as it is. */
size_t vt_form_b_bytes(vt_dev *dev, const vt_form *f, const vt_told *t);
/* Of vt_gemm_bufs; 0: none. */
size_t vt_form_temp_bytes(vt_dev *dev, const vt_form *f, const vt_told *t);
/* Packs B from f32 device memory (ldb, trans_b as in d). In order on q. */
vitcl_status vt_form_pack(vt_queue *q, const vt_form *f, const vt_told *t,
                          vt_buf *packed, vt_buf *b);
/* VITCL_EINVAL unless the sizes and strides of a description, filled in, are
 * those of a product. */
vitcl_status vt_gemm_check(const vt_gemm_desc *d);
/* Checks the sizes of the buffers and makes the kernels. */
vitcl_status vt_form_bind(vt_gemm **out, vt_dev *dev, const vt_form *f,
                          const vt_told *t, const vt_gemm_bufs *bufs);

#endif
