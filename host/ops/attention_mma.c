/*
 * attention_mma.c - attention on the matrix units of a GPU, for inference in
 * f16 and bf16: cl/attention_mma.cl.
 *
 * A unit is used if its trial has found its products right (mma_choice.c) and
 * the plan does not ask for short kernels (plain).
 */
#include "ops/attention.h"

#include "gemm/mma.h"
#include "gemm/params.h"

#include <stdio.h>
#include <string.h>

enum { ITEMS = 128, KEYS = 64, WIDE_KEYS = 32 /* of heads wider than 64 */ };

typedef struct tile {
    int subgroups, keys, queries;
    size_t items, local_bytes;
} tile;

static tile measure(const vt_mma_choice *c, const vt_attention_sizes *z)
{
    const vt_mma_kind *k = &vt_mma_kinds[c->kind];
    tile t = {.keys = z->D > 64 ? WIDE_KEYS : KEYS};

    t.subgroups = c->emulated ? 2 : ITEMS / k->lanes;
    t.queries = t.subgroups * k->rows;
    t.items = (size_t)(t.subgroups * k->lanes);
    /* k, and v or its transpose, whose rows are 16 bytes longer */
    t.local_bytes =
        (size_t)(c->kind == 1 ? 2 : 1) *
        (size_t)(4 * t.keys * z->D + 16 * t.keys + 16 * VT_MAX(t.keys, z->D));
    return t;
}

static bool readable(vt_plan *p, vt_val v)
{
    vt_buf *b;

    return vt_value_of(p, v)->dtype == vt_plan_type(p) &&
           vt_bind(&b, p, v) == VITCL_OK && vt_buf_aligned(b, 16);
}

bool vt_attention_mma_takes(vt_plan *p, const vt_step *s,
                            const vt_attention_sizes *z)
{
    vt_dev *dev = vt_plan_settings(p)->dev;
    vt_mma_choice c;
    tile t;

    if ((vt_plan_type(p) != VT_F16 && vt_plan_type(p) != VT_BF16) ||
        (z->D != 32 && z->D != 64 && z->D != 128) || s->f[F_SCALE] <= 0.0f ||
        strcmp(vt_plan_gemm(p), "plain") == 0 || !readable(p, s->in[IN_Q]) ||
        !readable(p, s->in[IN_KV]))
        return false;
    c = vt_mma_ask(dev, vt_plan_type(p));
    if (c.kind == VT_MMA_NONE || c.kind >= VT_MMA_INTEL)
        return false;
    t = measure(&c, z);
    return vt_dev_group_max(dev) >= t.items &&
           vt_dev_info(dev)->local_bytes >= t.local_bytes;
}

vitcl_status vt_attention_mma(vt_plan *p, vt_step *s,
                              const vt_attention_sizes *z)
{
    const vt_mma_choice c =
        vt_mma_ask(vt_plan_settings(p)->dev, vt_plan_type(p));
    const tile t = measure(&c, z);
    const size_t groups =
        ((size_t)z->Tq + (size_t)t.queries - 1) / (size_t)t.queries;
    char defines[200];
    vt_attention_defines more;
    vt_op_define y;
    vt_kernel *k;
    vitcl_status st;

    vt_attention_define(more, p, s, z);
    snprintf(defines, sizeof defines,
             "-DKIND=%d%s -DTYPE=%d -DD=%d -DWM=%d -DKEYS=%d%s%s", c.kind,
             c.emulated ? " -DEMULATE" : "", vt_type_number(vt_plan_type(p)),
             z->D, t.subgroups, t.keys, more,
             vt_op_stored(y, p, "YT", s->out[OUT_Y]));
    VT_TRY(vt_step_kernel(&k, p, s, "attention_mma", "attention_mma", defines));
    VT_TRY(vt_args(p, k, "v", s->out[OUT_Y]));
    VT_TRY(vt_attention_arguments(p, k, 1, s, z));
    vt_kernel_size(k, 3,
                   (size_t[3]){groups * t.items, (size_t)z->H, (size_t)z->B},
                   (size_t[3]){t.items, 1, 1});
    snprintf(s->note, sizeof s->note, "attention %s %dx%d%s",
             vt_mma_kinds[c.kind].name, t.queries, t.keys,
             c.emulated ? ", emulated" : "");
done:
    return st;
}
