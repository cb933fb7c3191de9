/*
 * dataset_add.c - grow a dataset by a class or a picture's label, and say
 * what it was not grown by.
 */
#include "base/memory.h"
#include "data/dataset_private.h"

vitcl_status vt_dataset_add_class(vt_dataset *d, const char *name)
{
    VT_RET(vt_grow(&d->name, &d->name_cap, d->classes + 1, sizeof *d->name));
    VT_RET(vt_strdup(&d->name[d->classes], name));
    d->classes++;
    return VITCL_OK;
}

vitcl_status vt_dataset_add_label(vt_dataset *d, uint32_t label)
{
    VT_RET(vt_grow(&d->label, &d->label_cap, d->count + 1, sizeof *d->label));
    d->label[d->count++] = label;
    return VITCL_OK;
}

vitcl_status vt_dataset_say_left(vt_dataset *d, const char *where)
{
    char text[VT_LEFT_TEXT];

    vt_left_text(text, &d->left);
    if (!text[0])
        return VITCL_OK;
    return vt_format(&d->remark, "%s: %zu picture%s in %zu class%s%s", where,
                     d->count, vt_plural(d->count), d->classes,
                     d->classes == 1 ? "" : "es", text);
}
