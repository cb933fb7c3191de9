/*
 * clean.h - what open_clip does to a text before it is tokenized.
 */
#ifndef VT_TEXT_CLEAN_H
#define VT_TEXT_CLEAN_H
#include "text/chars.h"

typedef enum vt_cleaning {
    VT_CLEAN_NONE,
    VT_CLEAN_WHITESPACE,
    VT_CLEAN_LOWER,
    VT_CLEAN_CANONICALIZE
} vt_cleaning;

vitcl_status vt_clean(vt_chars *c, vt_cleaning how);
/* Without ASCII's punctuation, and with single spaces: what SigLIP was trained
 * with. The text is lower case already, if it is to be. */
vitcl_status vt_canonicalize(vt_chars *c);

/* The code point of an entity's name, such as "amp", or 0. legacy: it needs no
 * semicolon. (entities.c) */
uint32_t vt_entity(bool *legacy, const char *name, size_t n);

#endif
