/*
 * arch_spec.h - an architecture to be trained from scratch, from a preset's
 * name or a config in timm's form.
 */
#ifndef VT_TRAIN_ARCH_SPEC_H
#define VT_TRAIN_ARCH_SPEC_H
#include "train/model_files.h"

typedef struct vt_arch_spec {
    char architecture[96];
    int height, width_px, patch_h, patch_w;
    int width, depth, heads, registers;
    double mlp_ratio, init_values;
    bool class_token, qkv_bias, qk_norm, no_embed_class;
    bool mean, fc_norm;
    bool no_positions;
    char block[12]; /* "" or a kind that config.h has */
    bool axial;     /* blocks attend to rows and columns in turn */
    vt_pos_kind positions;
    vt_pos_injection positions_at;
    int representation; /* width of the tanh layer before the head; 0: none */
    bool hybrid, resnet;
    bool basic; /* the stem's blocks: two 3x3 convolutions, no bottleneck */
    int stem_width, stages, layers[4], widths[4];
} vt_arch_spec;

/* Reads the name of a preset alone, such as "vit-ti/16". */
vitcl_status vt_arch_spec_preset(vt_arch_spec *out, const char *preset);
/* json NULL: use the preset. height or width 0: the spec's own. */
vitcl_status vt_arch_spec_read(vt_arch_spec *out, const char *preset,
                               const vt_json *json, const char *path,
                               uint32_t height, uint32_t width);
/* The stem's stride: pixels a side per pixel of its output. */
int vt_arch_spec_stride(const vt_arch_spec *c);
/* Fills in what the name of one of timm's BiT ResNets says; false: it is not
 * such a name. */
bool vt_arch_spec_resnet(vt_arch_spec *c);
/* The config.json of a model with this architecture; json: the config that was
 * read, or NULL. */
vitcl_status vt_arch_spec_config(char **out, const vt_arch_spec *c,
                                 const vt_json *json, const vt_dataset *d,
                                 const char *path);

#endif
