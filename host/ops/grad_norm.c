/*
 * grad_norm.c - the global norm of all gradients.
 *
 * A step has few inputs and a model has many parameters. So each slab of
 * gradients has a step that writes PARTS sums of each to a shared state; the
 * last step adds them up.
 */
#include "base/memory.h"
#include "ops/common.h"

enum { IN_PARTS, INS };
enum { OUT_NORM };
/* norm_part: writes to a state */
enum { PART_PARTS, PART_GRAD, PART_TABLE, PART_INS };
enum { FIRST, COUNT, AT, ROW }; /* a row of the table */

#define PARTS 64 /* enough work-groups for a GPU, and few to add up */

static vitcl_status part_shape(vt_plan *p, vt_step *s)
{
    (void)p;
    return vt_op_need(s->in[PART_PARTS] != VT_NONE &&
                          s->in[PART_GRAD] != VT_NONE &&
                          s->in[PART_TABLE] != VT_NONE,
                      "a gradient is missing");
}

static vitcl_status part_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;

    VT_RET(vt_op_kernel(&k, p, s, "grad_norm", "grad_norm_part"));
    VT_RET(vt_args(p, k, "vvvi", s->in[PART_PARTS], s->in[PART_GRAD],
                   s->in[PART_TABLE], PARTS));
    vt_op_groups(k, p, PARTS * vt_dim(p, s->in[PART_TABLE], 0));
    return VITCL_OK;
}

static const vt_op norm_part = {
    .name = "grad_norm_part", .shape = part_shape, .prepare = part_prepare};

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_out(p, s, OUT_NORM, 1, (int[]){1});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;

    VT_RET(vt_op_kernel(&k, p, s, "grad_norm", "grad_norm"));
    VT_RET(vt_args(p, k, "vvi", s->out[OUT_NORM], s->in[IN_PARTS],
                   vt_op_count(p, s->in[IN_PARTS])));
    vt_op_groups(k, p, 1);
    return VITCL_OK;
}

/* No grad: only the optimiser reads it. */
const vt_op vt_op_grad_norm = {
    .name = "grad_norm", .shape = shape, .prepare = prepare};

/* The slab that v is in, or v. */
static vt_val home(const vt_plan *p, vt_val v)
{
    const vt_value *x = vt_value_of(p, v);

    return x && x->slab != VT_NONE ? x->slab : v;
}

/* A step for grad[from] and those of grad[from..n) that are in its slab. */
static void add_part(vt_plan *p, vt_val part, const vt_val *grad, int n,
                     int from, int (*table)[ROW])
{
    const vt_val all = home(p, grad[from]);
    vt_val rows;
    int count = 0;

    for (int i = from; i < n; i++)
        if (home(p, grad[i]) == all) {
            const vt_value *x = vt_value_of(p, grad[i]);
            int *row = table[count++];

            /* 0 outside of a slab */
            row[FIRST] = x ? (int)(x->offset / sizeof(float)) : 0;
            row[COUNT] = vt_op_count(p, grad[i]);
            row[AT] = i * PARTS;
        }
    rows = vt_const_int(p, "grad_norm.table", 2, (int[]){count, ROW}, *table);
    vt_op_append(
        p, &norm_part, PART_INS,
        (vt_val[]){[PART_PARTS] = part, [PART_GRAD] = all, [PART_TABLE] = rows},
        0, NULL);
}

vt_val vt_grad_norm(vt_plan *p, const vt_val *grad, int n)
{
    vitcl_status st = VITCL_OK;
    int(*table)[ROW] = NULL;
    vt_val part = vt_state(p, "grad_norm.parts", VT_F32, 1,
                           (int[]){VT_MAX(n, 1) * PARTS});
    vt_val norm = VT_NONE;

    VT_TRY(vt_new(&table, (size_t)VT_MAX(n, 1), sizeof *table));
    for (int i = 0; i < n; i++) {
        int k = 0;

        while (k < i && home(p, grad[k]) != home(p, grad[i]))
            k++;
        if (k == i)
            add_part(p, part, grad, n, i, table);
    }
    norm = vt_op_append(p, &vt_op_grad_norm, INS, (vt_val[]){[IN_PARTS] = part},
                        0, NULL);
done:
    free(table);
    vt_plan_fail(p, st);
    return norm;
}
