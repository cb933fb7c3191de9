/*
 * precision.c - the table of precisions.
 */
#include "ocl/precision.h"

#include "base/memory.h"

#include <string.h>

static const struct {
    const char *word;
    vt_dtype type;
} precisions[] = {
    [VITCL_F32] = {"f32", VT_F32},
    [VITCL_BF16] = {"bf16", VT_BF16},
    [VITCL_F16] = {"f16", VT_F16},
    /* the session has chosen before; bf16 is never wrong */
    [VITCL_HALF] = {"half", VT_BF16},
    [VITCL_INT8] = {"int8", VT_I8},
};

static bool known(vitcl_precision precision)
{
    return (size_t)precision < VT_COUNT(precisions);
}

const char *vt_precision_name(vitcl_precision precision)
{
    return known(precision) ? precisions[precision].word : NULL;
}

bool vt_precision_parse(vitcl_precision *out, const char *word)
{
    for (size_t i = 0; i < VT_COUNT(precisions); i++)
        if (strcmp(precisions[i].word, word) == 0) {
            *out = (vitcl_precision)i;
            return true;
        }
    return false;
}

vt_dtype vt_precision_type(vitcl_precision precision)
{
    return known(precision) ? precisions[precision].type : VT_F32;
}

int vt_type_number(vt_dtype t)
{
    return t == VT_BF16 ? 1 : t == VT_F16 ? 2 : t == VT_I8 ? 3 : 0;
}
