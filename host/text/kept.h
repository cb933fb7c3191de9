/*
 * kept.h - a large tokenizer.json in the cache, as what reading it made: its
 * pieces and merges with their tables, and the rest of the text.
 */
#ifndef VT_TEXT_KEPT_H
#define VT_TEXT_KEPT_H
#include "text/tokenizer.h"

/* Files of fewer bytes are read as quickly. */
enum { VT_KEPT_LEAST = 8 << 20, VT_KEPT_KEY = 32 };

/* *found: t and rest are as reading the file would make them, and t->hash has
 * the file; else nothing is changed. `rest` is empty before. Nothing is an
 * error. */
void vt_kept_load(bool *found, vt_chars *rest, vt_tokenizer *t,
                  const char *path);
/* t->hash has just got the file. */
void vt_kept_save(const vt_chars *rest, const vt_tokenizer *t);
/* The file that `fd` is. False: of another key, or damaged. */
bool vt_kept_read(vt_chars *rest, vt_tokenizer *t, int fd,
                  const uint8_t key[VT_KEPT_KEY]);

#endif
