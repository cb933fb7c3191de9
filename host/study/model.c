/*
 * model.c - the checkpoint that a study begins with, converted to timm's form
 * once, in a folder that a dry run has of its own.
 */
#include "base/file.h"
#include "base/json.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/sha256.h"
#include "base/text.h"
#include "study/private.h"

#include <string.h>

enum { CONFIG_MOST = 16 << 20 };

/* A folder of its own for each path. */
static vitcl_status place(vt_study_model *m, char whole[VT_STUDY_PATH],
                          const vt_experiment *e)
{
    uint8_t hash[32];
    char hex[65];

    vt_sha256(e->options.model, strlen(e->options.model), hash);
    vt_sha256_hex(hex, hash);
    VT_RET(vt_study_path(m->path, e, "measure/model-%.10s", hex));
    return vt_study_path(whole, e, "measure/model-%.10s.whole", hex);
}

static vitcl_status convert(const vt_study_model *m, const vt_experiment *e,
                            const char *messages)
{
    const char *const words[] = {"convert", "-m",    e->options.model,
                                 "-o",      m->path, NULL};
    vitcl_status st;
    char whole[VT_STUDY_PATH];
    vt_study_model same;

    VT_TRY(place(&same, whole, e));
    if (vt_path_exists(whole))
        goto done;
    VT_TRY(vt_process_run(e, words, NULL, messages,
                          "reading the model in timm's format"));
    VT_TRY(vt_study_write(whole, ""));
done:
    return st;
}

/* What `train --config` needs to know of an architecture. */
static vitcl_status read_config(vt_study_model *m)
{
    static const char *const keys[] = {"architecture", "model_args",
                                       "stem_layers", "stem_widths",
                                       "stem_block"};
    vitcl_status st;
    char path[VT_STUDY_PATH + 16], *all = NULL;
    vt_json *json = NULL;
    vt_text t;
    int n = 0;

    snprintf(path, sizeof path, "%s/config.json", m->path);
    VT_TRY(vt_json_load(&json, path, CONFIG_MOST, 16));
    VT_TRY(vt_text_open(&t));
    for (size_t i = 0; i < VT_COUNT(keys); i++) {
        const vt_json *v = vt_json_get(json, keys[i]);

        if (!v)
            continue;
        fprintf(t.f, "%s\"%s\": ", n++ ? ", " : "{", keys[i]);
        vt_json_print(t.f, v);
    }
    fputs(n ? "}\n" : "{}\n", t.f);
    VT_TRY(vt_text_take(&all, &t));
    if (snprintf(m->config, sizeof m->config, "%s", all) >=
        (int)sizeof m->config)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: its description of the architecture is too long for "
                     "a study",
                     path);
done:
    free(all);
    vt_json_free(json);
    return st;
}

static vitcl_status read_side(vt_study_model *m, const vt_experiment *e,
                              const char *messages)
{
    const char *const words[] = {"info", "-m", m->path, "--json", NULL};
    vitcl_status st;
    char out[VT_STUDY_PATH];
    vt_json *json = NULL;
    uint64_t height = 0, width = 0;

    VT_TRY(vt_study_path(out, e, "measure/model.info.json"));
    VT_TRY(vt_process_run(e, words, out, messages, "reading the model"));
    VT_TRY(vt_json_load(&json, out, CONFIG_MOST, 8));
    vt_json_uint(&height, vt_json_get(json, "trained_height"));
    vt_json_uint(&width, vt_json_get(json, "trained_width"));
    if (height < 1 || height > 4096 || height != width)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: was trained at %llux%llu pixels; a study needs a "
                     "model of square pictures",
                     e->options.model, (unsigned long long)height,
                     (unsigned long long)width);
    m->side = (uint32_t)height;
done:
    vt_json_free(json);
    return st;
}

static vitcl_status find(vt_study_model *out, const vt_experiment *e)
{
    char whole[VT_STUDY_PATH], messages[VT_STUDY_PATH];
    vt_study_model m = {.side = 0};

    VT_RET(place(&m, whole, e));
    VT_RET(vt_study_path(messages, e, "measure/model.messages.txt"));
    VT_RET(convert(&m, e, messages));
    VT_RET(read_config(&m));
    VT_RET(read_side(&m, e, messages));
    *out = m;
    return VITCL_OK;
}

const vt_study_model *vt_study_model_of(vt_experiment *e)
{
    if (!e->options.model)
        return NULL;
    if (!e->model.path[0] && e->status == VITCL_OK)
        vt_experiment_fail(e, find(&e->model, e));
    return &e->model;
}
