/*
 * models.c - opens a checkpoint: finds its files and its family, and checks
 * every tensor against the plan (check.c).
 */
#include "models/derived.h"
#include "models/family.h"
#include "models/model_private.h"

#include "base/memory.h"
#include "models/config.h"
#include "models/open_clip.h"
#include "weights/sidecar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ---- */

/* A timm config is complete without a processor file. timm does not open these
 * files, so errors in them do not matter. */
static bool has_processor(const vt_model *m)
{
    return !vt_config_timm(m->json)[0];
}

/* transformers 5 writes one file for CLIP and SigLIP that includes the image
 * processor's settings, and looks there first. */
static vitcl_status load_processor(vt_model *m, const char *path)
{
    const vt_json *part;

    if (!has_processor(m))
        return VITCL_OK;
    m->processor_name = "processor_config.json";
    VT_RET(vt_sidecar_json(&m->processor_file, path, m->processor_name));
    part = vt_json_get(m->processor_file, "image_processor");
    if (!part) {
        vt_json_free(m->processor_file), m->processor_file = NULL;
        m->processor_name = "preprocessor_config.json";
        VT_RET(vt_sidecar_json(&m->processor_file, path, m->processor_name));
        part = m->processor_file;
    }
    m->preprocessor = part;
    return VITCL_OK;
}

/* names: a list, or {"0": text}; NULL or empty: none. Another number of names
 * is of another model: none can be trusted. */
static vitcl_status read_names(vt_model *m, const vt_json *names,
                               const char *key)
{
    const size_t named = vt_json_count(names);
    const bool numbered = vt_json_is_object(names);
    unsigned long id = 0;

    if (m->labels && named && named != m->labels)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the config's %s names %zu classes, but the model "
                       "has %u; correct or remove it",
                       m->path, key, named, m->labels);
    for (const vt_json *v = m->labels ? vt_json_first(names) : NULL; v;
         v = vt_json_next(v), id++) {
        char *end = NULL;

        if (numbered)
            id = strtoul(vt_json_key(v), &end, 10);
        if (numbered && (end == vt_json_key(v) || *end || id >= m->labels))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: the config's %s must have the numbers 0 to %u "
                           "as keys; correct or remove it",
                           m->path, key, m->labels - 1);
        vt_json_string(&m->label[id], v);
    }
    return VITCL_OK;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(vt_json_key(*(const vt_json *const *)a),
                  vt_json_key(*(const vt_json *const *)b));
}

static int has_key(const void *key, const void *member)
{
    return strcmp(key, vt_json_key(*(const vt_json *const *)member));
}

/* The longer names of the labels. */
static vitcl_status read_longnames(vt_model *m, const vt_json *texts)
{
    const size_t n = vt_json_count(texts);
    const vt_json **sorted = NULL, **found;
    vitcl_status st;
    size_t k = 0;

    if (!vt_json_is_object(texts))
        return VITCL_OK;
    VT_TRY(VT_NEW(&sorted, n + 1));
    for (const vt_json *v = vt_json_first(texts); v; v = vt_json_next(v))
        sorted[k++] = v;
    qsort(sorted, n, sizeof *sorted, by_key);
    for (uint32_t i = 0; i < m->labels; i++)
        if (m->label[i] &&
            (found = bsearch(m->label[i], sorted, n, sizeof *sorted, has_key)))
            vt_json_string(&m->longname[i], *found);
done:
    free(sorted);
    return st;
}

/* timm: label_names, in order or by number, label_descriptions{name: text}.
 * HF: id2label{"0": text}. */
static vitcl_status read_labels(vt_model *m)
{
    const char *key = "label_names";
    const vt_json *names = vt_json_get(m->json, key);
    const vt_json *texts = vt_json_get(m->json, "label_descriptions");
    const uint32_t n = (uint32_t)VT_MAX(m->config.classes, 0);

    VT_RET(VT_NEW(&m->label, n + 1));
    VT_RET(VT_NEW(&m->longname, n + 1));
    m->labels = n;
    if (m->config.source == VT_SOURCE_HF && !names)
        names = vt_json_get(m->json, key = "id2label");
    VT_RET(read_names(m, names, key));
    return read_longnames(m, texts);
}

/* [least, most]; older trainings wrote none. */
static bool read_detail(double out[2], const vt_json *v)
{
    if (!v || vt_json_is_null(v))
        return true;
    return vt_json_is_array(v) && vt_json_count(v) == 2 &&
           vt_json_number(&out[0], vt_json_at(v, 0)) &&
           vt_json_number(&out[1], vt_json_at(v, 1)) && out[0] >= 0 &&
           out[0] <= out[1] && out[1] <= VT_DETAIL_MAX;
}

/* {"temperature": T, "threshold": P, "detail": [A, B]}, which a training writes
 * (train/certainty.h). Published models have none. */
static vitcl_status read_certainty(vt_model *m)
{
    const vt_json *o = vt_json_get(m->json, "vitcl_certainty");
    vt_certainty *c = &m->certainty;

    if (!o || vt_json_is_null(o))
        return VITCL_OK;
    if (!vt_json_number(&c->temperature, vt_json_get(o, "temperature")) ||
        !vt_json_number(&c->threshold, vt_json_get(o, "threshold")) ||
        !(c->temperature >= 1e-3 && c->temperature <= 1e3) ||
        !(c->threshold >= 0 && c->threshold <= 1))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the config's vitcl_certainty must have a "
                       "temperature from 0.001 to 1000 and a threshold from 0 "
                       "to 1; correct or remove it",
                       m->path);
    if (!read_detail(c->detail, vt_json_get(o, "detail")))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the detail in the config's vitcl_certainty must be "
                       "two numbers from 0 to %g, the lower one first; correct "
                       "or remove it",
                       m->path, VT_DETAIL_MAX);
    return VITCL_OK;
}

/* What the logits mean. transformers refuses other words, too. */
static vitcl_status read_problem(vt_model *m)
{
    static const char *const known[] = {"single_label_classification",
                                        "multi_label_classification",
                                        "regression"};

    vt_json_string(&m->problem, vt_json_get(m->json, "problem_type"));
    for (size_t i = 0; i < VT_COUNT(known); i++)
        if (!m->problem || strcmp(m->problem, known[i]) == 0)
            return VITCL_OK;
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: the config's problem_type \"%.60s\" is not supported; "
                   "%s, %s and %s are",
                   m->path, m->problem, known[0], known[1], known[2]);
}

static vitcl_status unknown_family(const char *path, const vt_json *json)
{
    char list[400] = "";
    const char *name =
        vt_config_timm(json)[0] ? vt_config_timm(json) : vt_config_hf(json);

    if (!name[0])
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the config has neither timm's architecture nor "
                       "Hugging Face's model_type",
                       path);
    for (const vt_family *const *f = vt_families; *f; f++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 f == vt_families ? "" : ", ", (*f)->looks);
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: architecture \"%s\" is not supported; the supported "
                   "families are %s",
                   path, name, list);
}

/* Does the config name a model that no family matches? */
static bool is_foreign(const vt_json *json)
{
    return (vt_config_timm(json)[0] || vt_config_hf(json)[0]) &&
           !vt_family_find(json, NULL);
}

/* The error for a missing config, in a format that needs one. */
static vitcl_status no_config(const char *path, const char *format)
{
    vitcl_status st = VITCL_OK;
    char *file = NULL;

    VT_TRY(vt_path_beside(&file, path, "config.json"));
    st = vt_fail(VITCL_EIO,
                 "%s is missing; a %s checkpoint needs the config.json that "
                 "timm or Hugging Face publish with it",
                 file, format);
done:
    free(file);
    return st;
}

static vitcl_status find_family(vt_model *m, bool npz)
{
    m->config.family = vt_family_find(m->json, m->weights);
    if (!m->config.family && !m->json && !npz)
        return no_config(m->path,
                         vt_tensors_format(vt_weights_raw(m->weights)));
    return m->config.family ? VITCL_OK : unknown_family(m->path, m->json);
}

/* The last layer of open_clip's picture towers gives the vector itself. */
static void project(vt_model *m)
{
    vt_config *c = &m->config;

    if (!vt_json_get(m->json, "open_clip") || !vt_config_timm(m->json)[0])
        return;
    c->projection = c->classes;
    c->classes = 0;
    c->head_bias = vt_weight_has(m->weights, "head.bias");
    vt_json_bool(&c->norm_last, vt_json_get(m->json, "norm_last"));
    if (c->norm_last)
        c->fc_norm = true, c->final_norm = false;
}

/* open_clip's own config, where there is no other. */
static vitcl_status load_config(vt_json **out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_json *own = NULL;

    VT_TRY(vt_sidecar_json(out, path, "config.json"));
    if (!*out)
        VT_TRY(vt_sidecar_json(&own, path, "open_clip_config.json"));
    if (own)
        VT_TRY(vt_open_clip_picture(out, own, path));
done:
    vt_json_free(own);
    return st;
}

/* Sets up a model whose JSON has been read; takes ownership of raw. */
static vitcl_status know(vt_model *m, vt_tensors *raw, bool npz)
{
    vitcl_status st = vt_weights_new(
        &m->weights, raw,
        vt_config_vision(vt_family_of_type(vt_config_hf(m->json)), m->json),
        vt_names_of_families);

    if (st == VITCL_EUNSUPPORTED && is_foreign(m->json))
        st = unknown_family(m->path, m->json);
    if (st != VITCL_OK) {
        vt_tensors_free(raw);
        return st;
    }
    VT_TRY(find_family(m, npz));
    VT_TRY(vt_config_types(m->config.family, m->json, m->path));
    m->type = npz                        ? "npz"
              : vt_config_hf(m->json)[0] ? vt_config_hf(m->json)
                                         : "timm";
    VT_TRY(vt_config_begin(&m->config, m->json, m->path));
    VT_TRY(
        m->config.family->configure(&m->config, m->json, m->weights, m->path));
    project(m);
    VT_TRY(vt_config_keys(&m->config, m->json, m->path));
    m->config.said = (vt_said){0}; /* for the configure functions alone */
    VT_TRY(vt_model_check(m));
    VT_TRY(read_labels(m));
    VT_TRY(read_certainty(m));
    VT_TRY(read_problem(m));
done:
    return st;
}

static bool is_npz(const vt_tensors *raw)
{
    return strcmp(vt_tensors_format(raw), "npz") == 0;
}

/* A model's name alone is a common mistake: nothing is downloaded. */
static vitcl_status open_weights(vt_tensors **out, const char *path)
{
    const vitcl_status st = vt_tensors_open(out, path);

    if (st != VITCL_EIO || access(path, F_OK) == 0 || errno != ENOENT)
        return st;
    if (strncmp(path, "builtin:", 8) == 0)
        return vt_fail(VITCL_EIO, "%s: no such model; the built-in one is %s",
                       path, VITCL_MODEL_BUILTIN);
    return vt_fail(VITCL_EIO,
                   "%s: no such folder or file; download the checkpoint first",
                   path);
}

vitcl_status vt_model_open(vt_model **out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_tensors *raw = NULL;
    vt_model *m = NULL;
    bool npz;

    VT_TRY(VT_NEW(&m, 1));
    VT_TRY(vt_strdup(&m->path, path));
    VT_TRY(open_weights(&raw, path));
    npz = is_npz(raw);
    if (!npz) { /* a config.json next to a .npz does not belong to it */
        VT_TRY(load_config(&m->json, path));
        VT_TRY(load_processor(m, path));
        VT_TRY(vt_config_names(m->json, path));
    }
    st = know(m, raw, npz), raw = NULL;
    VT_TRY(st);
    *out = m, m = NULL;
done:
    vt_tensors_free(raw);
    vt_model_close(m);
    return st;
}

static vitcl_status parse_json(vt_json **out, const char *text, size_t size,
                               const char *model, const char *file)
{
    vitcl_status st = VITCL_OK;
    char *name = NULL;

    if (!text)
        return VITCL_OK;
    VT_TRY(vt_format(&name, "%s: %s", model, file));
    VT_TRY(vt_json_parse(out, text, size, 32, name));
done:
    free(name);
    return st;
}

vitcl_status vt_model_open_memory(vt_model **out,
                                  const vitcl_model_files *files)
{
    vitcl_status st = VITCL_OK;
    const char *name = files->name ? files->name : "model";
    vt_tensors *raw = NULL;
    vt_model *m = NULL;
    bool npz;

    VT_TRY(VT_NEW(&m, 1));
    VT_TRY(vt_strdup(&m->path, name));
    VT_TRY(vt_tensors_open_memory(&raw, files->weights, files->weights_bytes,
                                  name));
    npz = is_npz(raw);
    if (!npz) {
        VT_TRY(parse_json(&m->json, files->config, files->config_bytes, name,
                          "config.json"));
        m->processor_name = "preprocessor_config.json";
        if (has_processor(m))
            VT_TRY(parse_json(&m->processor_file, files->preprocessor,
                              files->preprocessor_bytes, name,
                              m->processor_name));
        m->preprocessor = vt_json_get(m->processor_file, "image_processor");
        if (!m->preprocessor)
            m->preprocessor = m->processor_file;
        VT_TRY(vt_config_names(m->json, name));
    }
    if (!npz && !m->json) {
        st = vt_fail(VITCL_EINVAL,
                     "%s: %s weights need the text of their config.json", name,
                     vt_tensors_format(raw));
        goto done;
    }
    st = know(m, raw, npz), raw = NULL;
    VT_TRY(st);
    *out = m, m = NULL;
done:
    vt_tensors_free(raw);
    vt_model_close(m);
    return st;
}
