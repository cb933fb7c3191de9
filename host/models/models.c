/*
 * models.c - the families, and opening a checkpoint: find its files, ask each
 * family whether it knows it, and hold every tensor against the plan.
 *
 * What a checkpoint must hold is not written down a second time: the plan of
 * one picture is written without a device, and each parameter that it names
 * must be in the file in that shape, and the file must hold nothing else.
 */
#include "models/fetch.h"
#include "models/vit.h"

#include "base/file.h"
#include "base/memory.h"
#include "models/config.h"

#include <stdio.h>
#include <string.h>

/* The first that matches takes it: special ones before general ones. */
const vt_arch vt_arch_table[] = {
    {"hybrid", "ResNet hybrid", vt_hybrid_match, vt_hybrid_configure,
     vt_hybrid_build},
    {"relpos", "ViT with relative positions", vt_relpos_match,
     vt_relpos_configure, vt_relpos_build},
    {"eva02", "EVA", vt_eva02_match, vt_eva02_configure, vt_eva02_build},
    {"beit", "BEiT", vt_beit_match, vt_beit_configure, vt_beit_build},
    {"deit", "DeiT", vt_deit_match, vt_deit_configure, vt_deit_build},
    {"dinov2", "DINOv2", vt_dinov2_match, vt_dinov2_configure, vt_dinov2_build},
    {"clip", "CLIP vision tower", vt_clip_match, vt_clip_configure,
     vt_clip_build},
    {"siglip", "SigLIP vision tower", vt_siglip_match, vt_siglip_configure,
     vt_siglip_build},
    {"vit", "ViT", vt_vit_match, vt_vit_configure, vt_vit_build},
    {NULL, NULL, NULL, NULL, NULL},
};

const vt_arch *vt_arch_find(const char *name)
{
    const vt_arch *a = vt_arch_table;

    while (a->name && strcmp(a->name, name) != 0)
        a++;
    return a->name ? a : NULL;
}

/* ---- what a plan asks for against what the file holds ---- */

static void describe(char *text, size_t size, uint32_t rank,
                     const uint64_t *shape)
{
    size_t n = 0;

    text[0] = 0;
    for (uint32_t i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%llu", i ? "," : "",
                              (unsigned long long)shape[i]);
}

/* Equal but for axes of length 1 and for trailing axes that the plan has as
 * one (a patch embedding's 3*P*P). */
static bool same_shape(const vt_weight *t, int rank, const int *dim)
{
    uint32_t i = 0;
    int k = 0;
    uint64_t rest = 1;

    while (k < rank - 1) {
        if (dim[k] == 1) {
            k++;
        } else if (i < t->rank && t->shape[i] == 1) {
            i++;
        } else if (i < t->rank && t->shape[i] == (uint64_t)dim[k]) {
            i++;
            k++;
        } else {
            return false;
        }
    }
    for (; i < t->rank; i++)
        rest *= t->shape[i];
    return rest == (uint64_t)dim[rank - 1];
}

typedef struct audit {
    vt_model *m;
    bool *used; /* of each weight */
    uint64_t parameters;
    int missing;
    char first[96]; /* missing */
} audit;

static void mark(audit *a, const vt_weight *t)
{
    for (size_t i = 0; i < vt_weights_count(a->m->weights); i++)
        if (vt_weights_at(a->m->weights, i) == t && !a->used[i]) {
            a->used[i] = true;
            a->parameters += t->count;
        }
}

/* A parameter that is made from several tensors: make it once to see that
 * they are there, and count them as used. */
static vitcl_status check_made(audit *a, const char *name, uint64_t count,
                               size_t plain)
{
    vitcl_status st = VITCL_OK;
    float *data = NULL;

    VT_TRY(vt_model_weight(&data, a->m, name, count));
    for (size_t i = 0; i < vt_weights_count(a->m->weights); i++) {
        const vt_weight *t = vt_weights_at(a->m->weights, i);
        if (strncmp(t->name, name, plain) == 0 && t->name[plain] == '.')
            mark(a, t);
    }
done:
    free(data);
    return st;
}

static vitcl_status check_one(audit *a, const vt_value *v)
{
    const vt_weight *t;
    char plain[96], has[64], wants[64];
    uint64_t dim[4], count = 1;
    int h, w;
    size_t n = vt_name_grid(v->name, &h, &w);

    for (int i = 0; i < v->rank; i++)
        count *= dim[i] = (uint64_t)v->dim[i];
    if (!a->m->weights) {
        a->parameters += count;
        return VITCL_OK;
    }
    if (n)
        return check_made(a, v->name, count, n);
    snprintf(plain, sizeof plain, "%s", v->name);
    if (vt_name_standard(plain))
        plain[vt_name_standard(plain)] = 0;
    t = vt_weights_get(a->m->weights, plain);
    if (!t) {
        if (a->missing++ == 0)
            snprintf(a->first, sizeof a->first, "%s", plain);
        return VITCL_OK;
    }
    mark(a, t);
    if (t->count == count && same_shape(t, v->rank, v->dim))
        return VITCL_OK;
    describe(has, sizeof has, t->rank, t->shape);
    describe(wants, sizeof wants, (uint32_t)v->rank, dim);
    return vt_fail(VITCL_ECORRUPT, "%s: %s is [%s], but this %s needs [%s]",
                   a->m->path, plain, has, a->m->arch->looks, wants);
}

/* Buffers and parts that training left behind. */
static bool harmless(const vt_model *m, const char *name)
{
    static const char *const parts[] = {"position_ids",
                                        "mask_token",
                                        "relative_position_index",
                                        "relative_coords",
                                        "rel_coords",
                                        "num_batches_tracked",
                                        NULL};
    static const char *const timm_parts[] = {"pre_logits.", NULL};
    static const char *const hf_parts[] = {"pooler.", "text_model.",
                                           "text_projection", "logit_", NULL};

    return vt_name_has(name, parts) ||
           (m->config.source == VT_SOURCE_TIMM &&
            vt_name_has(name, timm_parts)) ||
           (m->config.source == VT_SOURCE_HF && vt_name_has(name, hf_parts));
}

static vitcl_status check_rest(const audit *a)
{
    const vt_model *m = a->m;
    const char *first = NULL;
    int surplus = 0;

    if (a->missing > 1)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s and %d more tensors are missing (the file looks "
                       "like a %s)",
                       m->path, a->first, a->missing - 1, m->arch->looks);
    if (a->missing)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s is missing (the file looks like a %s)", m->path,
                       a->first, m->arch->looks);
    for (size_t i = 0; m->weights && i < vt_weights_count(m->weights); i++) {
        const char *name = vt_weights_at(m->weights, i)->name;
        if (!a->used[i] && !harmless(m, name) && surplus++ == 0)
            first = name;
    }
    if (surplus > 1)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s and %d more tensors have no place in this %s",
                       m->path, first, surplus - 1, m->arch->looks);
    if (surplus)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: %s has no place in this %s",
                       m->path, first, m->arch->looks);
    return VITCL_OK;
}

/* A joined q, k, v bias has zeros where the file has no k bias (BEiT, EVA):
 * they are no parameters. */
static uint64_t made_up(const vt_model *m)
{
    static const char *const real[] = {"k_bias",   "key.bias", "k_proj.bias",
                                       "key/bias", "qkv.bias", "in_proj_bias",
                                       NULL};
    const vt_config *c = &m->config;
    const vt_tensors *raw;

    if (!m->weights || !c->qkv_bias)
        return 0;
    raw = vt_weights_raw(m->weights);
    for (size_t i = 0; i < vt_tensors_count(raw); i++)
        if (vt_name_has(vt_tensors_at(raw, i)->name, real))
            return 0;
    return (uint64_t)c->depth * (uint64_t)c->width;
}

/* The plan of one picture, to be looked at. */
static vitcl_status sketch(vt_plan **out, vt_model *m, int height, int width)
{
    static const char *const keep[] = {"block.*", "norm", NULL};
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;
    vt_outputs o;

    VT_TRY(vt_plan_new(&p, &(vt_plan_options){.keep = keep}));
    vt_model_build(
        p, m, vt_input(p, "pixels", VT_F32, 4, (int[]){1, 3, height, width}),
        &o);
    VT_TRY(vt_plan_status(p));
    *out = p, p = NULL;
done:
    vt_plan_free(p);
    return st;
}

vitcl_status vt_model_check(vt_model *m)
{
    vitcl_status st = VITCL_OK;
    audit a = {.m = m};
    vt_plan *p = NULL;

    if (m->weights)
        VT_TRY(VT_NEW(&a.used, vt_weights_count(m->weights) + 1));
    VT_TRY(sketch(&p, m, m->config.height, m->config.width_px));
    for (int i = 0; i < vt_plan_steps(p); i++)
        for (int k = 0; k < VT_INS; k++) {
            const vt_value *v = vt_value_of(p, vt_plan_step(p, i)->in[k]);
            bool seen = false;
            if (!v || v->kind != VT_PARAM)
                continue;
            /* one value that several steps read counts once */
            for (int j = 0; j < i && !seen && !m->weights; j++)
                for (int l = 0; l < VT_INS && !seen; l++)
                    seen =
                        vt_plan_step(p, j)->in[l] == vt_plan_step(p, i)->in[k];
            if (!seen)
                VT_TRY(check_one(&a, v));
        }
    VT_TRY(check_rest(&a));
    m->parameters = a.parameters - made_up(m);
done:
    vt_plan_free(p);
    free(a.used);
    return st;
}

vitcl_status vt_model_macs(double *out, vt_model *m, int height, int width)
{
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;

    VT_TRY(sketch(&p, m, height, width));
    *out = vt_plan_macs(p);
done:
    vt_plan_free(p);
    return st;
}

/* ---- opening ---- */

/* folder/name beside (or in) path */
static vitcl_status beside(char **out, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    if (vt_path_is_folder(path))
        return vt_format(out, "%s/%s", path, name);
    if (!slash)
        return vt_strdup(out, name);
    return vt_format(out, "%.*s/%s", (int)(slash - path), path, name);
}

static vitcl_status load_json(vt_json **out, const char *path, const char *name)
{
    vitcl_status st = VITCL_OK;
    char *file = NULL;

    VT_TRY(beside(&file, path, name));
    if (vt_path_exists(file))
        st = vt_json_load(out, file, (size_t)64 << 20, 32);
done:
    free(file);
    return st;
}

/* timm: label_names, label_descriptions{name: text}. HF: id2label{"0": text}.
 */
static vitcl_status read_labels(vt_model *m)
{
    vitcl_status st = VITCL_OK;
    const vt_json *names = vt_json_get(m->json, "label_names");
    const vt_json *texts = vt_json_get(m->json, "label_descriptions");
    const vt_json *ids = vt_json_get(m->json, "id2label");
    const uint32_t n = (uint32_t)VT_MAX(m->config.classes, 0);
    uint32_t i = 0;

    VT_TRY(VT_NEW(&m->label, n + 1));
    VT_TRY(VT_NEW(&m->longname, n + 1));
    m->labels = n;
    if (vt_json_is_array(names)) {
        /* descriptions come in the same order as a rule: look there first */
        const vt_json *text = vt_json_first(texts);
        for (const vt_json *v = vt_json_first(names); v && i < n;
             v = vt_json_next(v), i++) {
            if (!vt_json_string(&m->label[i], v))
                continue;
            if (!text || strcmp(vt_json_key(text), m->label[i]) != 0)
                text = vt_json_get(texts, m->label[i]);
            vt_json_string(&m->longname[i], text);
            text = text ? vt_json_next(text) : NULL;
        }
    } else if (vt_json_is_object(ids) && m->config.source == VT_SOURCE_HF) {
        for (const vt_json *v = vt_json_first(ids); v; v = vt_json_next(v)) {
            char *end = NULL;
            const unsigned long id = strtoul(vt_json_key(v), &end, 10);
            if (end != vt_json_key(v) && *end == 0 && id < n)
                vt_json_string(&m->label[id], v);
        }
    }
done:
    return st;
}

static vitcl_status unknown_family(const char *path, const vt_json *json)
{
    char list[128] = "";
    const char *name =
        vt_config_timm(json)[0] ? vt_config_timm(json) : vt_config_hf(json);

    for (const vt_arch *a = vt_arch_table; a->name; a++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 a == vt_arch_table ? "" : ", ", a->name);
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: \"%s\" is of no family that is known here (%s)", path,
                   name, list);
}

/* Only formats that have none by nature do without a config. */
static vitcl_status no_config(const char *path, const char *format)
{
    vitcl_status st = VITCL_OK;
    char *file = NULL;

    VT_TRY(beside(&file, path, "config.json"));
    st = vt_fail(VITCL_EIO,
                 "%s is not there; a %s checkpoint needs the config.json that "
                 "timm or Hugging Face publish with it",
                 file, format);
done:
    free(file);
    return st;
}

static vitcl_status find_family(vt_model *m, bool npz)
{
    const vt_arch *a = vt_arch_table;

    while (a->name && !a->match(m->json, m->weights))
        a++;
    if (!a->name && !m->json && !npz)
        return no_config(m->path,
                         vt_tensors_format(vt_weights_raw(m->weights)));
    if (!a->name)
        return unknown_family(m->path, m->json);
    m->arch = a;
    snprintf(m->config.family, sizeof m->config.family, "%s", a->name);
    return VITCL_OK;
}

vitcl_status vt_model_open(vt_model **out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_tensors *raw = NULL;
    vt_model *m = NULL;
    bool npz;

    VT_TRY(VT_NEW(&m, 1));
    VT_TRY(vt_strdup(&m->path, path));
    VT_TRY(vt_tensors_open(&raw, path));
    npz = strcmp(vt_tensors_format(raw), "npz") == 0;
    if (!npz) { /* a stray config beside a .npz is not its own */
        VT_TRY(load_json(&m->json, path, "config.json"));
        VT_TRY(load_json(&m->preprocessor, path, "preprocessor_config.json"));
    }
    VT_TRY(vt_weights_new(&m->weights, raw, vt_config_vision(m->json)));
    raw = NULL;
    VT_TRY(find_family(m, npz));
    m->type = npz                        ? "npz"
              : vt_config_hf(m->json)[0] ? vt_config_hf(m->json)
                                         : "timm";
    VT_TRY(m->arch->configure(&m->config, m->json, m->weights, path));
    VT_TRY(vt_model_check(m));
    VT_TRY(read_labels(m));
    *out = m, m = NULL;
done:
    vt_tensors_free(raw);
    vt_model_close(m);
    return st;
}

void vt_model_close(vt_model *m)
{
    if (!m)
        return;
    vt_weights_free(m->weights);
    vt_json_free(m->json);
    vt_json_free(m->preprocessor);
    free(m->path);
    free(m->label);
    free(m->longname);
    free(m);
}

/* ---- questions ---- */

const vt_config *vt_model_config(const vt_model *m)
{
    return &m->config;
}

const vt_json *vt_model_json(const vt_model *m)
{
    return m->json;
}

const vt_json *vt_model_preprocessor(const vt_model *m)
{
    return m->preprocessor;
}

const char *vt_model_type(const vt_model *m)
{
    return m->type;
}

const char *vt_model_label(const vt_model *m, uint32_t label)
{
    return label < m->labels ? m->label[label] : NULL;
}

const char *vt_model_longname(const vt_model *m, uint32_t label)
{
    return label < m->labels ? m->longname[label] : NULL;
}

uint64_t vt_model_parameters(const vt_model *m)
{
    return m->parameters;
}

int vt_model_tokens(const vt_model *m, int height, int width)
{
    const vt_config *c = &m->config;

    if (height < 1 || width < 1 || height % c->patch_h || width % c->patch_w)
        return 0;
    return height / c->patch_h * (width / c->patch_w) + c->class_token +
           c->dist_token + c->registers;
}

void vt_model_build(vt_plan *p, vt_model *m, vt_val pixels, vt_outputs *out)
{
    const vt_config *c = &m->config;
    const int h = vt_dim(p, pixels, 2), w = vt_dim(p, pixels, 3);

    *out = (vt_outputs){VT_NONE, VT_NONE};
    if (vt_plan_status(p) != VITCL_OK)
        return;
    if (!vt_model_tokens(m, h, w)) {
        vt_plan_fail(p, vt_fail(VITCL_EINVAL,
                                "pictures of %dx%d pixels are no whole number "
                                "of this model's %dx%d patches",
                                h, w, c->patch_h, c->patch_w));
        return;
    }
    m->arch->build(p, m, pixels, out);
    vt_keep(p, out->features);
    vt_keep(p, out->logits);
}
