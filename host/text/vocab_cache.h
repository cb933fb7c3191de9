/*
 * vocab_cache.h - a large tokenizer.json in the cache, as what reading it made:
 * its pieces and merges with their tables, and the rest of the text.
 */
#ifndef VT_TEXT_VOCAB_CACHE_H
#define VT_TEXT_VOCAB_CACHE_H
#include "base/kept.h"
#include "text/tokenizer.h"

/* Files of fewer bytes are read as quickly. */
enum { VT_VOCAB_CACHED = 8 << 20 };

/* *found: t and rest are as reading the file would make them, and t->hash has
 * the file; else nothing is changed. `rest` is empty before. Nothing is an
 * error. */
void vt_vocab_cache_load(bool *found, vt_chars *rest, vt_tokenizer *t,
                         const char *path);
/* t->hash has just got the file. */
void vt_vocab_cache_save(const vt_chars *rest, const vt_tokenizer *t);
/* What the open file has. False: it is damaged. */
bool vt_vocab_cache_read(vt_chars *rest, vt_tokenizer *t, vt_kept_file *f);

#endif
