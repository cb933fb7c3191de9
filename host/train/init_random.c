/*
 * init_random.c - an untrained model: random tensors for a preset or a config
 * in timm's form, with timm's distributions.
 *
 *   dense layers          normal, standard deviation 0.02; biases 0
 *   patch embedding       uniform, +- 1 / sqrt(inputs), bias too (PyTorch's)
 *   stem convolutions     normal, sqrt(2 / outputs); the last norm of each
 *                         block is 0, so that a block starts as its shortcut
 *   positions             normal, 0.02, all kinds; class token and registers
 *                         1e-6
 *   ResNet                convolutions as in the stem, head normal, 0.01, and
 *                         no norm starts at 0 (timm's BiT models)
 *   norms                 weight 1, bias 0
 *
 * A parameter's values are a function of the random state and its name.
 */
#include "base/memory.h"
#include "base/random.h"
#include "data/mask.h"
#include "train/arch_spec.h"

#include <math.h>
#include <string.h>

typedef struct maker {
    const vt_arch_spec *c;
    vt_model_files *p;
    uint64_t random_state;
    uint32_t classes;
    vitcl_status st;
} maker;

/* ---- tensors ---- */

typedef enum { ZEROS, ONES, NORMAL, UNIFORM, TINY, VALUE } draw;

static void fill(float *x, size_t n, draw how, double scale, vt_random *r)
{
    for (size_t i = 0; i < n; i++)
        switch (how) {
        case ZEROS:
            return;
        case ONES:
            x[i] = 1;
            break;
        case NORMAL:
        case TINY:
            x[i] = (float)(scale * vt_random_normal(r));
            break;
        case UNIFORM:
            x[i] = (float)(scale * (2 * vt_random_uniform(r) - 1));
            break;
        case VALUE:
            x[i] = (float)scale;
        }
}

static void add(maker *m, const char *name, draw how, double scale, int rank,
                const int *dim)
{
    uint64_t shape[4], key = 0xcbf29ce484222325u;
    float *data;
    vt_random r;

    if (m->st != VITCL_OK)
        return;
    for (int i = 0; i < rank; i++)
        shape[i] = (uint64_t)dim[i];
    for (const char *s = name; *s; s++)
        key = (key ^ (unsigned char)*s) * 0x100000001b3u;
    r = vt_random_new(m->random_state, key, 0);
    m->st = vt_model_files_add(&data, m->p, name, (uint32_t)rank, shape);
    if (m->st == VITCL_OK)
        fill(data, m->p->tensor[m->p->count - 1].count, how, scale, &r);
}

static void add_norm(maker *m, const char *prefix, int width, bool zero)
{
    char name[112];

    snprintf(name, sizeof name, "%s.weight", prefix);
    add(m, name, zero ? ZEROS : ONES, 0, 1, &width);
    snprintf(name, sizeof name, "%s.bias", prefix);
    add(m, name, ZEROS, 0, 1, &width);
}

static void add_dense(maker *m, const char *prefix, int out, int in, bool bias)
{
    char name[112];

    snprintf(name, sizeof name, "%s.weight", prefix);
    add(m, name, NORMAL, 0.02, 2, (int[]){out, in});
    snprintf(name, sizeof name, "%s.bias", prefix);
    if (bias)
        add(m, name, ZEROS, 0, 1, &out);
}

static void add_conv(maker *m, const char *prefix, int out, int in, int side)
{
    char name[112];

    snprintf(name, sizeof name, "%s.weight", prefix);
    add(m, name, NORMAL, sqrt(2.0 / (out * side * side)), 4,
        (int[]){out, in, side, side});
}

static void add_stem(maker *m)
{
    const vt_arch_spec *c = m->c;
    static const char root[] = "patch_embed.backbone.";
    char part[80], name[96];
    int in = c->stem_width;

#define NAME(tail) (snprintf(name, sizeof name, "%s%s", part, tail), name)
    snprintf(part, sizeof part, "%s%s", root, c->stages ? "stem." : "");
    add_conv(m, NAME("conv"), c->stem_width, 3, 7);
    add_norm(m, NAME("norm"), c->stem_width, false);
    for (int s = 0; s < c->stages; s++)
        for (int b = 0; b < c->layers[s]; b++, in = c->widths[s]) {
            const int out = c->widths[s], middle = out / 4;

            snprintf(part, sizeof part, "%sstages.%d.blocks.%d.", root, s, b);
            if (b == 0) {
                add_conv(m, NAME("downsample.conv"), out, in, 1);
                add_norm(m, NAME("downsample.norm"), out, false);
            }
            if (c->basic) {
                add_conv(m, NAME("conv1"), out, in, 3);
                add_norm(m, NAME("norm1"), out, false);
                add_conv(m, NAME("conv2"), out, out, 3);
                add_norm(m, NAME("norm2"), out, true);
                continue;
            }
            add_conv(m, NAME("conv1"), middle, in, 1);
            add_norm(m, NAME("norm1"), middle, false);
            add_conv(m, NAME("conv2"), middle, middle, 3);
            add_norm(m, NAME("norm2"), middle, false);
            add_conv(m, NAME("conv3"), out, middle, 1);
            add_norm(m, NAME("norm3"), out, true);
        }
#undef NAME
}

/* pre-activation: a norm before each convolution */
static void add_resnet(maker *m)
{
    const vt_arch_spec *c = m->c;
    char part[64], name[96];
    int in = c->stem_width;

#define NAME(tail) (snprintf(name, sizeof name, "%s%s", part, tail), name)
    add_conv(m, "stem.conv", in, 3, 7);
    for (int s = 0; s < c->stages; s++)
        for (int b = 0; b < c->layers[s]; b++, in = c->widths[s]) {
            const int out = c->widths[s], middle = out / 4;

            snprintf(part, sizeof part, "stages.%d.blocks.%d.", s, b);
            if (b == 0)
                add_conv(m, NAME("downsample.conv"), out, in, 1);
            add_norm(m, NAME("norm1"), in, false);
            add_conv(m, NAME("conv1"), middle, in, 1);
            add_norm(m, NAME("norm2"), middle, false);
            add_conv(m, NAME("conv2"), middle, middle, 3);
            add_norm(m, NAME("norm3"), middle, false);
            add_conv(m, NAME("conv3"), out, middle, 1);
        }
#undef NAME
    add_norm(m, "norm", in, false);
    if (!m->classes)
        return;
    add(m, "head.fc.weight", NORMAL, 0.01, 4,
        (int[]){(int)m->classes, in, 1, 1});
    add(m, "head.fc.bias", ZEROS, 0, 1, (int[]){(int)m->classes});
}

/* The position tables of the stem ("") or of one block ("blocks.3."). */
static void add_places(maker *m, const char *prefix)
{
    const vt_arch_spec *c = m->c;
    const int step = vt_arch_spec_stride(c),
              tokens = c->class_token + c->registers;
    const int gh = c->height / (c->patch_h * step),
              gw = c->width_px / (c->patch_w * step);
    char name[64];

    if (c->no_positions)
        return;
#define NAME(tail) (snprintf(name, sizeof name, "%s" tail, prefix), name)
    switch (c->positions) {
    case VT_POS_1D:
        add(m, NAME("pos_embed"), NORMAL, 0.02, 3,
            (int[]){1, gh * gw + (c->no_embed_class ? 0 : tokens), c->width});
        break;
    case VT_POS_2D:
        add(m, NAME("pos_embed_x"), NORMAL, 0.02, 2, (int[]){gw, c->width / 2});
        add(m, NAME("pos_embed_y"), NORMAL, 0.02, 2, (int[]){gh, c->width / 2});
        break;
    case VT_POS_RELATIVE:
        snprintf(name, sizeof name, "%s%srel_pos_keys", prefix,
                 prefix[0] ? "attn." : "");
        add(m, name, NORMAL, 0.02, 2,
            (int[]){2 * gh * gw - 1 + (tokens ? 3 : 0), c->width});
    }
#undef NAME
}

static void add_embedding(maker *m)
{
    const vt_arch_spec *c = m->c;
    int in = c->hybrid ? c->stem_width : 3;
    double bound;

    if (c->class_token)
        add(m, "cls_token", TINY, 1e-6, 3, (int[]){1, 1, c->width});
    if (c->registers)
        add(m, "reg_token", TINY, 1e-6, 3, (int[]){1, c->registers, c->width});
    if (c->positions_at != VT_AT_LAYERS)
        add_places(m, "");
    if (c->hybrid)
        add_stem(m);
    if (c->hybrid && c->stages)
        in = c->widths[c->stages - 1];
    bound = 1 / sqrt((double)in * c->patch_h * c->patch_w);
    add(m, "patch_embed.proj.weight", UNIFORM, bound, 4,
        (int[]){c->width, in, c->patch_h, c->patch_w});
    add(m, "patch_embed.proj.bias", UNIFORM, bound, 1, &c->width);
}

static void add_block(maker *m, int i)
{
    const vt_arch_spec *c = m->c;
    const int D = c->width, mlp = (int)(D * c->mlp_ratio);
    char name[96];

#define NAME(tail) (snprintf(name, sizeof name, "blocks.%d.%s", i, tail), name)
    if (c->positions_at == VT_AT_LAYERS)
        add_places(m, NAME(""));
    add_norm(m, NAME("norm1"), D, false);
    add_dense(m, NAME("attn.qkv"), 3 * D, D, c->qkv_bias);
    if (c->qk_norm) {
        add_norm(m, NAME("attn.q_norm"), D / c->heads, false);
        add_norm(m, NAME("attn.k_norm"), D / c->heads, false);
    }
    add_dense(m, NAME("attn.proj"), D, D, true);
    if (c->init_values > 0)
        add(m, NAME("ls1.gamma"), VALUE, c->init_values, 1, &D);
    add_norm(m, NAME("norm2"), D, false);
    add_dense(m, NAME("mlp.fc1"), mlp, D, true);
    add_dense(m, NAME("mlp.fc2"), D, mlp, true);
    if (c->init_values > 0)
        add(m, NAME("ls2.gamma"), VALUE, c->init_values, 1, &D);
#undef NAME
}

static vitcl_status add_all(vt_model_files *p, const vt_arch_spec *c,
                            uint32_t classes, uint64_t random_state)
{
    maker m = {c, p, random_state, classes, VITCL_OK};
    const int wide = c->representation ? c->representation : c->width;

    if (c->resnet) {
        add_resnet(&m);
        return m.st;
    }
    add_embedding(&m);
    for (int i = 0; i < c->depth; i++)
        add_block(&m, i);
    add_norm(&m, c->fc_norm ? "fc_norm" : "norm", c->width, false);
    if (c->representation)
        add_dense(&m, "pre_logits.fc", wide, c->width, true);
    if (classes) {
        add_dense(&m, "head", (int)classes, wide, true);
    } else {
        add(&m, "mpp_mask", NORMAL, 0.02, 3, (int[]){1, 1, c->width});
        add_dense(&m, "mpp_head", VT_COLOURS, c->width, true);
    }
    return m.st;
}

vitcl_status vt_model_files_random(vt_model_files *out, const char *preset,
                                   const vt_json *json, const char *path,
                                   uint32_t height, uint32_t width,
                                   const vt_dataset *d, uint64_t random_state)
{
    vitcl_status st = VITCL_OK;
    vt_arch_spec c;
    vt_model_files p = {0};

    VT_TRY(vt_arch_spec_read(&c, preset, json, path, height, width));
    VT_TRY(vt_arch_spec_config(&p.config, &c, json, d, path));
    VT_TRY(add_all(&p, &c, d ? vt_dataset_classes(d) : 0, random_state));
    *out = p, p = (vt_model_files){0};
done:
    vt_model_files_free(&p);
    return st;
}
