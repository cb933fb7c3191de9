/*
 * oneplan.h - run one op in its own plan, as models do.
 *
 * A case gives the inputs, a function that adds the op, and a reference in
 * double. vt_check_op() runs it on the device for both device classes:
 *
 *   forward   into memory full of NaN, twice (equal bits); inputs and guard
 *             words unchanged, and nothing written beyond a value's end;
 *   backward  with every float input as a trainable parameter and a random
 *             incoming gradient, against central differences of the
 *             reference; a second run must add the same again, and also write
 *             nothing beyond a value's end.
 *
 * VITCL_TEST_TINY=1, for slow simulators, skips the larger cases and runs the
 * others once.
 */
#ifndef VT_TESTS_ONEPLAN_H
#define VT_TESTS_ONEPLAN_H
#include "ops/ops.h"

#define VT_CASE_INS 6

typedef struct vt_spec {
    int rank, dim[4];    /* rank 0: no more inputs */
    double scale, shift; /* of the numbers; scale 0: 1 */
    bool param;          /* a parameter in the forward run too */
    bool none;           /* VT_NONE in this slot */
    bool fixed;          /* no gradient is asked for */
    bool u8;             /* bytes 0 to 255 */
    bool i32;            /* whole numbers; give them as data */
    bool same;           /* every element `shift` */
    const float *data;   /* these numbers instead */
} vt_spec;

typedef struct vt_case {
    const char *name;
    vt_spec in[VT_CASE_INS];
    int arg[12];
    double f[4];
    double rtol, atol; /* 0: 1e-5 relative, and of the largest number */
    double grad_tol;   /* of the largest gradient; 0: 1e-4 */
    bool no_grad;
} vt_case;

typedef vt_val (*vt_case_build)(vt_plan *p, const vt_val *in, const vt_case *c);
/* in[i] NULL for VT_NONE; out has as many elements as the op's output. */
typedef void (*vt_case_ref)(double *out, const double *const *in,
                            const vt_case *c);

void vt_check_op(const vt_case *c, vt_case_build build, vt_case_ref ref);
/* All of a table that ends with a NULL name. */
void vt_check_ops(const vt_case *c, vt_case_build build, vt_case_ref ref);
bool vt_test_tiny(void);

/* ---- for tests that write a plan themselves ---- */

typedef struct vt_fixture {
    struct {
        char name[64];
        const float *data;
        uint64_t count;
    } param[16];
    int params;
    vt_store *store;
    vt_plan *plan;
} vt_fixture;
/* A plan whose parameters are those given by vt_fixture_param(). */
void vt_fixture_open(vt_fixture *f, vt_class c, bool backward);
/* The same with options of the test's own; dev and store are filled in. */
void vt_fixture_open_as(vt_fixture *f, vt_plan_options o);
vt_val vt_fixture_param(vt_fixture *f, const char *name, int rank,
                        const int *dim, const float *data);
void vt_fixture_close(vt_fixture *f);
/* A NaN in f32 and f16, for vt_buf_fill(): every word of the first part of the
 * arena that belongs to no value must still be this. */
#define VT_STRAY 0x7fc0dead
void vt_check_stray(vt_plan *p);
/* A step whose backward gives `g` as the gradient of x: the end of a plan. */
vt_val vt_seed_gradient(vt_plan *p, vt_val x, vt_val g);
#define vt_check(expr) cr_assert_eq((expr), VITCL_OK, "%s", vt_message())

#endif
