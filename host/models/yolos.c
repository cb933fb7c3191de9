/*
 * yolos.c - the backbone of YOLOS (Fang et al. 2021, arXiv:2106.00666), with
 * HF's names: a ViT with detection tokens. The layers that make boxes of them
 * are not read.
 *
 * Easy to get wrong:
 *   - in the file the detection tokens and their positions come behind the
 *     patches. Here they are behind the class token, as registers are: the
 *     order of tokens changes nothing else
 *   - large models add positions behind each block but the last, too
 *   - both tables are resized to any picture; the trained one is not square
 */
#include "base/memory.h"
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <stdio.h>
#include <string.h>

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    VT_RET(vt_configure_hf(c, config, w, path));
    c->tokens_last = true;
    if (c->pos_prefix != 1 + c->registers)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the positions are not of %d detection tokens", path,
                       c->registers);
    if (c->said.between && c->depth > 1)
        c->pos_injection = VT_AT_BETWEEN;
    return VITCL_OK;
}

/* x plus the positions behind block i. */
static vt_val between(vt_plan *p, const vt_config *c, int i, vt_val x,
                      const vt_block_extra *e)
{
    char name[48];

    snprintf(name, sizeof name, "mid_pos_embed.%d@%dx%d", i, e->gh, e->gw);
    return vt_add_rows(
        p, x,
        vt_param(p, name, 2,
                 (int[]){1 + c->registers + e->gh * e->gw, c->width}));
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    vt_block_extra e = vt_vit_grid(p, m, pixels);
    vt_val x = vt_vit_stem(p, m, pixels, e.gh, e.gw, o);

    for (int i = 0; i < c->depth; i++) {
        e.rows = vt_vit_block_rows(p, c, i);
        x = vt_vit_block(p, c, i, x, e, o);
        if (c->pos_injection == VT_AT_BETWEEN && i + 1 < c->depth)
            x = between(p, c, i, x, &e);
    }
    vt_vit_head(p, m, x, o, out);
}

static const vt_field fields[] = {
    VT_HF_PLAIN,
    SAME("qkv_bias", qkv_bias, true),
    COUNT("num_detection_tokens", said.registers, VT_MOST_WIDTH, 100),
    FLAG("use_mid_position_embeddings", said.between, true),
    END,
};
static const vt_keys keys = {
    fields,
    VT_HF_DROPOUT "auxiliary_loss|class_cost|bbox_cost|giou_cost|"
                  "bbox_loss_coefficient|giou_loss_coefficient|eos_coefficient",
    NULL};

static const vt_hf_class classes[] = {
    {.types = "yolos",
     .processor = "Yolos",
     .keys = &keys,
     .eps = 1e-12f,
     .act = VT_ACT_GELU,
     .height = 512,
     .width = 864},
    {.types = NULL},
};

/* More tokens, and positions behind each block. */
static const vt_row names[] = {
    AS("embeddings.detection_tokens", "reg_token"),
    AS("encoder.mid_position_embeddings", "mid_pos_embed"),
    DROP("class_labels_classifier.*"),
    DROP("bbox_predictor.*"),
    END_ROWS,
};

const vt_family vt_family_yolos = {
    .processors = {{"Yolos", .filter = VT_BILINEAR, .number_shortest = true,
                    .mean = vt_imagenet_mean, .std = vt_imagenet_std}},
    .names.rows = {[VT_NAMES_HF] = ROWS(names)},
    .name = "yolos",
    .looks = "YOLOS",
    .hf = classes,
    .configure = configure,
    .build = build,
};
