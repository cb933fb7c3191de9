/*
 * vocab.h - the pieces of a vocabulary: from their bytes to their ids.
 */
#ifndef VT_TEXT_VOCAB_H
#define VT_TEXT_VOCAB_H
#include "text/chars.h"

enum {
    VT_PIECES_MAX = 1 << 22, /* ids are below, too */
    VT_PIECE_MAX = 1024      /* bytes; longer ones are in no text */
};

typedef struct vt_vocab {
    vt_chars bytes;
    struct vt_piece {
        uint32_t at, size;
        int32_t id;
    } * pieces;
    size_t count, cap;
    uint32_t *table;     /* a piece's number plus 1 */
    size_t slots;        /* a power of two */
    size_t longest;      /* bytes of a piece */
    uint16_t reach[256]; /* the same of those that begin with a byte */
    uint64_t sizes[VT_PIECE_MAX / 64 + 1]; /* a bit for each that pieces have */
    int32_t last;                          /* the largest id */
} vt_vocab;

/* Makes room for so many pieces, so that adding them is quick. */
vitcl_status vt_vocab_reserve(vt_vocab *v, size_t count);
/* `name`: of the file, for messages. A piece that is there already is an
 * error. */
vitcl_status vt_vocab_add(vt_vocab *v, const char *s, size_t n, uint64_t id,
                          const char *name);
/* What longest, reach, sizes and last say has to count this piece, too. */
void vt_vocab_note(vt_vocab *v, const struct vt_piece *p);
/* The id of a piece, or -1. */
int32_t vt_vocab_find(const vt_vocab *v, const char *s, size_t n);
/* The longest piece that the text begins with: its id, or -1. */
int32_t vt_vocab_prefix(size_t *size, const vt_vocab *v, const char *s,
                        size_t n);
/* Looks up the beginnings of a text, a byte longer each time. */
typedef struct vt_prefix {
    const vt_vocab *v;
    const char *s;
    size_t n; /* bytes looked at */
    uint64_t hash;
} vt_prefix;
vt_prefix vt_prefix_begin(const vt_vocab *v, const char *s);
int32_t vt_prefix_next(vt_prefix *p);
void vt_vocab_free(vt_vocab *v);

#endif
