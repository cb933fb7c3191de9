/*
 * text.h - the struct behind vitcl_text; for host/api only.
 */
#ifndef VT_API_TEXT_H
#define VT_API_TEXT_H
#include "api/handles.h"
#include "text/text.h"

#include <vitcl_text.h>

/* For texts of at most so many tokens. */
typedef struct vt_text_plan {
    vt_plan *plan; /* NULL: not written */
    vt_val rows, end, hidden, features;
    int tokens;
    bool ready; /* finished: it may run */
} vt_text_plan;

enum { VT_TEXT_PLANS = 3 };

struct vitcl_text {
    vt_dev *dev;
    vt_model *model;
    vt_store *store;
    vt_text_plan plans[VT_TEXT_PLANS]; /* the last: the whole context */
    char *gemm;
    vitcl_precision precision;
    bool any_batch;
    uint32_t batch;
    size_t context, width, heads, features;
    bool padded; /* the tokenizer hides the padding from other tokens, */
    bool hides;  /* and that is not done by CLIP's mask */
    vt_tokenizer *tokenizer;       /* NULL: */
    vitcl_status tokenizer_status; /* why there is none */
    char tokenizer_message[512];
    atomic_bool busy;  /* a call uses it */
    atomic_ullong cut; /* as in vitcl_text_info */
    float *row;        /* staging, [batch, context, width] */
    float *mask;       /* [batch, heads, context, context], if it hides */
    bool *hidden;      /* [context] */
    int32_t *ends;     /* [batch] */
    uint32_t *counts;  /* [batch]: tokens without the padding */
    int32_t *ids;      /* [batch, context] */
};

/* vitcl_text_embed_tokens(), for a call that uses the text; n <= batch. counts:
 * of tokens before the padding, or NULL: there is none. */
vitcl_status vt_text_run(float *out, vitcl_text *t, const int32_t *ids,
                         const uint32_t *counts, uint32_t n);

#endif
