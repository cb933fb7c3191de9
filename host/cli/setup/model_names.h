/*
 * model_names.h - models by name, as -m and pull take them.
 */
#ifndef VT_CLI_MODEL_NAMES_H
#define VT_CLI_MODEL_NAMES_H
#include "api/program.h"

/* Prints what the last short name stood for, unless it was printed. */
void say_full_name(void);
/* vt_hub_parse(), valid until the next call. */
bool parse_name(vt_hub_named *out, const char *word);
/* The path that a word after -m means, as vt_hub_locate() has it. Valid until
 * the next call. Prints why there is none. */
int find_model(const char **path, const char *word);

#endif
