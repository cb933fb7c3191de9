/*
 * bpe.h - byte pair encoding: a word's characters are merged, pair by pair.
 *
 * tokenizers (Hugging Face) and open_clip have a list of merges; SentencePiece
 * merges what makes the piece with the highest score.
 */
#ifndef VT_TEXT_BPE_H
#define VT_TEXT_BPE_H
#include "text/vocab.h"

/* Types of a SentencePiece vocabulary's pieces. */
enum {
    VT_SPM_NORMAL = 1,
    VT_SPM_UNKNOWN,
    VT_SPM_CONTROL,
    VT_SPM_USER,
    VT_SPM_UNUSED,
    VT_SPM_BYTE
};

/* A text with an unknown character is refused. */
enum { VT_BPE_NO_UNKNOWN = -2 };

typedef struct vt_bpe {
    const vt_vocab *vocab;
    struct vt_merge { /* in their order */
        int32_t left, right, made;
    } * merges;
    size_t count, cap;
    uint32_t *table; /* a merge's number plus 1 */
    size_t slots;
    char *suffix;      /* of a word's last character, or NULL */
    int32_t unknown;   /* id, -1 (left out) or VT_BPE_NO_UNKNOWN */
    bool fuse;         /* unknown characters in a row are one token */
    bool whole;        /* a word that is a piece is not merged */
    bool fallback;     /* bytes in place of an unknown character */
    int32_t byte[256]; /* or -1 */
    /* of SentencePiece, else NULL */
    const float *scores;
    const uint8_t *types;
    const vt_vocab *user; /* pieces that are never split */
} vt_bpe;

/* Appends the ids of a word. */
vitcl_status vt_bpe_encode(vt_ids *out, const vt_bpe *b, const char *s,
                           size_t n);
/* Adds a merge of two pieces that are in the vocabulary. */
vitcl_status vt_bpe_merge(vt_bpe *b, const char *left, size_t left_size,
                          const char *right, size_t right_size,
                          const char *name);
/* Call when all merges are there. */
vitcl_status vt_bpe_finish(vt_bpe *b, const char *name);
void vt_bpe_free(vt_bpe *b);

/* The ids of <0x00> to <0xFF>, or -1; false: not all are in the vocabulary. */
bool vt_bpe_bytes(int32_t id[256], const vt_vocab *v);

#endif
