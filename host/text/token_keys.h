/*
 * token_keys.h - which keys of a tokenizer's files are understood.
 */
#ifndef VT_TEXT_TOKEN_KEYS_H
#define VT_TEXT_TOKEN_KEYS_H
#include "base/json.h"

/* A JSON file of the folder, and its path: NULL if it has none. */
vitcl_status vt_token_file(vt_json **out, char **path, const char *folder,
                           const char *file);
/* tokenizer_config.json, or special_tokens_map.json, whose keys are the
 * same. */
vitcl_status vt_token_keys_config(const vt_json *root, bool map,
                                  const char *name);
/* tokenizer.json */
vitcl_status vt_token_keys_json(const vt_json *root, const char *name);
/* A step of it: its normalizer, a pre-tokenizer and so on. */
vitcl_status vt_token_keys_step(const vt_json *step, const char *name);

#endif
