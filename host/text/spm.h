/*
 * spm.h - SentencePiece: spiece.model and tokenizer.model, and what the library
 * does to a text before it looks for pieces.
 */
#ifndef VT_TEXT_SPM_H
#define VT_TEXT_SPM_H
#include "text/charsmap.h"
#include "text/unigram.h"

typedef struct vt_spm {
    vt_vocab vocab; /* ids are the pieces' numbers */
    vt_vocab user;  /* those that are never split */
    float *scores;
    double *doubles; /* the same */
    uint8_t *types;
    size_t score_cap, double_cap, type_cap;
    vt_charsmap map;
    bool dummy_prefix, remove_spaces, escape, suffix, fallback;
    bool bpe;                         /* else unigram */
    int32_t unknown, begin, end, pad; /* ids, or -1 */
    vt_unigram unigram;
    vt_bpe merging;
} vt_spm;

/* Zeroed before; the vocabulary's address must stay. */
vitcl_status vt_spm_read(vt_spm *out, const void *data, size_t size,
                         const char *name);
/* *room: by how many bytes the text may grow, which is less afterwards. */
vitcl_status vt_spm_encode(vt_ids *out, const vt_spm *m, size_t *room,
                           const char *s, size_t n);
void vt_spm_free(vt_spm *m);

#endif
