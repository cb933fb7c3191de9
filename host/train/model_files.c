/*
 * model_files.c - collect the tensors of a model folder and write it.
 */
#include "train/model_files.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

void vt_model_files_free(vt_model_files *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free((void *)(uintptr_t)p->tensor[i].name);
        free((void *)(uintptr_t)p->tensor[i].data);
    }
    free(p->tensor);
    free(p->config);
    *p = (vt_model_files){0};
}

vitcl_status vt_model_files_add(float **data, vt_model_files *p,
                                const char *name, uint32_t rank,
                                const uint64_t *shape)
{
    vitcl_status st = VITCL_OK;
    vt_tensor t = {.dtype = VT_FILE_F32, .rank = rank, .count = 1};
    float *elements = NULL;
    char *copy = NULL;
    size_t count = 1;

    for (uint32_t i = 0; i < rank; i++) {
        t.shape[i] = shape[i];
        if (!vt_mul(&count, count, (size_t)shape[i]) || count > INT32_MAX)
            return vt_fail(VITCL_EINVAL, "%s: too large", name);
    }
    t.count = count;
    t.size = count * sizeof *elements;
    VT_TRY(vt_grow(&p->tensor, &p->cap, p->count + 1, sizeof *p->tensor));
    VT_TRY(VT_NEW(&elements, count));
    VT_TRY(vt_strdup(&copy, name));
    t.name = copy, copy = NULL;
    t.data = (const uint8_t *)elements;
    *data = elements, elements = NULL;
    p->tensor[p->count++] = t;
done:
    free(elements);
    free(copy);
    return st;
}

static vitcl_status write_text(const char *path, const char *text)
{
    vitcl_status st = VITCL_OK;
    vt_newfile file = {0};

    VT_TRY(vt_newfile_open(&file, path));
    fputs(text, file.f); /* vt_newfile_commit() checks for errors */
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    return st;
}

vitcl_status vt_model_files_write(const vt_model_files *p, const char *folder)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    vitcl_status st = VITCL_OK;
    char *path = NULL;

    VT_TRY(vt_format(&path, "%s/config.json", folder));
    VT_TRY(write_text(path, p->config));
    free(path), path = NULL;
    VT_TRY(vt_format(&path, "%s/model.safetensors", folder));
    VT_TRY(vt_safetensors_write(path, p->tensor, p->count, metadata));
done:
    free(path);
    return st;
}

/* ---- config.json ---- */

static const char *class_of(const void *dataset, uint32_t index)
{
    return vt_dataset_class(dataset, index);
}

vitcl_status vt_model_files_config(char **out, vt_timm_config *c,
                                   const vt_dataset *d)
{
    vt_text text;

    c->classes = c->labels = d ? vt_dataset_classes(d) : 0;
    c->label = class_of;
    c->of = d;
    VT_RET(vt_text_open(&text));
    vt_timm_config_write(text.f, c);
    return vt_text_take(out, &text);
}
