/*
 * text.h - a model's tokenizer: UTF-8 text in, token ids out.
 *
 * The rules are those of the library that a checkpoint's folder is of, so that
 * the ids equal what the model was trained with.
 */
#ifndef VT_TEXT_TEXT_H
#define VT_TEXT_TEXT_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vt_tokenizer vt_tokenizer;

#define VT_TEXT_MAX ((size_t)16 << 20) /* bytes */

/* folder: a checkpoint's, with the tokenizer's files that it ships. open_clip:
 * open_clip_config.json counts if there is one; else it does not. lower: make
 * texts lower case first, whatever the files say. */
vitcl_status vt_tokenizer_open(vt_tokenizer **out, const char *folder,
                               bool open_clip, bool lower);
/* ids[context]: the tokens of a UTF-8 text with the special tokens that the
 * model's library adds, cut to context and padded as that library does. *count:
 * tokens before the padding. VITCL_ECORRUPT: the text is not UTF-8. Several
 * threads may use one tokenizer. */
vitcl_status vt_tokenizer_encode(int32_t *ids, uint32_t *count,
                                 const vt_tokenizer *t, uint32_t context,
                                 const char *text, size_t bytes);
/* Does the model see token `at` of such a text? Only some tokenizers hide the
 * padding. */
bool vt_tokenizer_sees(const vt_tokenizer *t, uint32_t at, uint32_t count,
                       uint32_t context);
/* The same. *cut: it has more tokens than fit. */
vitcl_status vt_tokenizer_fit(int32_t *ids, uint32_t *count, bool *cut,
                              const vt_tokenizer *t, uint32_t context,
                              const char *text, size_t bytes);
uint32_t vt_tokenizer_vocabulary(const vt_tokenizer *t);
/* Tokens of a text, as the files say; 0: they do not. */
uint32_t vt_tokenizer_context(const vt_tokenizer *t);
/* The id of the token that ends a text, or -1. */
int32_t vt_tokenizer_end(const vt_tokenizer *t);
/* SHA-256 of all that decides about ids. */
void vt_tokenizer_identity(char out[65], const vt_tokenizer *t);
void vt_tokenizer_free(vt_tokenizer *t);
/* Where characters can be written in composed or in decomposed form (NFC, NFD):
 * this one. Without utf8proc, or if it is not UTF-8: the text as it is. */
vitcl_status vt_normal_form(char **out, const char *text, bool composed);

#endif
