/*
 * init_finetune.c - prepare a trained model for other classes, as in the paper:
 * the whole head is replaced by a D x K layer of zeros, and position embeddings
 * are interpolated if the picture size changes (arXiv 2010.11929, 3.2).
 *
 * A timm checkpoint keeps its architecture and arguments. Hugging Face's and
 * Google's files are converted to timm's form of the same model.
 */
#include "base/json_print.h"
#include "base/memory.h"
#include "base/text.h"
#include "models/config.h"
#include "models/family.h"
#include "models/model.h"
#include "models/preprocess.h"
#include "train/model_files.h"

#include <string.h>

/* Tensors to drop: the old head, and what only pre-training uses. */
static bool goes(const char *name)
{
    static const char *const parts[] = {
        "head.",        "head_dist.",        "pre_logits.",         "pooler.",
        "text_model.",  "mask_token",        "text_projection",     "logit_",
        "position_ids", "visual_projection", "num_batches_tracked", "mpp_"};

    for (size_t i = 0; i < VT_COUNT(parts); i++)
        if (strncmp(name, parts[i], strlen(parts[i])) == 0)
            return true;
    return strstr(name, "relative_position_index") != NULL;
}

/* Whether a tensor holds positions for one grid, at the stem or in a block.
 * *axis: 'x' or 'y' for 2-D ones, else 0. */
static bool is_positions(const char *name, char *axis)
{
    const char *at = strstr(name, "pos_embed");

    *axis = 0;
    if (!at || (at != name && (strncmp(name, "blocks.", 7) || at[-1] != '.')))
        return false;
    if (at[9] == '_' && (at[10] == 'x' || at[10] == 'y') && !at[11])
        *axis = at[10];
    return !at[9] || *axis;
}

/* Hugging Face's DINOv2 with registers has a position for the class token,
 * timm's has none. Only their sum counts. */
static bool folds(const vt_config *c)
{
    return c->source != VT_SOURCE_TIMM && c->registers > 0 && c->class_token &&
           c->pos_prefix == 1;
}

static vt_tensor *tensor(vt_model_files *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->tensor[i].name, name) == 0)
            return &p->tensor[i];
    return NULL;
}

/* Adds the first position to the class token and drops it. */
static vitcl_status fold(vt_model_files *p)
{
    vt_tensor *token = tensor(p, "cls_token"), *pos = tensor(p, "pos_embed");
    float *to, *from;

    if (!token || !pos || pos->rank != 3 || pos->shape[1] < 2 ||
        pos->shape[2] != token->count)
        return vt_fail(VITCL_ECORRUPT,
                       "the class token and its position differ in width");
    to = (float *)(uintptr_t)token->data;
    from = (float *)(uintptr_t)pos->data;
    for (size_t i = 0; i < token->count; i++)
        to[i] += from[i];
    pos->shape[1]--;
    pos->count -= token->count;
    pos->size -= token->size;
    memmove(from, from + token->count, pos->size);
    return VITCL_OK;
}

static vitcl_status copy(vt_model_files *p, vt_model *m, int height, int width)
{
    const vt_config *c = vt_model_config(m);
    int gh = 0, gw = 0;
    const bool native = height == c->height && width == c->width_px;
    float *data;

    vt_config_grid(&gh, &gw, c, height, width);
    for (size_t i = 0; i < vt_weights_count(vt_model_weights(m)); i++) {
        const vt_weight *t = vt_weights_at(vt_model_weights(m), i);
        char name[64], axis;

        if (goes(t->name))
            continue;
        if (!native && is_positions(t->name, &axis)) {
            const uint64_t rows =
                (uint64_t)(axis == 'x'   ? gw
                           : axis == 'y' ? gh
                                         : c->pos_prefix + gh * gw);
            const uint64_t wide = (uint64_t)(axis ? c->width / 2 : c->width);
            const uint64_t shape[3] = {1, rows, wide};

            snprintf(name, sizeof name, "%.32s@%dx%d", t->name, gh, gw);
            VT_RET(vt_model_files_add(&data, p, t->name, axis ? 2 : 3,
                                      axis ? shape + 1 : shape));
            VT_RET(vt_model_read_param(data, m, name, rows * wide));
            continue;
        }
        VT_RET(vt_model_files_add(&data, p, t->name, t->rank, t->shape));
        VT_RET(vt_weight_f32(data, vt_model_weights(m), t));
    }
    if (folds(c))
        VT_RET(fold(p));
    return VITCL_OK;
}

static vitcl_status add_head(vt_model_files *p, const vt_config *c,
                             uint32_t classes)
{
    const uint64_t shape[4] = {classes, (uint64_t)c->width, 1, 1};
    float *zeros;

    if (c->family->conv_head) { /* a 1x1 convolution */
        VT_RET(vt_model_files_add(&zeros, p, "head.fc.weight", 4, shape));
        return vt_model_files_add(&zeros, p, "head.fc.bias", 1, shape);
    }
    VT_RET(vt_model_files_add(&zeros, p, "head.weight", 2, shape));
    VT_RET(vt_model_files_add(&zeros, p, "head.bias", 1, shape));
    if (c->dist_token) {
        VT_RET(vt_model_files_add(&zeros, p, "head_dist.weight", 2, shape));
        VT_RET(vt_model_files_add(&zeros, p, "head_dist.bias", 1, shape));
    }
    return VITCL_OK;
}

/* ---- config.json ---- */

/* timm's own arguments except the size. */
static vitcl_status keep_args(char **out, const vt_json *args, int height,
                              int width, bool native)
{
    vt_json_writer w = {.spaced = true};
    vt_text text;
    bool sized = !native;

    VT_RET(vt_text_open(&text));
    w.f = text.f;
    for (const vt_json *m = vt_json_first(args); m; m = vt_json_next(m)) {
        if (strcmp(vt_json_key(m), "img_size") == 0) {
            sized = true;
            continue;
        }
        if (strcmp(vt_json_key(m), "representation_size") == 0 ||
            strcmp(vt_json_key(m), "num_classes") == 0)
            continue; /* belongs to the old head */
        vt_json_put(&w, "%s:", vt_json_key(m));
        vt_json_print(vt_json_raw(&w), m);
    }
    if (sized)
        vt_json_put(&w, "img_size:[%d %d]", height, width);
    return vt_text_take(out, &text);
}

/* A hybrid's stem settings. */
static vitcl_status keep_stem(char **out, const vt_json *json)
{
    static const char *const keys[] = {"stem_width", "stem_layers",
                                       "stem_block", "stem_widths"};
    vt_json_writer w = {.spaced = true, .depth = 1};
    vt_text text;

    VT_RET(vt_text_open(&text));
    w.f = text.f;
    for (size_t i = 0; i < VT_COUNT(keys); i++) {
        const vt_json *m = vt_json_get(json, keys[i]);

        if (m) {
            vt_json_put(&w, "\n  %s:", keys[i]);
            vt_json_print(vt_json_raw(&w), m);
        }
    }
    return vt_text_take(out, &text);
}

bool vt_model_files_finetunes(const vt_model *m)
{
    const vt_config *c = vt_model_config(m);

    if (c->source == VT_SOURCE_TIMM)
        return true;
    return c->family->finetunes && !c->swiglu && !c->attn_pool &&
           !c->projection && c->patch_h == c->patch_w;
}

static vitcl_status describe(char **out, vt_model *m, int height, int width,
                             const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c = vt_model_config(m);
    const vt_json *json = vt_model_json(m);
    const bool no_embed_class =
        c->pos_embed &&
        (folds(c) || (c->pos_prefix == 0 && c->class_token + c->registers > 0));
    char *args = NULL, *stem = NULL;
    vt_timm_config t = {.height = height, .width = width};

    if (c->source == VT_SOURCE_TIMM) {
        const vt_json *cfg = vt_json_get(json, "pretrained_cfg");
        const bool resnet = c->family->conv_head;

        t.architecture = c->name;
        t.pool = c->attn_pool ? "map" : "token";
        vt_json_string(&t.pool, vt_json_get(json, "global_pool"));
        vt_json_number(&t.crop_pct, vt_json_get(cfg, "crop_pct"));
        if (resnet)
            t.first_conv = "stem.conv", t.classifier = "\"head.fc\"";
        VT_TRY(keep_args(&args, vt_json_get(json, "model_args"), height, width,
                         resnet || /* takes no img_size */
                             (height == c->height && width == c->width_px)));
        VT_TRY(keep_stem(&stem, json));
        t.more = stem;
    } else {
        t.architecture = vt_writing_of(c, no_embed_class)->timm;
        t.pool = vt_timm_pool(c);
        VT_TRY(
            vt_timm_args_new(&args, c, no_embed_class, height, width, c->name));
    }
    t.args = args;
    VT_TRY(vt_model_preprocess(&t.how, m, (uint32_t)height, (uint32_t)width));
    VT_TRY(vt_model_files_config(out, &t, d));
done:
    free(args);
    free(stem);
    return st;
}

vitcl_status vt_model_files_finetune(vt_model_files *out, vt_model *m,
                                     uint32_t height, uint32_t width,
                                     const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c = vt_model_config(m);
    uint32_t own_h, own_w;
    int h, w;
    vt_model_files p = {0};

    vt_model_input(&own_h, &own_w, m);
    h = (int)(height ? height : own_h);
    w = (int)(width ? width : own_w);

    VT_TRY(vt_model_trains(m));
    if (!vt_model_weights(m) || !vt_model_files_finetunes(m))
        return vt_fail(VITCL_EINVAL,
                       "this checkpoint cannot be written in timm's format; "
                       "convert it with vitcl convert --to timm first");
    if (!vt_model_tokens(m, h, w))
        return vt_fail(VITCL_EINVAL,
                       "pictures of %dx%d pixels are smaller than this "
                       "model's %dx%d patches",
                       h, w, c->patch_h, c->patch_w);
    VT_TRY(vt_model_whole(m, h, w));
    if ((c->rel_pos != VT_TABLE_NONE || c->pos_kind == VT_POS_RELATIVE) &&
        (h != c->height || w != c->width_px))
        return vt_fail(
            VITCL_EUNSUPPORTED,
            "a model with relative positions can be fine-tuned only at its "
            "own size, %dx%d",
            c->height, c->width_px);
    VT_TRY(describe(&p.config, m, h, w, d));
    VT_TRY(copy(&p, m, h, w));
    VT_TRY(add_head(&p, c, vt_dataset_classes(d)));
    *out = p, p = (vt_model_files){0};
done:
    vt_model_files_free(&p);
    return st;
}
