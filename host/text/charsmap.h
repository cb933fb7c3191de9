/*
 * charsmap.h - SentencePiece's compiled character map: a double-array trie of
 * what is replaced, and the texts that take its place.
 */
#ifndef VT_TEXT_CHARSMAP_H
#define VT_TEXT_CHARSMAP_H
#include "text/chars.h"

typedef struct vt_charsmap {
    uint32_t *units;
    size_t count; /* 0: nothing is replaced */
    char *texts;  /* each ends with NUL, the last one, too */
    size_t size;
} vt_charsmap;

vitcl_status vt_charsmap_read(vt_charsmap *out, const void *data, size_t size,
                              const char *name);
/* What takes the place of the beginning of s, of *size bytes: NULL, or a text.
 * longest: the longest that the map has, else the shortest. */
const char *vt_charsmap_find(size_t *size, const vt_charsmap *m, const char *s,
                             size_t n, bool longest);
/* Maps a text as tokenizers does: by grapheme clusters, then by characters. */
vitcl_status vt_charsmap_apply(vt_chars *c, const vt_charsmap *m);
void vt_charsmap_free(vt_charsmap *m);

#endif
