/*
 * model_files.c - collect the tensors of a model folder and write it.
 */
#include "train/model_files.h"

#include "base/file.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
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

static void put_three(FILE *f, const char *key, const float v[3])
{
    vt_print(f, "    \"%s\": [%.9g, %.9g, %.9g],\n", key, (double)v[0],
             (double)v[1], (double)v[2]);
}

/* timm resizes to floor(size / crop_pct); half a pixel guards against rounding.
 */
static double crop_pct(const vt_words *w)
{
    const vt_preprocess *p = &w->how;

    if (w->crop_pct > 0)
        return w->crop_pct;
    if (p->fit == VT_FIT_NONE || p->resize_height <= p->height)
        return 1;
    return (double)p->height / ((double)p->resize_height + 0.5);
}

static uint32_t classes_of(const vt_words *w)
{
    return w->d ? vt_dataset_classes(w->d) : 0;
}

static void put_cfg(FILE *f, const vt_words *w)
{
    static const char *const filters[] = {
        [VT_NEAREST] = "nearest",   [VT_LANCZOS] = "lanczos",
        [VT_BILINEAR] = "bilinear", [VT_BICUBIC] = "bicubic",
        [VT_BOX] = "box",           [VT_HAMMING] = "hamming"};
    const char *mode = w->how.fit == VT_FIT_SQUASH   ? "squash"
                       : w->how.fit == VT_FIT_BORDER ? "border"
                                                     : "center";

    vt_print(f,
             "  \"pretrained_cfg\": {\n    \"input_size\": [3, %d, %d],\n"
             "    \"interpolation\": \"%s\",\n    \"crop_pct\": %.9g,\n"
             "    \"crop_mode\": \"%s\",\n",
             w->height, w->width, filters[w->how.filter], crop_pct(w), mode);
    put_three(f, "mean", w->how.mean);
    put_three(f, "std", w->how.std);
    fprintf(f,
            "    \"num_classes\": %u,\n"
            "    \"first_conv\": \"%s\",\n    \"classifier\": \"%s\"\n  },\n",
            classes_of(w), w->first_conv ? w->first_conv : "patch_embed.proj",
            w->classifier ? w->classifier : "head");
}

vitcl_status vt_config_text_new(char **out, const vt_words *w)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    bool bad;

    if (!f)
        return vt_fail(VITCL_ENOMEM, "out of memory for a config");
    fputs("{\n  \"architecture\": ", f);
    vt_json_print_string(f, w->architecture);
    fprintf(f, ",\n  \"num_classes\": %u,\n  \"global_pool\": \"%s\",\n",
            classes_of(w), w->pool);
    if (w->eps > 0)
        vt_print(f, "  \"layer_norm_eps\": %.9g,\n", w->eps);
    if (w->args[0])
        fprintf(f, "  \"model_args\": {%s},\n", w->args);
    fputs(w->more, f);
    put_cfg(f, w);
    fputs("  \"label_names\": [", f);
    for (uint32_t i = 0; i < classes_of(w); i++) {
        fputs(i ? ", " : "", f);
        vt_json_print_string(f, vt_dataset_class(w->d, i));
    }
    fputs("]\n}\n", f);
    bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad) {
        free(text);
        return vt_fail(VITCL_ENOMEM, "out of memory for a config");
    }
    *out = text;
    return VITCL_OK;
}
