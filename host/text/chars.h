/*
 * chars.h - texts that grow, lists of ids, and what Unicode says about
 * characters, by utf8proc.
 */
#ifndef VT_TEXT_CHARS_H
#define VT_TEXT_CHARS_H
#include "base/memory.h"

typedef struct vt_chars {
    char *s;
    size_t n, cap;
    size_t most; /* bytes that it may have; 0: any number */
} vt_chars;

vitcl_status vt_chars_add(vt_chars *c, const char *s, size_t n);
vitcl_status vt_chars_put(vt_chars *c, uint32_t code);
/* Takes the place of what `c` had, not of its bound. */
void vt_chars_move(vt_chars *c, vt_chars *from);

typedef struct vt_ids {
    int32_t *id;
    size_t n, cap;
} vt_ids;

vitcl_status vt_ids_add(vt_ids *ids, int32_t id);

/* The character at s, of `left` > 0 bytes, and its length; of a byte that is
 * not UTF-8: U+FFFD and 1, because a vocabulary may have any bytes. */
uint32_t vt_chars_code(size_t *length, const char *s, size_t left);

/* Of a sorted table. */
typedef struct vt_code_range {
    uint32_t first, last;
    uint8_t sort;
} vt_code_range;

/* The one with the character, or NULL. */
const vt_code_range *vt_code_find(const vt_code_range *table, size_t n,
                                  uint32_t code);

bool vt_is_ascii(const char *s, size_t n);
bool vt_is_letter(uint32_t code); /* \p{L}, at least of Unicode 16 */
bool vt_is_number(uint32_t code); /* \p{N} */
bool vt_is_digit(uint32_t code);  /* \p{Nd} */
bool vt_is_space(uint32_t code);  /* White_Space */
/* str.isspace() of Python has four control characters more. */
bool vt_is_python_space(uint32_t code);

/* The capital letter, where it is one. */
uint32_t vt_code_upper(uint32_t code);
/* Lower case. final_sigma: as Python has it, by the letters around a sigma;
 * not: character by character. */
vitcl_status vt_chars_lower(vt_chars *c, bool final_sigma);

typedef enum vt_nf { VT_NFC, VT_NFD, VT_NFKC, VT_NFKD } vt_nf;
vitcl_status vt_chars_normalise(vt_chars *c, vt_nf form);
/* The same by an older Unicode, that of tokenizers (Hugging Face). */
vitcl_status vt_chars_normalise_older(vt_chars *c, vt_nf form);
/* The bytes of the first grapheme cluster of s, of n > 0 bytes. */
size_t vt_chars_cluster(const char *s, size_t n);

#endif
