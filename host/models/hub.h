/*
 * hub.h - models by name, in the local cache of Hugging Face.
 */
#ifndef VT_MODELS_HUB_H
#define VT_MODELS_HUB_H
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    VT_HUB_NAME = 97,
    VT_HUB_COMMIT = 65,
    VT_HUB_PATH = 4096,
    VT_HUB_WHY = 12288
};
typedef struct vt_hub_snapshot {
    char path[VT_HUB_PATH], commit[VT_HUB_COMMIT];
    uint64_t bytes; /* of its files */
} vt_hub_snapshot;
typedef struct vt_hub_named {
    char owner[VT_HUB_NAME], name[VT_HUB_NAME];
    const char *revision; /* NULL: main */
} vt_hub_named;
/* What a short name such as vit_base_patch16_224 or ViT-B-32 stands for:
 * OWNER/NAME; false: it is none. */
bool vt_hub_full_name(char out[VT_HUB_NAME], const char *word);
/* OWNER/NAME or OWNER/NAME@REVISION, after hf-hub: or not, or a short name,
 * whose full one is then in `full`, else "". What it may hold is safe in a
 * path. room: for what `out` points to. */
bool vt_hub_parse(vt_hub_named *out, char full[VT_HUB_NAME],
                  char room[VT_HUB_PATH], const char *word);
/* The value of a variable, with the user's own folder for ~, and `below`;
 * false: it is not set. */
bool vt_hub_variable(char out[VT_HUB_PATH], const char *name,
                     const char *below);
/* The folder of that cache; false: no variable says where it is. */
bool vt_hub_cache(char out[VT_HUB_PATH]);
/* OWNER/NAME of one of its folders; false: it holds no model. */
bool vt_hub_name(char out[VT_HUB_NAME], const char *folder);
/* Finds OWNER/NAME or OWNER/NAME@REVISION. False: `why` says why not. */
bool vt_hub_find(vt_hub_snapshot *out, char why[VT_HUB_WHY], const char *cache,
                 const char *word);

/* The path that a word means: the word, if it is a path or no name, else the
 * snapshot in the local cache. */
typedef struct vt_hub_place {
    const char *path;       /* the word, or that of the snapshot */
    char full[VT_HUB_NAME]; /* what a short name stands for; "" */
    vt_hub_snapshot found;
    char why[VT_HUB_WHY]; /* of a failure, beginning with the word */
} vt_hub_place;
bool vt_hub_locate(vt_hub_place *out, const char *word);
/* The same: a copy of the path, and a status. The caller frees it. */
vitcl_status vt_hub_path(char **out, const char *word);

#endif
