/*
 * family.h - the record by which a family's file says all that others must know
 * of it.
 *
 * Nobody compares a family's name. What is asked about one is a member here: a
 * new question is a new member, and its answer is in the families' files.
 */
#ifndef VT_MODELS_FAMILY_H
#define VT_MODELS_FAMILY_H
#include "image/image.h"
#include "models/model.h"
#include "weights/dialects.h"

/* A text tower of Hugging Face, and the defaults of its class. */
typedef struct vt_text_class {
    bool sigmoid; /* trained with one for each text; else tokens do not attend
                   * to those behind them */
    bool two_is_highest; /* eos_token_id 2 is no number: VT_END_HIGHEST */
    int width, mlp, heads, context, vocabulary;
    vt_act act;
    float eps;
    vt_end_kind end_kind;
    float logit_scale, logit_bias; /* if the file has none */
    const char *projection; /* the key of its width; NULL: of both towers' */
} vt_text_class;

extern const vt_text_class vt_siglip_text; /* NaFlex's, too */

/* A class of Hugging Face, or several that differ in nothing here. */
typedef struct vt_hf_class {
    const char *types;          /* model_types, separated by "|" */
    const struct vt_keys *keys; /* see fields.h */
    const char *processor;      /* if its files name none */
    /* They are of two towers: with "_vision_model" behind it a type is of the
     * picture tower alone, with "_text_model" of the text tower. */
    bool towers;
    bool dict;                 /* the older spelling, vision_config_dict */
    const vt_text_class *text; /* NULL: none that is supported ... */
    const char *other;         /* ... which is then this */
    /* defaults; 0: those of most classes, 12 and 224 */
    float eps;
    vt_act act;
    int depth, heads, height, width;
    bool no_class_token, dist_token;
} vt_hf_class;

/* How timm and Hugging Face have a model of this kind, also one that another
 * library had in another family. */
typedef struct vt_writing {
    /* timm's constructor, what it has without arguments, and ... */
    const char *timm;
    const struct vt_writing *bare; /* timm's, if positions have no rows for
                                    * prefix tokens; NULL: this one */
    bool no_class_token, no_embed_class; /* the latter: without positions */
    bool tables;   /* relative positions instead of absolute ones */
    int registers; /* HF's class: has registers */
    vt_act act;    /* none: GELU */
    float eps;     /* 0: 1e-6 */
    /* ... what it cannot have: another activation is this. NULL: it can */
    const char *only_gelu;
    const vt_row *const *timm_names; /* other names than timm's usual ones */

    /* HF's class. type NULL: vitcl writes none */
    const char *type, *with_head, *without;
    const char *prefix;         /* of names, with a head */
    const struct vt_keys *keys; /* what its config has */
    const vt_row *const *names;
    bool tower;      /* the prefix is also there without a head */
    bool embeds;     /* the head is a projection without a bias */
    bool wide_head;  /* the head reads class token and mean; MLPs have ratios */
    bool swiglu;     /* gated MLPs */
    bool any_tokens; /* without a class token, too */
    /* biases of q, k and v must be there; what a model without them is */
    const char *unbiased;
} vt_writing;

/* What a part of an architecture's name says in timm, where model_args do not
 * say it. */
typedef enum {
    VT_SAYS_POOL,       /* text: global_pool */
    VT_SAYS_ACT,        /* a vt_act */
    VT_SAYS_EPS,        /* the epsilon */
    VT_SAYS_HEADS,      /* their number; below zero: their width, which is right
                        * only if the model is as wide as timm's */
    VT_SAYS_REGISTERS,  /* their number */
    VT_SAYS_BARE,       /* there may be no norm behind the blocks */
    VT_SAYS_RMS,        /* norms without mean and bias */
    VT_SAYS_POST_NORM,  /* norms behind attention and MLP */
    VT_SAYS_PATCH_NORM, /* a norm of the projected patches */
    VT_SAYS_POOL_ALL    /* the pool reads the prefix tokens, too */
} vt_says;
typedef struct vt_mark {
    const char *part; /* of the name; "": any name */
    vt_says what;
    double number;
    const char *text;
} vt_mark;

/* Of several processors. */
#define VT_CLIP_PIXELS                                                         \
    .mean = vt_clip_mean, .std = vt_clip_std, .filter = VT_BICUBIC,            \
    .size = 224, .crop_size = 224, .shortest = true, .number_shortest = true,  \
    .crop = true, .on_white = true

struct vt_family {
    const char *name;
    const char *looks;      /* "the file looks like a <looks>" */
    const char *looks_text; /* the same of its text tower; NULL: none */
    const vt_hf_class *hf;  /* ends without types; NULL: none */
    const char *timm;       /* architectures, in the words of fnmatch(), with
                             * "|" between; NULL: none */
    const struct vt_keys *args; /* timm's model_args: see fields.h */
    const vt_mark *marks;       /* end without a part; NULL: none */
    vt_processor processors[3]; /* of HF; ends without a name */
    vt_names names; /* of tensors; in a dialect of its own or a library's */
    /* How models of this kind are written, of any family. If it returns NULL,
     * as another kind, at last ViT: vt_timm_lacks() must refuse what that
     * leaves out. Without it, models of this family keep their format. */
    const vt_writing *(*writing)(const vt_config *c);
    /* Where names do not show it: is this checkpoint of this family? One of the
     * two may be NULL. NULL: the names decide. */
    bool (*match)(const vt_json *config, const vt_weights *w);
    /* What a name of timm's says beside the marks; or NULL. */
    void (*begin)(vt_config *c);
    /* The rest, when c has the name, the defaults and the fields. */
    vitcl_status (*configure)(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path);
    void (*build)(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out);

    const char *pools;   /* the only ones of timm's, "|" between; NULL: all */
    bool fixed_norm;     /* timm's norm_layer cannot be chosen */
    bool own_positions;  /* its attention has positions of its own */
    bool no_key_bias;    /* keys may have no bias */
    bool idle_head;      /* HF's classifiers do not use the tower's own head */
    bool processor_size; /* HF's pictures have the processor's size */
    bool finetunes;      /* also HF's and Google's files, in timm's form */
    bool conv_head;      /* the head is a convolution, head.fc */
};

/* Where a new family is added. The first match is used, so special families
 * come before general ones. */
#define VT_FAMILIES(X)                                                         \
    X(resnet)                                                                  \
    X(mobileclip)                                                              \
    X(hybrid)                                                                  \
    X(resnetd)                                                                 \
    X(naflex)                                                                  \
    X(relpos)                                                                  \
    X(eva02)                                                                   \
    X(rotary)                                                                  \
    X(beit)                                                                    \
    X(deit)                                                                    \
    X(dinov2)                                                                  \
    X(clip)                                                                    \
    X(siglip)                                                                  \
    X(aimv2)                                                                   \
    X(yolos)                                                                   \
    X(axial)                                                                   \
    X(vit)
#define VT_FAMILY(name) extern const vt_family vt_family_##name;
VT_FAMILIES(VT_FAMILY)

/* ---- families.c ---- */
extern const vt_family *const vt_families[]; /* end with NULL */

/* The family of a checkpoint; NULL: none. One of the two may be NULL. */
const vt_family *vt_family_find(const vt_json *config, const vt_weights *w);
extern const vt_processor *const vt_processors_of_families[]; /* likewise */
#define VT_PROCESSORS(usual)                                                   \
    (&(vt_processor_list){vt_processors_of_families, (usual)})
/* What families add to the tables of names; ends with NULL. */
extern const vt_names *const vt_names_of_families[];
/* How a model is written. no_embed_class: for timm, positions have no rows for
 * prefix tokens. Never NULL. */
const vt_writing *vt_writing_of(const vt_config *c, bool no_embed_class);
/* The family whose text tower this is. */
const vt_family *vt_family_of_text(bool sigmoid);
/* The one that has HF's class of this model_type. */
const vt_family *vt_family_of_type(const char *type);

/* ---- family.c: of one family ---- */
/* HF's class of this model_type; NULL: another family's. */
const vt_hf_class *vt_hf_class_of(const vt_family *family, const char *type);
/* What this architecture's name says of it; NULL: nothing. */
const vt_mark *vt_family_says(const vt_config *c, vt_says what);

#endif
