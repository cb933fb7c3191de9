/*
 * no_text.c - in place of all other files of this folder, where utf8proc was
 * missing when vitcl was built.
 */
#include "text/text.h"

#include "base/memory.h"

vitcl_status vt_tokenizer_open(vt_tokenizer **out, const char *folder,
                               bool open_clip, bool lower)
{
    (void)out, (void)open_clip, (void)lower;
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: vitcl was built without utf8proc, which tokenizers "
                   "need",
                   folder);
}

vitcl_status vt_tokenizer_encode(int32_t *ids, uint32_t *count,
                                 const vt_tokenizer *t, uint32_t context,
                                 const char *text, size_t bytes)
{
    (void)ids, (void)count, (void)t, (void)context, (void)text, (void)bytes;
    return vt_fail(VITCL_EUNSUPPORTED, "vitcl was built without utf8proc");
}

bool vt_tokenizer_sees(const vt_tokenizer *t, uint32_t at, uint32_t count,
                       uint32_t context)
{
    (void)t, (void)at, (void)count, (void)context;
    return true;
}

vitcl_status vt_tokenizer_fit(int32_t *ids, uint32_t *count, bool *cut,
                              const vt_tokenizer *t, uint32_t context,
                              const char *text, size_t bytes)
{
    *cut = false;
    return vt_tokenizer_encode(ids, count, t, context, text, bytes);
}

uint32_t vt_tokenizer_vocabulary(const vt_tokenizer *t)
{
    (void)t;
    return 0;
}

uint32_t vt_tokenizer_context(const vt_tokenizer *t)
{
    (void)t;
    return 0;
}

int32_t vt_tokenizer_end(const vt_tokenizer *t)
{
    (void)t;
    return -1;
}

void vt_tokenizer_identity(char out[65], const vt_tokenizer *t)
{
    (void)t;
    out[0] = 0;
}

vitcl_status vt_normal_form(char **out, const char *text, bool composed)
{
    (void)composed;
    return vt_strdup(out, text);
}

void vt_tokenizer_free(vt_tokenizer *t)
{
    (void)t;
}
