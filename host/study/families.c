/*
 * families.c - configs of ViT, ResNet and hybrid in three sizes.
 */
#include "study/families.h"

#include <stdio.h>

enum { VIT, RESNET, HYBRID };
const char *const vt_family_names[] = {"vit", "resnet", "hybrid"};

/* Three stages after the stem, as ResNets here have, need multiples of 16. */
static uint32_t whole_side(const vt_experiment *e)
{
    return (vt_study_side(e) + 15) / 16 * 16;
}

static void put_resnet(vt_run *run, int size)
{
    static const char *const stages[] = {
        "\"layers\": [1, 1], \"channels\": [128, 256]",
        "\"layers\": [1, 1, 1], \"channels\": [128, 256, 512]",
        "\"layers\": [2, 2, 2], \"channels\": [128, 256, 512]"};

    snprintf(run->config, sizeof run->config,
             "{\"architecture\": \"resnetv2_50x1_bit\", \"model_args\": "
             "{\"img_size\": %u, %s, \"stem_chs\": 32}}\n",
             run->size, stages[size]);
}

/* A head is 16 wide in every size, as it is 64 wide in the paper's ViT-B and
 * ViT-L. The hybrid has a stem of stride 4 and one stage: as many tokens as
 * with patches of 4. */
static void put_transformer(vt_run *run, bool hybrid, int size)
{
    static const int widths[] = {32, 48, 64}, depths[] = {2, 3, 4};
    const int width = widths[size];

    snprintf(run->config, sizeof run->config,
             "{\"architecture\": \"%s\", \"model_args\": {\"img_size\": %u, "
             "\"patch_size\": %d, \"embed_dim\": %d, \"depth\": %d, "
             "\"num_heads\": %d, \"mlp_ratio\": 2}%s}\n",
             hybrid ? "vit_base_r50_s16_224" : "vit_tiny_patch16_224",
             run->size, hybrid ? 1 : 4, width,
             hybrid ? depths[size] - 1 : depths[size], width / 16,
             hybrid ? ", \"stem_width\": 32, \"stem_block\": \"basic\", "
                      "\"stem_layers\": [1], \"stem_widths\": [32]"
                    : "");
}

void vt_run_family(vt_run *run, const vt_experiment *e, int family, int size)
{
    run->size = whole_side(e);
    if (family == RESNET)
        put_resnet(run, size);
    else
        put_transformer(run, family == HYBRID, size);
}
