/*
 * shapes.c - the sizes that a model's name says: timm's names, and those of the
 * paper, which are presets.
 *
 * Sizes are those of the paper's table 1 and of big_vision's Ti and S. A hybrid
 * "/32" has the four stages of its ResNet. At "/16" the layers of stage 4 are
 * in stage 3 (section 3.1), so that there are four times as many tokens.
 */
#include "base/memory.h"
#include "models/model_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *timm;
    int width, depth, heads;
} sizes[] = {
    {"ti", "_tiny_", 192, 12, 3},  {"s", "_small_", 384, 12, 6},
    {"b", "_base_", 768, 12, 12},  {"l", "_large_", 1024, 24, 16},
    {"h", "_huge_", 1280, 32, 16},
};

/* The stems of hybrids. patch: on the stem's output. */
static const struct {
    const char *name, *word, *tail; /* tail: between the word and the size */
    int total, layers[4], stages, patch;
} stems[] = {
    {"r+", "_r_s16_", "p8_", 16, {0}, 0, 8},
    {"r26+", "_r26_s32_", "", 32, {2, 2, 2, 2}, 4, 1},
    {"r50+", "_r50_s16_", "", 16, {3, 4, 9}, 3, 1},
    {"r50+", "_r50_s32_", "", 32, {3, 4, 6, 3}, 4, 1},
};

static const int stage_widths[] = {VT_STAGE_WIDTH, 512, 1024, 2048};

bool vt_shape_resnet(vt_shape *out, const char *timm)
{
    static const struct {
        int depth, layers[4];
    } nets[] = {{50, {3, 4, 6, 3}},
                {101, {3, 4, 23, 3}},
                {152, {3, 8, 36, 3}},
                {200, {3, 24, 36, 3}}};
    int depth = 0, wide = 0, used = 0;

    if (sscanf(timm, "resnetv2_%4dx%1d_bit%n", &depth, &wide, &used) != 2 ||
        used == 0 || wide < 1)
        return false;
    for (size_t i = 0; i < VT_COUNT(nets); i++)
        if (nets[i].depth == depth) {
            *out = (vt_shape){.size = 224,
                              .patch = 1,
                              .resnet = true,
                              .stem_width = 64 * wide,
                              .stages = 4};
            memcpy(out->layers, nets[i].layers, sizeof out->layers);
            for (int k = 0; k < 4; k++)
                out->widths[k] = stage_widths[k] * wide;
            return true;
        }
    return false;
}

void vt_shape_vit(vt_shape *out, const char *timm)
{
    const char *at = strstr(timm, "_patch");
    vt_shape s = {
        .size = 224, .patch = 16, .width = 768, .depth = 12, .heads = 12};

    for (size_t i = 0; i < VT_COUNT(sizes); i++)
        if (strstr(timm, sizes[i].timm))
            s.width = sizes[i].width, s.depth = sizes[i].depth,
            s.heads = sizes[i].heads;
    if (at)
        sscanf(at, "_patch%4d", &s.patch);
    for (size_t i = 0; i < VT_COUNT(stems); i++)
        if (strstr(timm, stems[i].word)) {
            s.hybrid = true;
            s.stem_width = 64;
            s.stages = stems[i].stages;
            memcpy(s.layers, stems[i].layers, sizeof s.layers);
            memcpy(s.widths, stage_widths, sizeof s.widths);
            s.patch = stems[i].patch;
        }
    at = strrchr(timm, '_');
    if (at)
        sscanf(at, "_%4d", &s.size);
    *out = s;
}

/* ---- presets ---- */

/* A number of 1 to 4 digits that ends with `end`. */
static const char *number(int *out, const char *text, char end)
{
    int used = 0;

    if (text[0] < '1' || text[0] > '9' ||
        sscanf(text, "%4d%n", out, &used) != 1 || text[used] != end)
        return NULL;
    return text + used;
}

/* The paper's "ViT-B/16", "R50+ViT-B/16" and "R50+B/16". */
static bool paper_vit(char timm[96], const char *name)
{
    const char *plus = strchr(name, '+'), *rest = plus ? plus + 1 : name;
    const size_t stem = plus ? (size_t)(plus + 1 - name) : 0;
    size_t i = 0, n = 0;
    int patch;

    if (strncasecmp(rest, "vit-", 4) == 0)
        rest += 4;
    else if (!plus)
        return false;
    for (; i < VT_COUNT(sizes); i++) {
        n = strlen(sizes[i].name);
        if (strncasecmp(rest, sizes[i].name, n) == 0 && rest[n] == '/')
            break;
    }
    if (i == VT_COUNT(sizes) || !number(&patch, rest + n + 1, 0))
        return false;
    if (!plus && patch <= 64) {
        snprintf(timm, 96, "vit%spatch%d_224", sizes[i].timm, patch);
        return true;
    }
    for (size_t k = 0; plus && k < VT_COUNT(stems); k++)
        if (strlen(stems[k].name) == stem && stems[k].total == patch &&
            strncasecmp(name, stems[k].name, stem) == 0) {
            snprintf(timm, 96, "vit%s%s%s224", sizes[i].timm, stems[k].word + 1,
                     stems[k].tail);
            return true;
        }
    return false;
}

/* The paper's "ResNet50x1" and BiT's "R50x1". */
/* "Axial-ViT-B/16": two blocks in place of each of the ViT's. */
static bool paper_axial(vt_shape *out, char timm[96], const char *name)
{
    if (strncasecmp(name, "axial-vit-", 10) != 0 || !paper_vit(timm, name + 6))
        return false;
    vt_shape_vit(out, timm);
    out->axial = true;
    out->depth *= 2;
    return true;
}

static bool paper_resnet(char timm[96], const char *name)
{
    int depth, wide;

    if (name[0] != 'r' && name[0] != 'R')
        return false;
    name += strncasecmp(name, "resnet", 6) == 0 ? 6 : 1;
    name = number(&depth, name, 'x');
    if (!name || !number(&wide, name + 1, 0))
        return false;
    snprintf(timm, 96, "resnetv2_%dx%d_bit", depth, wide);
    return true;
}

/* Exactly timm's name, without words that vt_shape_vit() passes over. */
static bool timm_vit(char timm[96], const char *name)
{
    const char *rest;
    int patch = 0, size = 0;

    for (size_t i = 0; strncmp(name, "vit", 3) == 0 && i < VT_COUNT(sizes);
         i++) {
        const size_t n = strlen(sizes[i].timm);

        if (strncmp(name + 3, sizes[i].timm, n) != 0)
            continue;
        snprintf(timm, 96, "%s", name);
        rest = name + 3 + n;
        if (strncmp(rest, "patch", 5) == 0)
            return (rest = number(&patch, rest + 5, '_')) && patch <= 64 &&
                   number(&size, rest + 1, 0);
        for (size_t k = 0; k < VT_COUNT(stems); k++) {
            const char *word = stems[k].word + 1, *tail = stems[k].tail;

            if (strncmp(rest, word, strlen(word)) == 0 &&
                strncmp(rest + strlen(word), tail, strlen(tail)) == 0)
                return number(&size, rest + strlen(word) + strlen(tail), 0) !=
                       NULL;
        }
    }
    return false;
}

bool vt_preset_shape(vt_shape *out, char timm[96], const char *name)
{
    if (strlen(name) < 64) {
        if (paper_axial(out, timm, name))
            return true;
        if (paper_vit(timm, name) || timm_vit(timm, name)) {
            vt_shape_vit(out, timm);
            return true;
        }
        if (!paper_resnet(timm, name))
            snprintf(timm, 96, "%s", name);
        return vt_shape_resnet(out, timm) &&
               strcmp(timm + strlen(timm) - 4, "_bit") == 0;
    }
    return false;
}
