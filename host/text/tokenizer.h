/*
 * tokenizer.h - what a tokenizer is made of: the readers of files fill it,
 * encode.c uses it.
 */
#ifndef VT_TEXT_TOKENIZER_H
#define VT_TEXT_TOKENIZER_H
#include "base/json.h"
#include "base/sha256.h"
#include "text/clean.h"
#include "text/split.h"
#include "text/spm.h"
#include "text/text.h"

enum { VT_STEPS_MAX = 16, VT_ADDED_MAX = 1 << 14 };

/* Tokens that are found in a text before anything is done to it, or (normal)
 * after the normalizers. */
typedef struct vt_added {
    vt_vocab raw, normal; /* ids are numbers in the list */
    struct vt_added_token {
        char *s;
        int32_t id;
        bool left, right; /* takes the spaces beside it */
        bool single;      /* no letter beside it */
        bool normal;
    } * list;
    size_t n, cap;
} vt_added;

/* What tokenizer_config.json and special_tokens_map.json say. */
typedef struct vt_token_settings {
    char *class_name; /* without "Fast"; NULL: none */
    char *begin, *end, *pad, *unknown;
    int add_begin, add_end; /* -1: not said */
    int left;               /* padding; -1: not said */
    bool cut_left;          /* what is cut of a long text is its beginning */
    bool lower;
    bool clip; /* of the class: another's begin and end do not count */
    bool siglip;
    uint32_t context; /* 0: not said */
} vt_token_settings;

typedef enum vt_model_kind {
    VT_MODEL_BPE,
    VT_MODEL_UNIGRAM,
    VT_MODEL_SPM
} vt_model_kind;

struct vt_tokenizer {
    vt_token_settings settings;
    vt_added added;
    vt_cleaning clean; /* of open_clip, before all else */
    bool lower;        /* the whole text, asked for by the caller */
    bool lower_pieces; /* Siglip2Tokenizer: before the normalizers */
    bool simple;       /* open_clip's own tokenizer */
    bool siglip;       /* Hugging Face's SiglipTokenizer */
    bool named;        /* special tokens are known by their names alone */

    vt_normalizer normalizers[VT_STEPS_MAX];
    vt_splitter splitters[VT_STEPS_MAX];
    size_t normalizer_count, splitter_count;
    vt_charsmap map;

    vt_model_kind model;
    vt_vocab vocab;
    double *scores; /* of a unigram vocabulary, by id */
    size_t score_cap;
    vt_bpe bpe;
    vt_unigram unigram;
    vt_spm spm;

    int32_t before[VT_STEPS_MAX], after[VT_STEPS_MAX]; /* special tokens */
    size_t before_count, after_count;
    int32_t begin, end, pad; /* ids, or -1 */
    bool left;               /* padding */
    bool cut_left;
    uint32_t context;
    vt_sha256_state hash; /* of the vocabulary's files */
    char identity[65];
};

/* The readers of vocabularies, by the first file: `folder` has the others. */
vitcl_status vt_read_tokenizer_json(vt_tokenizer *t, const char *folder,
                                    const char *path);
vitcl_status vt_read_vocab_json(vt_tokenizer *t, const char *folder,
                                const char *path);
vitcl_status vt_read_clip_gz(vt_tokenizer *t, const char *folder,
                             const char *path);
vitcl_status vt_read_spm(vt_tokenizer *t, const char *folder, const char *path);

/* added.c */
vitcl_status vt_added_add(vt_tokenizer *t, const char *s, int32_t id,
                          struct vt_added_token flags, const char *name);
/* One entry of added_tokens or added_tokens_decoder. */
vitcl_status vt_added_read(vt_tokenizer *t, const vt_json *v, uint64_t id,
                           const char *name);
/* Call when all tokens and normalizers are there. */
vitcl_status vt_added_finish(vt_tokenizer *t, const char *name);
void vt_added_free(vt_added *a);
/* The id of a token that is added or in the vocabulary, or -1. NULL: -1. */
int32_t vt_token_id(const vt_tokenizer *t, const char *s);

/* steps.c: normalizer, pre_tokenizer and post_processor of a tokenizer.json */
vitcl_status vt_steps_read(vt_tokenizer *t, const vt_json *root,
                           const char *name);
/* CLIP's, where no tokenizer.json says them. */
vitcl_status vt_steps_clip(vt_tokenizer *t);

/* settings.c */
vitcl_status vt_token_settings_read(vt_tokenizer *t, const char *folder,
                                    bool open_clip);
void vt_token_settings_free(vt_token_settings *s);

#endif
