/*
 * added.h - added tokens: they are found in a text before anything is done to
 * it or, where they are normalized, after the normalizers.
 */
#ifndef VT_TEXT_ADDED_H
#define VT_TEXT_ADDED_H
#include "base/json.h"
#include "text/text.h"
#include "text/vocab.h"

enum { VT_ADDED_MAX = 1 << 14 };

typedef struct vt_token {
    char *s; /* NULL: none */
    int32_t id;
    bool left, right; /* takes the spaces beside it */
    bool single;      /* no letter beside it */
    bool special;
    int normal; /* is normalized; -1: if it is not special */
    bool whole; /* a file has all of this, not the text alone */
} vt_token;

typedef struct vt_token_list {
    vt_token *list;
    size_t n, cap;
} vt_token_list;

typedef struct vt_added {
    vt_token_list all;
    vt_vocab names;       /* their numbers in the list */
    vt_vocab raw, normal; /* the same, by the text that is looked for */
} vt_added;

vitcl_status vt_token_list_add(vt_token_list *l, const vt_token *token,
                               const char *name);
/* With the same text, or NULL. */
const vt_token *vt_token_list_find(const vt_token_list *l, const char *s);
void vt_token_list_free(vt_token_list *l);

/* A token as files write it; special: it is one, whatever they say. */
vitcl_status vt_token_read(vt_token *out, const vt_json *v, bool special,
                           const char *name);

/* As the library tokenizers does: a token that is in the vocabulary keeps its
 * id, another gets the next one. */
vitcl_status vt_added_add(vt_tokenizer *t, const vt_token *token,
                          const char *name);
/* Call when all tokens and normalizers are there. */
vitcl_status vt_added_finish(vt_tokenizer *t, const char *name);
void vt_added_free(vt_added *a);

#endif
