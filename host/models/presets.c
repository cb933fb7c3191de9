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

static const vt_preset_size sizes[] = {
    {"vit-ti", "_tiny_", 192, 12, 3},  {"vit-s", "_small_", 384, 12, 6},
    {"vit-b", "_base_", 768, 12, 12},  {"vit-l", "_large_", 1024, 24, 16},
    {"vit-h", "_huge_", 1280, 32, 16},
};

static const char *const names[] = {
    "vit-ti/16", "vit-s/16", "vit-b/32", "vit-b/16",
    "vit-l/32",  "vit-l/16", "vit-h/14",
};

const char *vt_model_preset_name(uint32_t index)
{
    return index < VT_COUNT(names) ? names[index] : NULL;
}

const vt_preset_size *vt_preset_size_at(uint32_t index)
{
    return index < VT_COUNT(sizes) ? &sizes[index] : NULL;
}

static vitcl_status unknown(const char *name)
{
    char list[128] = "";

    for (size_t i = 0; i < VT_COUNT(names); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i ? ", " : "", names[i]);
    return vt_fail(VITCL_EINVAL,
                   "unknown preset \"%s\"; the presets are %s, and those with "
                   "another patch size",
                   name, list);
}

vitcl_status vt_preset_read(const vt_preset_size **out, int *patch,
                            const char *name)
{
    enum { PATCH_MOST = 64 };

    for (size_t i = 0; i < VT_COUNT(sizes); i++) {
        const size_t n = strlen(sizes[i].name);
        int end = 0;

        if (strncmp(name, sizes[i].name, n) == 0 && name[n] == '/' &&
            name[n + 1] >= '1' && name[n + 1] <= '9' &&
            sscanf(name + n + 1, "%2d%n", patch, &end) == 1 &&
            !name[n + 1 + (size_t)end] && *patch <= PATCH_MOST) {
            *out = &sizes[i];
            return VITCL_OK;
        }
    }
    return unknown(name);
}

vitcl_status vt_model_preset(vt_model **out, const char *name, uint32_t size)
{
    vitcl_status st = VITCL_OK;
    const vt_preset_size *p = NULL;
    vt_model *m = NULL;
    int patch = 0;

    if (size == 0)
        size = 224;
    VT_TRY(vt_preset_read(&p, &patch, name));
    if (size > 4096 || size % (uint32_t)patch)
        return vt_fail(VITCL_EINVAL,
                       "%s: %u pixels are no multiple of its patch, %d, up to "
                       "4096",
                       name, size, patch);
    VT_TRY(VT_NEW(&m, 1));
    m->config = (vt_config){
        .height = (int)size,
        .width_px = (int)size,
        .patch_h = patch,
        .patch_w = patch,
        .width = p->width,
        .depth = p->depth,
        .heads = p->heads,
        .mlp = 4 * p->width,
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
