/*
 * attention_mma.c - attention on the matrix units of a GPU: an inference whose
 * activations are in f16 or bf16, and a training in bf16 (cl/attention_mma.cl),
 * and the training's gradients (cl/attention_grad_mma.cl).
 *
 * The unit is used if the trials have found its products and these kernels
 * right (host/units) and the plan does not ask for short ones (plain).
 */
#include "ops/attention.h"

#include "ops/attention_heads.h"

#include <stdio.h>

/* Are the rows in f32, as in a training, and rounded to bf16 on their way? */
static bool full(const vt_plan *p, const vt_step *s)
{
    return vt_plan_settings(p)->backward && vt_plan_type(p) == VT_BF16 &&
           vt_value_of(p, s->in[IN_Q])->dtype == VT_F32;
}

/* In which type it is computed: VT_F32, not on the unit. */
static vt_dtype type_of(const vt_plan *p, const vt_step *s)
{
    return full(p, s) ? VT_BF16 : vt_value_of(p, s->in[IN_Q])->dtype;
}

/* A training's forward has its trial with its gradients. */
static vt_mma_choice choice(const vt_plan *p, const vt_step *s)
{
    vt_dev *dev = vt_plan_settings(p)->dev;

    return full(p, s) ? vt_mma_ask_gradient(dev)
                      : vt_mma_ask_attention(dev, type_of(p, s));
}

static vt_mma_heads heads_of(const vt_plan *p, const vt_step *s,
                             vt_mma_choice c, const vt_attention_sizes *z)
{
    return vt_mma_heads_of(vt_plan_settings(p)->dev, c, z->D, z->Tq,
                           s->in[IN_BIAS] != VT_NONE, full(p, s));
}

bool vt_attention_mma_takes(vt_plan *p, const vt_step *s,
                            const vt_attention_sizes *z)
{
    vt_dev *dev = vt_plan_settings(p)->dev;
    const vt_dtype type = type_of(p, s);
    vt_mma_choice c;
    vt_mma_heads h;

    if ((type != VT_F16 && type != VT_BF16) || !vt_mma_heads_take(z->D) ||
        s->f[F_SCALE] <= 0.0f || vt_product_plain(vt_plan_gemm(p)) ||
        vt_value_of(p, s->in[IN_KV])->dtype !=
            vt_value_of(p, s->in[IN_Q])->dtype ||
        !vt_op_aligned(p, s->in[IN_Q]) || !vt_op_aligned(p, s->in[IN_KV]))
        return false;
    c = choice(p, s);
    if (full(p, s) ? !vt_mma_gradient_takes(c, z->D)
                   : c.kind == VT_MMA_NONE || z->D > vt_mma_kinds[c.kind].heads)
        return false;
    h = heads_of(p, s, c, z);
    return vt_dev_group_max(dev) >= h.items &&
           vt_dev_info(dev)->local_bytes >= h.local_bytes;
}

/* Are 16 bytes of a row stored at once? With other heads sm_80 could hold fewer
 * work-groups, or would spill. */
static bool wide_rows(vt_plan *p, const vt_step *s, vt_mma_choice c, int D)
{
    const vt_val y = s->out[OUT_Y];

    return vt_mma_nvidia(c.kind) && D >= 48 && D <= 80 && !full(p, s) &&
           vt_value_of(p, y)->dtype == type_of(p, s) && vt_op_aligned(p, y);
}

vitcl_status vt_attention_mma(vt_plan *p, vt_step *s,
                              const vt_attention_sizes *z)
{
    const vt_mma_choice c = choice(p, s);
    const vt_mma_heads h = heads_of(p, s, c, z);
    char common[96], defines[240];
    vt_attention_defines more;
    vt_op_define y;
    vt_kernel *k;

    vt_attention_define(more, p, s, z);
    vt_mma_heads_define(common, sizeof common, &h, c, type_of(p, s), z->D);
    snprintf(defines, sizeof defines, "%s%s%s%s", common, more,
             vt_op_stored(y, p, "YT", s->out[OUT_Y]),
             wide_rows(p, s, c, z->D) ? " -DWIDE_Y" : "");
    VT_RET(vt_step_kernel(&k, p, s, "attention_mma", "attention_mma", defines));
    VT_RET(vt_args(p, k, "v", s->out[OUT_Y]));
    VT_RET(vt_attention_arguments(p, k, 1, s, z));
    vt_kernel_size(k, 1,
                   (size_t[3]){vt_mma_heads_items(&h, z->Tq, z->H * z->B)},
                   (size_t[3]){h.items});
    vt_kernel_work(k, s->op->macs(p, s));
    snprintf(s->note, sizeof s->note, "attention %s %dx%d%s",
             vt_mma_kinds[c.kind].name, h.queries, h.keys,
             c.emulated ? ", emulated" : "");
    return VITCL_OK;
}

/* ---- gradients ---- */

bool vt_attention_grad_mma_takes(vt_plan *p, const vt_step *s,
                                 const vt_attention_sizes *z)
{
    vt_dev *dev = vt_plan_settings(p)->dev;
    vt_mma_choice c;
    vt_mma_heads h;

    if (vt_plan_type(p) != VT_BF16 || !vt_mma_heads_take(z->D) ||
        s->f[F_SCALE] <= 0.0f || vt_product_plain(vt_plan_gemm(p)))
        return false;
    c = vt_mma_ask_gradient(dev);
    if (!vt_mma_gradient_takes(c, z->D))
        return false;
    h = vt_mma_gradient_of(c, z->D);
    return vt_dev_group_max(dev) >= h.items &&
           vt_dev_info(dev)->local_bytes >= h.local_bytes;
}

void vt_attention_grad_mma(vt_attention_tiles *t, vt_plan *p, vt_step *s,
                           const vt_attention_sizes *z)
{
    const vt_mma_choice c = vt_mma_ask_gradient(vt_plan_settings(p)->dev);
    const vt_mma_heads h = vt_mma_gradient_of(c, z->D);

    *t = (vt_attention_tiles){.file = "attention_grad_mma",
                              .q = "attention_grad_mma__q",
                              .kv = "attention_grad_mma__kv",
                              .rows = (size_t)h.queries,
                              .items = h.items,
                              .each = vt_mma_gradient_groups(c)};
    vt_mma_heads_define(t->defines, sizeof t->defines, &h, c, VT_BF16, z->D);
    snprintf(s->note, sizeof s->note, "attention %s %dx%d%s",
             vt_mma_kinds[c.kind].name, h.queries, h.keys,
             c.emulated ? ", emulated" : "");
}
