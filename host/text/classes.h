/*
 * classes.h - the classes of tokenizers: transformers builds the steps of most
 * of them in code, whatever tokenizer.json says.
 */
#ifndef VT_TEXT_CLASSES_H
#define VT_TEXT_CLASSES_H
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The special tokens that have names, in the order of transformers. */
enum { VT_BOS, VT_EOS, VT_UNK, VT_SEP, VT_PAD, VT_CLS, VT_MASK, VT_NAMED };

typedef enum vt_model_kind {
    VT_MODEL_BPE,
    VT_MODEL_UNIGRAM,
    VT_MODEL_SPM
} vt_model_kind;

typedef struct vt_token_class {
    const char *name;
    /* NULL: normalizer, pre-tokenizer and the model's settings are the file's;
     * else "{...}", as a tokenizer.json would have them */
    const char *steps;
    vt_model_kind model;         /* where the steps are its own */
    const char *named[VT_NAMED]; /* the defaults of its arguments */
    bool end_only, both;         /* the end, or begin and end, of each text */
    bool left;                   /* padding */
    bool spiece;                 /* spiece.model is a vocabulary of it */
    bool map;                    /* a file's character map comes first */
    bool prefix;                 /* add_prefix_space counts */
    const char *suffix;          /* of a word's last character */
    bool fuse, fallback;         /* of the BPE */
    uint32_t unknown;            /* of the unigrams */
    uint32_t extra_ids;          /* as many <extra_id_i> */
    uint32_t context;            /* model_max_length, or 0 */
} vt_token_class;

extern const vt_token_class vt_class_file, vt_class_clip,
    vt_class_simple; /* open_clip's own */

/* The class that AutoTokenizer takes: names are those of
 * tokenizer_config.json, config.json, and its model_type; each may be NULL. */
vitcl_status vt_token_class_choose(const vt_token_class **out,
                                   const char *written, const char *config,
                                   const char *type, const char *name);

#endif
