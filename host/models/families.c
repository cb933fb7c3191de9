/*
 * families.c - the list of families, and which one a checkpoint is of.
 */
#include "models/config.h"
#include "models/family.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define VT_FAMILY_ROW(name) &vt_family_##name,
const vt_family *const vt_families[] = {VT_FAMILIES(VT_FAMILY_ROW) NULL};

#define VT_FAMILY_NAMES(name) &vt_family_##name.names,
const vt_names *const vt_names_of_families[] = {VT_FAMILIES(VT_FAMILY_NAMES)
                                                    NULL};

#define VT_FAMILY_PROCESSORS(name) vt_family_##name.processors,
const vt_processor *const vt_processors_of_families[] = {
    VT_FAMILIES(VT_FAMILY_PROCESSORS) NULL};

const vt_writing *vt_writing_of(const vt_config *c, bool no_embed_class)
{
    const vt_writing *how = NULL;

    for (const vt_family *const *f = vt_families; !how; f++)
        how = (*f)->writing ? (*f)->writing(c) : NULL;
    return no_embed_class && how->bare ? how->bare : how;
}

/* Is the name one of "a*|*b"? */
static bool fits(const char *patterns, const char *name)
{
    char one[64];

    while (name[0] && patterns && *patterns) {
        const size_t n = strcspn(patterns, "|");

        snprintf(one, sizeof one, "%.*s", (int)n, patterns);
        if (fnmatch(one, name, 0) == 0)
            return true;
        patterns += n + (patterns[n] != 0);
    }
    return false;
}

const vt_family *vt_family_of_type(const char *type)
{
    const vt_family *const *f = vt_families;

    while (*f && !vt_hf_class_of(*f, type))
        f++;
    return *f;
}

const vt_family *vt_family_find(const vt_json *config, const vt_weights *w)
{
    const char *type = vt_config_hf(config);
    const vt_family *const *f = vt_families;

    while (*f && !fits((*f)->timm, vt_config_timm(config)) &&
           !(vt_hf_class_of(*f, type) && !strstr(type, "_text_model")) &&
           !((*f)->match && (*f)->match(config, w)))
        f++;
    return *f;
}

const vt_family *vt_family_of_text(bool sigmoid)
{
    const vt_family *const *f = vt_families;

    for (; *f; f++)
        for (const vt_hf_class *k = (*f)->hf; k && k->types; k++)
            if ((*f)->looks_text && k->text && k->text->sigmoid == sigmoid)
                return *f;
    return NULL;
}
