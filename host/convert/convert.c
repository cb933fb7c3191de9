/*
 * convert.c - write a checkpoint as a folder in the form of timm or HF.
 *
 * A checkpoint that is already in that form keeps its names and its configs,
 * byte for byte; only the type of its floats may change. Any other is opened as
 * a model, so that the result is what this library would run.
 */
#include "convert/convert.h"

#include "base/file.h"
#include "base/memory.h"
#include "models/preprocess.h"
#include "weights/sidecar.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct job {
    const char *folder, *path;
    vt_model *model;
    vt_tensors *raw;
    vt_weights *weights;
    vt_target target;
    vt_preprocess how;
    vt_file_dtype dtype;
} job;

static vitcl_status read_dtype(vt_file_dtype *out, const char *word)
{
    static const struct {
        const char *word;
        vt_file_dtype dtype;
    } words[] = {
        {"f32", VT_FILE_F32}, {"f16", VT_FILE_F16}, {"bf16", VT_FILE_BF16}};

    *out = VT_FILE_OTHER;
    for (size_t i = 0; word && i < VT_COUNT(words); i++)
        if (strcmp(word, words[i].word) == 0)
            *out = words[i].dtype;
    if (word && *out == VT_FILE_OTHER)
        return vt_fail(VITCL_EINVAL,
                       "type must be f32, f16 or bf16, not \"%s\"", word);
    return VITCL_OK;
}

/* ---- the model in the other library ---- */

static const char *timm_hybrid(const vt_config *c)
{
    if (c->stem_only)
        return "vit_tiny_r_s16_p8_224";
    if (c->stem_stages == 3)
        return "vit_base_r50_s16_224";
    if (c->stem_stages == 4 && c->stem_layers[2] == 6)
        return "vit_large_r50_s32_224";
    return "vit_small_r26_s32_224";
}

/* What only vitcl can train: no other library can load it. */
static vitcl_status check_variant(const job *j, const char *library)
{
    const vt_config *c = vt_model_config(j->model);
    const vt_json *args = vt_json_get(vt_model_json(j->model), "model_args");
    const char *lacks =
        c->pos_kind != VT_POS_1D || c->pos_injection != VT_AT_STEM
            ? "these position embeddings"
        : c->pre_logits ? "a pre-logits layer"
        : c->pre_norm && c->classes && !c->final_norm && !c->fc_norm
            ? "a head on patches without a norm"
        : strcmp(c->family, "resnet") == 0 && vt_json_get(args, "layers")
            ? "this number of layers in its stages"
            : NULL;

    if (!lacks)
        return VITCL_OK;
    return vt_fail(VITCL_EUNSUPPORTED, "%s: %s has no model with %s", j->path,
                   library, lacks);
}

static vitcl_status to_timm(job *j)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c = vt_model_config(j->model);
    vt_target *t = &j->target;
    bool zero = false;

    t->to = VT_TO_TIMM;
    VT_TRY(check_variant(j, "timm"));
    if (c->pos_embed && c->pos_prefix && c->class_token)
        VT_TRY(vt_weight_is_zero(&zero, j->weights, "pos_embed",
                                 (uint64_t)c->width));
    /* timm's models with registers have position embeddings for patches only;
     * the conversion to HF added a row of zeros. */
    t->no_embed_class =
        c->class_token && (c->pos_prefix == 0 || c->registers > 0 || zero);
    if (strcmp(c->family, "hybrid") == 0) {
        t->type = timm_hybrid(c);
    } else if (c->dist_token) {
        t->type = "deit_base_distilled_patch16_224";
    } else if (strcmp(c->family, "beit") == 0) {
        t->to = VT_TO_TIMM_BEIT;
        t->type = "beit_base_patch16_224";
    } else if (c->pre_norm) {
        t->type = c->act == VT_ACT_GELU_QUICK
                      ? "vit_base_patch16_clip_quickgelu_224"
                      : "vit_base_patch16_clip_224";
    } else if (c->attn_pool) {
        t->type = "vit_base_patch16_siglip_224";
    } else if (c->layer_scale) {
        t->type = c->swiglu && c->registers ? "vit_giant_patch14_reg4_dinov2"
                  : c->swiglu               ? "vit_giant_patch14_dinov2"
                  : c->registers            ? "vit_base_patch14_reg4_dinov2"
                  : t->no_embed_class       ? "deit3_base_patch16_224"
                                            : "vit_base_patch14_dinov2";
    } else {
        t->type = "vit_base_patch16_224";
    }
done:
    return st;
}

static const struct {
    vt_export_to to;
    const char *type, *with_head, *without, *prefix;
} hf_types[] = {
    {VT_TO_HF_DEIT, "deit", "DeiTForImageClassificationWithTeacher",
     "DeiTModel", "deit."},
    {VT_TO_HF_BEIT, "beit", "BeitForImageClassification", "BeitModel", "beit."},
    {VT_TO_HF_CLIP, "clip_vision_model", "CLIPVisionModelWithProjection",
     "CLIPVisionModel", "vision_model."},
    {VT_TO_HF_SIGLIP, "siglip_vision_model", "SiglipVisionModel",
     "SiglipVisionModel", "vision_model."},
    {VT_TO_HF_DINOV2, "dinov2", "Dinov2ForImageClassification", "Dinov2Model",
     "dinov2."},
    {VT_TO_HF_DINOV2_GLU, "dinov2", "Dinov2ForImageClassification",
     "Dinov2Model", "dinov2."},
    {VT_TO_HF_VIT, "vit", "ViTForImageClassification", "ViTModel", "vit."},
};

static vt_export_to hf_kind(const vt_config *c)
{
    return c->dist_token                    ? VT_TO_HF_DEIT
           : strcmp(c->family, "beit") == 0 ? VT_TO_HF_BEIT
           : c->pre_norm                    ? VT_TO_HF_CLIP
           : c->attn_pool                   ? VT_TO_HF_SIGLIP
           : c->layer_scale && c->swiglu    ? VT_TO_HF_DINOV2_GLU
           : c->layer_scale                 ? VT_TO_HF_DINOV2
                                            : VT_TO_HF_VIT;
}

/* NULL, or what HF's class for this model type does not support. Tensors that
 * it does not have are found when they are written. */
static const char *hf_lacks(const vt_config *c, vt_export_to to)
{
    const bool mean = c->pool == VT_POOL_MEAN || c->pool == VT_POOL_MAX;
    const bool dino = to == VT_TO_HF_DINOV2 || to == VT_TO_HF_DINOV2_GLU;

    if (c->rope || c->post_norm || c->stem_stages || c->stem_only)
        return "rotary positions, post-norm blocks or a ResNet stem";
    if (!c->proj_bias || !c->fc_bias)
        return "layers without a bias";
    if (to == VT_TO_HF_SIGLIP)
        return c->classes ? "a classifier on an attention-pooled tower" : NULL;
    if (to == VT_TO_HF_BEIT)
        return c->qkv_bias ? NULL : "BEiT without q and v biases";
    if (!c->class_token)
        return "a model without a class token";
    if (mean && c->classes)
        return "a head on pooled patches";
    if (c->registers && !dino)
        return "registers without layer scale";
    if (dino && c->swiglu && c->mlp % 8)
        return "a SwiGLU width that is not a multiple of 8";
    if (c->swiglu && !dino)
        return "SwiGLU without layer scale";
    return NULL;
}

static vitcl_status to_hf(job *j)
{
    const vt_config *c = vt_model_config(j->model);
    const vt_export_to to = hf_kind(c);
    const char *lacks = hf_lacks(c, to);
    const bool head = c->classes || c->projection;
    vt_target *t = &j->target;

    if (strcmp(c->family, "resnet") == 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a ResNet can only be written with --to timm",
                       j->path);
    if (c->source == VT_SOURCE_TIMM && check_variant(j, "HF") != VITCL_OK)
        return VITCL_EUNSUPPORTED;
    if (lacks)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: HF transformers has no class for %s: try --to timm",
                       j->path, lacks);
    for (size_t i = 0; i < VT_COUNT(hf_types); i++)
        if (hf_types[i].to == to)
            *t =
                (vt_target){to, hf_types[i].type,
                            head ? hf_types[i].with_head : hf_types[i].without,
                            head || to == VT_TO_HF_CLIP || to == VT_TO_HF_SIGLIP
                                ? hf_types[i].prefix
                                : "",
                            false};
    if (c->registers) {
        t->type = "dinov2_with_registers";
        t->architecture = head ? "Dinov2WithRegistersForImageClassification"
                               : "Dinov2WithRegistersModel";
        t->prefix = head ? "dinov2_with_registers." : "";
    }
    return VITCL_OK;
}

/* ---- writing ---- */

static vitcl_status write_json(const job *j, const char *name,
                               void (*put)(FILE *f, const job *j))
{
    vitcl_status st;
    char *path = NULL;
    vt_newfile file = {0};

    VT_TRY(vt_format(&path, "%s/%s", j->folder, name));
    VT_TRY(vt_newfile_open(&file, path));
    put(file.f, j);
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(path);
    return st;
}

static void put_timm(FILE *f, const job *j)
{
    vt_convert_timm(f, j->model, &j->target, &j->how);
}

static void put_hf(FILE *f, const job *j)
{
    vt_convert_hf(f, j->model, &j->target);
}

static void put_preprocessor(FILE *f, const job *j)
{
    vt_convert_preprocessor(f, &j->how);
}

/* Writes the names of another library. */
static vitcl_status translate(job *j, bool timm, const char *file)
{
    vitcl_status st;
    static const char *const metadata[] = {"format", "pt", NULL};
    const vt_config *c = vt_model_config(j->model);
    vt_export how = {.dtype = j->dtype};
    const vt_weight *head = vt_weights_get(j->weights, "head.weight");
    const bool wide =
        head && head->rank == 2 && head->shape[1] == 2 * (uint64_t)c->width;

    VT_TRY(vt_model_preprocess(&j->how, j->model, (uint32_t)c->height,
                               (uint32_t)c->width_px));
    VT_TRY(timm ? to_timm(j) : to_hf(j));
    how.to = j->target.to;
    how.prefix = j->target.prefix;
    how.metadata = timm ? NULL : metadata;
    if (timm) {
        how.fold_positions = j->target.no_embed_class && c->pos_prefix > 0;
        how.narrow_head = wide && !c->dist_token;
        how.add_head_bias = c->projection > 0;
        if (!c->attn_pool) /* HF's SigLIP classifiers keep it, unused */
            how.drop = "attn_pool.";
    } else {
        how.pad_positions =
            c->pos_embed && c->class_token && c->pos_prefix == 0;
        how.widen_head = !wide && (how.to == VT_TO_HF_DINOV2 ||
                                   how.to == VT_TO_HF_DINOV2_GLU);
        how.drop_head_bias = how.to == VT_TO_HF_CLIP;
    }
    VT_TRY(vt_weights_export(file, j->weights, &how));
    VT_TRY(write_json(j, "config.json", timm ? put_timm : put_hf));
    if (!timm)
        VT_TRY(write_json(j, "preprocessor_config.json", put_preprocessor));
done:
    return st;
}

static vitcl_status write_bytes(const job *j, const char *name,
                                const void *bytes, size_t size)
{
    vitcl_status st = VITCL_OK;
    char *to = NULL;
    vt_newfile out = {0};

    VT_TRY(vt_format(&to, "%s/%s", j->folder, name));
    VT_TRY(vt_newfile_open(&out, to));
    if (fwrite(bytes, 1, size, out.f) != size) {
        st = vt_fail(VITCL_EIO, "%s: %s", to, strerror(errno));
        goto done;
    }
    VT_TRY(vt_newfile_commit(&out));
done:
    vt_newfile_discard(&out);
    free(to);
    return st;
}

/* Copies a config file; if it does not exist, that is no error. */
static vitcl_status copy_config(const job *j, const char *name)
{
    vitcl_status st;
    vt_file in = {0};

    VT_TRY(vt_sidecar_read(&in, NULL, j->path, name));
    if (in.data)
        VT_TRY(write_bytes(j, name, in.data, in.size));
done:
    vt_file_close(&in);
    return st;
}

static vitcl_status keep_names(job *j, bool timm, const char *file)
{
    vitcl_status st;
    static const char *const metadata[] = {"format", "pt", NULL};

    VT_TRY(vt_tensors_export(file, vt_weights_raw(j->weights), j->dtype,
                             timm ? NULL : metadata));
    VT_TRY(copy_config(j, "config.json"));
    VT_TRY(copy_config(j, "preprocessor_config.json"));
    VT_TRY(copy_config(j, "processor_config.json"));
done:
    return st;
}

vitcl_status vitcl_convert(const char *folder, const char *path, const char *to,
                           const char *dtype)
{
    vitcl_status st;
    job j = {.folder = folder, .path = path};
    char *file = NULL;
    bool timm, same, made = false;

    if (!folder || !path || !to)
        return vt_fail(VITCL_EINVAL, "%s: an argument is NULL", __func__);
    timm = strcmp(to, "timm") == 0;
    if (!timm && strcmp(to, "hf") != 0)
        return vt_fail(VITCL_EINVAL, "format must be timm or hf, not \"%s\"",
                       to);
    VT_TRY(read_dtype(&j.dtype, dtype));
    VT_TRY(vt_model_open(&j.model, path));
    VT_TRY(vt_tensors_open(&j.raw, path));
    VT_TRY(vt_weights_new(&j.weights, j.raw, NULL));
    j.raw = NULL;
    made = mkdir(folder, 0777) == 0;
    if (!made && errno != EEXIST) {
        st = vt_fail(VITCL_EIO, "%s: %s", folder, strerror(errno));
        goto done;
    }
    VT_TRY(vt_format(&file, "%s/model.safetensors", folder));
    same = vt_model_json(j.model) &&
           vt_model_config(j.model)->source ==
               (timm ? VT_SOURCE_TIMM : VT_SOURCE_HF) &&
           strcmp(vt_weights_dialect(j.weights), to) == 0;
    if (same && timm)
        VT_TRY(check_variant(&j, "timm"));
    VT_TRY(same ? keep_names(&j, timm, file) : translate(&j, timm, file));
done:
    if (st != VITCL_OK && made)
        rmdir(folder); /* it stays if it is not empty */
    free(file);
    vt_weights_free(j.weights);
    vt_tensors_free(j.raw);
    vt_model_close(j.model);
    return st;
}
