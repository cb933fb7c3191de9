/*
 * split.h - what a tokenizer.json may do to a text before its model sees it:
 * normalizers change it, pre-tokenizers part it into words.
 *
 * The steps and patterns of known models, each by its name; no pattern of a
 * file is run.
 */
#ifndef VT_TEXT_SPLIT_H
#define VT_TEXT_SPLIT_H
#include "text/charsmap.h"

typedef enum vt_change {
    VT_CHANGE_FORM, /* into a normal form */
    VT_CHANGE_LOWER,
    VT_CHANGE_REPLACE, /* a text by another */
    VT_CHANGE_SPACES,  /* `least` spaces of any kind, or more, by a text */
    VT_CHANGE_BLANKS,  /* the same of U+0020 */
    VT_CHANGE_STRIP,
    VT_CHANGE_PREPEND,
    VT_CHANGE_MAP
} vt_change;

typedef struct vt_normalizer {
    vt_change kind;
    vt_nf form;
    char *from, *to; /* owned */
    size_t least;
    bool left, right;
} vt_normalizer;

typedef enum vt_part_kind {
    VT_PART_CLIP,   /* at CLIP's pattern, whose matches are kept */
    VT_PART_SIMPLE, /* the same as open_clip has it */
    VT_PART_BYTES,  /* GPT-2's pattern, then bytes as characters */
    VT_PART_SPACES, /* at white space, which is left out */
    VT_PART_META,   /* spaces become U+2581 */
    VT_PART_BLANKS  /* behind spaces */
} vt_part_kind;

typedef struct vt_splitter { /* a pre-tokenizer */
    vt_part_kind kind;
    bool prefix;      /* a space or U+2581 in front of a word */
    bool prefix_once; /* only of the text's first word */
    bool split;       /* at the pattern, at U+2581, or at CLIP's tokens */
} vt_splitter;

/* Words, one after the other in `text`. */
typedef struct vt_words {
    vt_chars text;
    size_t *ends;
    size_t n, cap;
} vt_words;

vitcl_status vt_normalize(vt_chars *c, const vt_normalizer *how,
                          const vt_charsmap *map);
/* Parts each word; first: they begin the text. */
vitcl_status vt_split(vt_words *w, const vt_splitter *how, bool first);
/* Makes a text one word, and forgets all others. */
vitcl_status vt_words_begin(vt_words *w, const char *s, size_t n);
void vt_words_free(vt_words *w);
/* Byte-level vocabularies write a byte as this character; its bytes. */
size_t vt_byte_character(char out[2], unsigned char byte);

/* CLIP's pattern, as files write it: special tokens, and what follows, which
 * older files have alone. */
extern const char vt_clip_pattern[], *const vt_clip_older;

#endif
