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

/* ftfy.fix_encoding(). (mojibake.c) */
vitcl_status vt_decode_again(vt_chars *c);
/* What Windows has in place of a control character from U+0080 to U+009F; other
 * characters are the same. */
uint32_t vt_windows_1252(uint32_t code);

/* What an entity stands for. (entities.c) */
typedef struct vt_entity_text {
    uint32_t code[2]; /* characters; 0: none */
    bool legacy;      /* it needs no semicolon */
} vt_entity_text;
/* name: such as "amp". False: there is none of this name. */
bool vt_entity(vt_entity_text *out, const char *name, size_t n);

#endif
