/*
 * tokenizer.h - what a tokenizer is made of: the readers of files fill it,
 * encode.c uses it.
 */
#ifndef VT_TEXT_TOKENIZER_H
#define VT_TEXT_TOKENIZER_H
#include "base/json.h"
#include "base/sha256.h"
#include "text/added.h"
#include "text/classes.h"
#include "text/clean.h"
#include "text/split.h"
#include "text/spm.h"
#include "text/text.h"

enum { VT_STEPS_MAX = 16, VT_CONTEXT_MAX = 1 << 20 /* larger: no limit */ };

/* What tokenizer_config.json, special_tokens_map.json and added_tokens.json
 * say, with the defaults of the class. */
typedef struct vt_token_settings {
    vt_token named[VT_NAMED];
    vt_token_list specific; /* of a model, with other names */
    vt_token_list extra;    /* further special tokens */
    bool extra_given;       /* even if it is null */
    vt_token_list added;    /* by number */
    bool decoder;           /* they are of tokenizer_config.json */
    int add_begin, add_end; /* without a tokenizer.json; -1: not said */
    int left;               /* padding; -1: not said */
    int cut_left;           /* what is cut of a long text is its beginning */
    bool lower, dummy_prefix, prefix_space;
    uint32_t extra_ids;
    uint32_t context; /* 0: not said */
} vt_token_settings;

/* What is done to a text between its added tokens, and the special tokens
 * around its ids. */
typedef struct vt_steps {
    vt_normalizer normalizers[VT_STEPS_MAX];
    vt_splitter splitters[VT_STEPS_MAX];
    size_t normalizer_count, splitter_count;
    vt_charsmap map;
    int32_t before[VT_STEPS_MAX], after[VT_STEPS_MAX];
    size_t before_count, after_count;
} vt_steps;

struct vt_tokenizer {
    const vt_token_class *class;
    vt_token_settings settings;
    vt_added added;
    vt_cleaning clean;  /* of open_clip, before all else */
    bool lower;         /* the whole text, asked for by the caller */
    bool split_special; /* special tokens in a text are words like others */
    bool mask;          /* no token attends to the padding */
    bool meta;          /* U+2581 in front of a text; all others are spaces */
    bool canonical;     /* what is between added tokens is canonicalized */
    bool end_once;      /* a text that ends with the end gets no second one */
    bool keep_end;      /* the last id of a text that is cut is the end */
    char *front;        /* encoded with each piece, and its ids left out */
    vt_vocab words;     /* words that are one token */

    vt_steps steps;
    vt_model_kind model;
    vt_vocab vocab;
    double *scores; /* of a unigram vocabulary, by id */
    size_t score_cap;
    vt_bpe bpe;
    vt_unigram unigram;
    vt_spm spm;

    int32_t begin, end, pad; /* ids, or -1 */
    bool left;               /* padding */
    bool cut_left;
    uint32_t context;
    vt_sha256_state hash; /* of the vocabulary's files */
    bool fresh, kept;     /* do not read the cache; it was read */
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

/* encode.c: what the normalizers make of a text. *room: by how many bytes it
 * may still grow. */
vitcl_status vt_tokenizer_normalize(vt_chars *c, const vt_tokenizer *t,
                                    size_t *room);
/* By how much all that is made of a text may be longer. */
size_t vt_text_room(size_t bytes);
/* The vocabulary of the model. */
const vt_vocab *vt_token_vocab(const vt_tokenizer *t);
/* The id of a token that is added or in the vocabulary, or -1. NULL: -1. */
int32_t vt_token_id(const vt_tokenizer *t, const char *s);
/* steps.c: normalizer, pre_tokenizer and post_processor of a tokenizer.json */
vitcl_status vt_steps_read(vt_steps *s, const vt_json *root, const char *name);
/* The post_processor alone. */
vitcl_status vt_steps_processor(vt_steps *s, const vt_json *v,
                                const char *name);
/* Those of the class, which may need the character map of a file's root, or
 * NULL; -v says if the file has others. */
vitcl_status vt_steps_class(vt_tokenizer *t, const vt_json *root,
                            const char *name);
void vt_steps_free(vt_steps *s);

/* settings.c */
vitcl_status vt_token_settings_read(vt_tokenizer *t, const char *folder,
                                    bool open_clip);
/* open_clip.c; *found: the folder is open_clip's. */
vitcl_status vt_open_clip_settings(vt_tokenizer *t, bool *found,
                                   const char *folder);
/* One entry of added_tokens or added_tokens_decoder. */
vitcl_status vt_token_settings_put(vt_token_settings *s, const vt_json *v,
                                   uint64_t id, const char *name);
void vt_token_settings_free(vt_token_settings *s);

#endif
