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
    vt_val rows, end, features;
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
    size_t context, width, features;
    vt_tokenizer *tokenizer;       /* NULL: */
    vitcl_status tokenizer_status; /* why there is none */
    char tokenizer_message[512];
    atomic_bool busy; /* a call uses it */
    float *row;       /* staging, [batch, context, width] */
    int32_t *ends;    /* [batch] */
    int32_t *ids;     /* [batch, context] */
};

/* vitcl_text_embed_tokens(), for a call that uses the text; n <= batch. */
vitcl_status vt_text_run(float *out, vitcl_text *t, const int32_t *ids,
                         uint32_t n);

#endif
