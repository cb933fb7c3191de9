/*
 * model_names.h - models by name, in the local cache of Hugging Face.
 */
#ifndef VT_CLI_MODEL_NAMES_H
#define VT_CLI_MODEL_NAMES_H
#include <stdbool.h>
#include <stdint.h>

enum { HUB_NAME = 97, HUB_COMMIT = 65, HUB_PATH = 4096, HUB_WHY = 12288 };
typedef struct hub_snapshot {
    char path[HUB_PATH], commit[HUB_COMMIT];
    uint64_t bytes; /* of its files */
} hub_snapshot;
typedef struct hub_named {
    char owner[HUB_NAME], name[HUB_NAME];
    const char *revision; /* NULL: main */
} hub_named;
/* What a short name such as vit_base_patch16_224 or ViT-B-32 stands for:
 * OWNER/NAME; false: it is none. */
bool hub_full_name(char out[HUB_NAME], const char *word);
/* Prints what the last short name stood for, unless it was printed. */
void say_full_name(void);
/* OWNER/NAME or OWNER/NAME@REVISION, after hf-hub: or not, or a short name.
 * What it may hold is safe in a path. Valid until the next call. */
bool hub_parse(hub_named *out, const char *word);
/* The path that a word after -m means: the word, if it is a path, else the
 * snapshot in the local cache of Hugging Face. Valid until the next call.
 * Prints why there is none. */
int find_model(const char **path, const char *word);
/* The value of a variable, with the user's own folder for ~, and `below`;
 * false: it is not set. */
bool hub_variable(char out[HUB_PATH], const char *name, const char *below);
/* The folder of that cache; false: no variable says where it is. */
bool hub_cache(char out[HUB_PATH]);
/* OWNER/NAME of one of its folders; false: it holds no model. */
bool hub_name(char out[HUB_NAME], const char *folder);
/* Finds OWNER/NAME or OWNER/NAME@REVISION. False: `why` says why not. */
bool hub_find(hub_snapshot *out, char why[HUB_WHY], const char *cache,
              const char *word);

#endif
