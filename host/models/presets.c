/*
 * presets.c - the paper's models by name, with random weights.
 *
 * For plans, counts and benchmarks; their results are meaningless. Sizes are
 * those of the paper's table 1 and of big_vision's Ti and S.
 */
#include "base/memory.h"
#include "models/derived.h"
#include "models/model_private.h"
#include "models/vit.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int width, depth, heads, mlp, patch;
} presets[] = {
    {"vit-ti/16", 192, 12, 3, 768, 16},   {"vit-s/16", 384, 12, 6, 1536, 16},
    {"vit-b/32", 768, 12, 12, 3072, 32},  {"vit-b/16", 768, 12, 12, 3072, 16},
    {"vit-l/32", 1024, 24, 16, 4096, 32}, {"vit-l/16", 1024, 24, 16, 4096, 16},
    {"vit-h/14", 1280, 32, 16, 5120, 14},
};

const char *vt_model_preset_name(uint32_t index)
{
    return index < VT_COUNT(presets) ? presets[index].name : NULL;
}

static vitcl_status unknown(const char *name)
{
    char list[128] = "";

    for (size_t i = 0; i < VT_COUNT(presets); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i ? ", " : "", presets[i].name);
    return vt_fail(VITCL_EINVAL, "unknown preset \"%s\"; the presets are %s",
                   name, list);
}

vitcl_status vt_model_preset(vt_model **out, const char *name, uint32_t size)
{
    vitcl_status st = VITCL_OK;
    vt_model *m = NULL;
    size_t i = 0;

    if (size == 0)
        size = 224;
    while (i < VT_COUNT(presets) && strcmp(presets[i].name, name) != 0)
        i++;
    if (i == VT_COUNT(presets))
        return unknown(name);
    if (size > 4096 || size % (uint32_t)presets[i].patch)
        return vt_fail(VITCL_EINVAL,
                       "%s: %u pixels are no multiple of its patch, %d, up to "
                       "4096",
                       name, size, presets[i].patch);
    VT_TRY(VT_NEW(&m, 1));
    m->config = (vt_config){
        .height = (int)size,
        .width_px = (int)size,
        .patch_h = presets[i].patch,
        .patch_w = presets[i].patch,
        .width = presets[i].width,
        .depth = presets[i].depth,
        .heads = presets[i].heads,
        .mlp = presets[i].mlp,
        .classes = 1000,
        .eps = 1e-6f,
        .act = VT_ACT_GELU,
        .class_token = true,
        .pos_embed = true,
        .pos_prefix = 1,
        .patch_bias = true,
        .qkv_bias = true,
        .proj_bias = true,
        .fc_bias = true,
        .final_norm = true,
        .head_bias = true,
        .pool = VT_POOL_TOKEN,
    };
    snprintf(m->config.family, sizeof m->config.family, "vit");
    snprintf(m->config.name, sizeof m->config.name, "%s", name);
    m->arch = vt_arch_find("vit");
    m->type = "preset";
    VT_TRY(vt_strdup(&m->path, name));
    VT_TRY(vt_model_check(m));
    *out = m, m = NULL;
done:
    vt_model_close(m);
    return st;
}
