/*
 * text.c - a string that is written like a file.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>

static vitcl_status full(void)
{
    return vt_fail(VITCL_ENOMEM, "out of memory for a text");
}

vitcl_status vt_text_open(vt_text *out)
{
    *out = (vt_text){.f = NULL};
    out->f = open_memstream(&out->s, &out->size);
    return out->f ? VITCL_OK : full();
}

vitcl_status vt_text_take(char **out, vt_text *t)
{
    const bool bad = ferror(t->f) != 0;
    const bool ended = fclose(t->f) == 0;

    t->f = NULL;
    if (bad || !ended) {
        free(t->s);
        return full();
    }
    *out = t->s, t->s = NULL;
    return VITCL_OK;
}
