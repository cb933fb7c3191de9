/*
 * check.c - checks a file's tensors against the parameters of a plan.
 *
 * There is no separate list of expected tensors. The plan of one picture is
 * built without a device; each of its parameters must be in the file in that
 * shape, and the file must hold nothing else. Missing tensors are reported
 * before misshapen ones, and these before surplus ones, because each kind may
 * cause the next.
 */
#include "base/memory.h"
#include "models/config.h"
#include "models/derived.h"
#include "models/family.h"
#include "models/model_private.h"

#include <stdio.h>
#include <string.h>

static void describe(char *text, size_t size, uint32_t rank,
                     const uint64_t *shape)
{
    size_t n = 0;

    text[0] = 0;
    for (uint32_t i = 0; i < rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%llu", i ? "," : "",
                              (unsigned long long)shape[i]);
}

/* Equal, ignoring axes of length 1. The plan's last axis may be several axes of
 * the file (a patch embedding's 3*P*P). */
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
    char first[VT_NAME]; /* missing */
    char wrong[400];     /* the message about the first misshapen one */
} audit;

/* learnt: parameters to count, not a buffer */
static void mark(audit *a, const vt_weight *t, bool learnt)
{
    for (size_t i = 0; i < vt_weights_count(a->m->weights); i++)
        if (vt_weights_at(a->m->weights, i) == t && !a->used[i]) {
            a->used[i] = true;
            a->parameters += learnt ? t->count : 0;
        }
}

/* Is this one of the tensors of a block's lambda (diff.c)? */
static bool is_lambda(const char *tensor, const char *name)
{
    const char *at = strstr(name, "attn.qkv.weight@second");
    const size_t n = at ? (size_t)(at - name) : 0;

    return n && strncmp(tensor, name, n) == 0 &&
           strncmp(tensor + n, "attn.lambda_", 12) == 0;
}

/* A parameter that is derived from other tensors: derive it once to check
 * that they are there, and mark them as used. */
static vitcl_status check_made(audit *a, const char *name, uint64_t count,
                               size_t plain)
{
    vitcl_status st = VITCL_OK;
    float *data = NULL;

    VT_TRY(vt_model_weight(&data, a->m, name, count));
    for (size_t i = 0; i < vt_weights_count(a->m->weights); i++) {
        const vt_weight *t = vt_weights_at(a->m->weights, i);
        if ((strncmp(t->name, name, plain) == 0 &&
             (!t->name[plain] || t->name[plain] == '.')) ||
            (strncmp(name, "rope.freqs.", 11) == 0 &&
             strcmp(t->name, "rope.freqs") == 0) ||
            is_lambda(t->name, name) ||
            (strncmp(name, "mid_pos_embed.", 14) == 0 &&
             strcmp(t->name, "mid_pos_embed") == 0))
            mark(a, t, true);
    }
done:
    free(data);
    return st;
}

/* Checks that the file has the tensor in v's shape. */
static void check_tensor(audit *a, const char *name, const vt_value *v,
                         bool learnt)
{
    const vt_weight *t = vt_weights_get(a->m->weights, name);
    char has[64], wants[64];
    uint64_t dim[4], count = 1;

    for (int i = 0; i < v->rank; i++)
        count *= dim[i] = (uint64_t)v->dim[i];
    if (!t) {
        if (a->missing++ == 0)
            snprintf(a->first, sizeof a->first, "%s", name);
        return;
    }
    mark(a, t, learnt);
    if ((t->count == count && same_shape(t, v->rank, v->dim)) || a->wrong[0])
        return;
    describe(has, sizeof has, t->rank, t->shape);
    describe(wants, sizeof wants, (uint32_t)v->rank, dim);
    snprintf(a->wrong, sizeof a->wrong, "%s is [%s], but this %s needs [%s]",
             name, has, vt_model_looks(a->m), wants);
}

/* Is this the bias of a folded BatchNorm? Its running statistics are no
 * parameters. */
static bool is_folded_bias(const char *name)
{
    return vt_name_folded(name) && strstr(name, ".bias@");
}

static vitcl_status check_one(audit *a, const vt_value *v)
{
    char plain[VT_NAME];
    uint64_t count = 1;
    int h, w;
    size_t n = vt_name_grid(v->name, &h, &w);

    for (int i = 0; i < v->rank; i++)
        count *= (uint64_t)v->dim[i];
    if (!a->m->weights) {
        a->parameters += count;
        return VITCL_OK;
    }
    n = n ? n : vt_name_attention(v->name);
    if (n)
        return check_made(a, v->name, count, n);
    if (is_folded_bias(v->name)) {
        for (int k = 0; k < VT_BATCHNORM_PARTS; k++) {
            vt_batchnorm_name(plain, sizeof plain, v->name, k);
            check_tensor(a, plain, v, k < 2);
        }
        return VITCL_OK;
    }
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(v->name, "@"), v->name);
    check_tensor(a, plain, v, true);
    return VITCL_OK;
}

/* Reports invalid BatchNorm statistics now, before they make logits NaN. All
 * tensors must be there. */
static vitcl_status check_norms(vt_model *m, const vt_plan *p)
{
    for (vt_val i = 0; m->weights && i < vt_plan_values(p); i++) {
        const vt_value *v = vt_value_of(p, i);
        float *made = NULL;

        if (v->kind == VT_PARAM && is_folded_bias(v->name)) {
            VT_RET(vt_model_weight(&made, m, v->name, (uint64_t)v->dim[0]));
            free(made);
        }
    }
    return VITCL_OK;
}

/* Buffers, and parts that only training needs. */
static bool harmless(const vt_model *m, const char *name)
{
    static const char *const parts[] = {"position_ids",
                                        "mask_token",
                                        "mpp_",
                                        "relative_position_index",
                                        "relative_coords",
                                        "rel_coords",
                                        "num_batches_tracked",
                                        NULL};
    static const char *const timm_parts[] = {"pre_logits.", NULL};
    static const char *const hf_parts[] = {"pooler.", "text_model.",
                                           "text_projection", "logit_", NULL};

    /* the files of HF's towers have parts that their classifiers do not use */
    static const char *const idle[] = {"attn_pool.", "norm.", NULL};
    const bool classifier = m->config.source == VT_SOURCE_HF &&
                            m->config.classes > 0 &&
                            m->config.family->idle_head;

    if (m->config.context && strncmp(name, "logit_", 6) == 0)
        return true;
    for (int i = 0; classifier && idle[i]; i++)
        if (strncmp(name, idle[i], strlen(idle[i])) == 0)
            return true;
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
                       "%s: %s and %d more tensor%s are missing (the file "
                       "looks like a %s)",
                       m->path, a->first, a->missing - 1,
                       a->missing == 2 ? "" : "s", vt_model_looks(m));
    if (a->missing)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s is missing (the file looks like a %s)", m->path,
                       a->first, vt_model_looks(m));
    if (a->wrong[0])
        return vt_fail(VITCL_ECORRUPT, "%s: %s%s", m->path, a->wrong,
                       m->json ? "; does config.json belong to these weights?"
                               : "");
    for (size_t i = 0; m->weights && i < vt_weights_count(m->weights); i++) {
        const char *name = vt_weights_at(m->weights, i)->name;
        /* transformers writes DINOv3's registers even if there are none */
        if (!a->used[i] && vt_weights_at(m->weights, i)->count &&
            !harmless(m, name) && surplus++ == 0)
            first = name;
    }
    if (surplus > 1)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s and %d more tensor%s have no place in this %s",
                       m->path, first, surplus - 1, surplus == 2 ? "" : "s",
                       vt_model_looks(m));
    if (surplus)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: %s has no place in this %s",
                       m->path, first, vt_model_looks(m));
    return VITCL_OK;
}

/* A joined q, k, v bias has zeros where the file has no k bias. That is correct
 * for some families (and not a parameter); in others it is missing. */
static vitcl_status check_k_bias(audit *a)
{
    static const char *const real[] = {"k_bias",   "key.bias", "k_proj.bias",
                                       "key/bias", "qkv.bias", "in_proj_bias",
                                       NULL};
    const vt_config *c = &a->m->config;
    const vt_tensors *raw;
    int blocks = 0;

    if (!a->m->weights || !c->qkv_bias)
        return VITCL_OK;
    raw = vt_weights_raw(a->m->weights);
    for (size_t i = 0; i < vt_tensors_count(raw); i++) {
        const char *name = vt_tensors_at(raw, i)->name;
        if (vt_name_has(name, real) && !strstr(name, "head.attention"))
            /* scanned .npz files have one for all blocks */
            blocks += strstr(name, "encoderblock/") ? c->depth : 1;
    }
    if (blocks >= c->depth)
        return VITCL_OK;
    if (blocks || !c->family->no_key_bias)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the bias of the keys is missing in %d of %d blocks "
                       "(the file looks like a %s)",
                       a->m->path, c->depth - blocks, c->depth,
                       vt_model_looks(a->m));
    a->parameters -= (uint64_t)c->depth * (uint64_t)c->width;
    return VITCL_OK;
}

/* The plan of one picture, without a device. */
static vitcl_status sketch(vt_plan **out, const vt_model *m, int height,
                           int width)
{
    static const char *const keep[] = {"block.*", "norm", NULL};
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;
    vt_outputs o;

    VT_TRY(vt_plan_new(&p, &(vt_plan_options){.keep = keep}));
    if (m->config.context)
        vt_tower_build(p, m,
                       vt_input(p, "embed", VT_F32, 3,
                                (int[]){1, m->config.context, m->config.width}),
                       vt_input(p, "end", VT_I32, 1, (int[]){1}), VT_NONE, &o);
    else
        vt_model_build(
            p, m,
            vt_input(p, "pixels", VT_F32, 4, (int[]){1, 3, height, width}),
            NULL, &o);
    VT_TRY(vt_plan_status(p));
    *out = p, p = NULL;
done:
    vt_plan_free(p);
    return st;
}

/* A text tower's rows are read by the host. */
static void check_tables(audit *a)
{
    const vt_config *c = &a->m->config;

    check_tensor(a, "token_embed.weight",
                 &(vt_value){.rank = 2, .dim = {c->vocabulary, c->width}},
                 true);
    check_tensor(a, "pos_embed",
                 &(vt_value){.rank = 3, .dim = {1, c->context, c->width}},
                 true);
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
            /* a value that several steps read counts once */
            for (int j = 0; j < i && !seen && !m->weights; j++)
                for (int l = 0; l < VT_INS && !seen; l++)
                    seen =
                        vt_plan_step(p, j)->in[l] == vt_plan_step(p, i)->in[k];
            if (!seen)
                VT_TRY(check_one(&a, v));
        }
    if (m->config.context)
        check_tables(&a);
    VT_TRY(check_rest(&a));
    VT_TRY(check_k_bias(&a));
    VT_TRY(check_norms(m, p));
    m->parameters = a.parameters;
done:
    vt_plan_free(p);
    free(a.used);
    return st;
}

vitcl_status vt_model_macs(double *out, const vt_model *m, int height,
                           int width)
{
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;

    VT_TRY(sketch(&p, m, height, width));
    *out = vt_plan_macs(p);
done:
    vt_plan_free(p);
    return st;
}
