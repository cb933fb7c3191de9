/*
 * text.c - public handles of text towers: a plan for a batch of texts, and runs
 * of tokens.
 *
 * Fewer texts than the batch still run the whole plan, as with pictures.
 */
#include "api/text.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "product/half_choice.h"

#include <stdio.h>
#include <string.h>

/* ---- making ---- */

static vitcl_status too_large(const vitcl_text *t)
{
    const vitcl_device_info *info = vt_dev_info(t->dev);
    const vt_plan_memory memory = vt_plan_memory_of(t->plan);
    const uint64_t weights = vt_model_parameters(t->model) * sizeof(float);

    if (memory.segment <= info->max_alloc_bytes &&
        (double)memory.arena + (double)memory.consts + (double)weights <=
            (double)info->memory_bytes)
        return VITCL_OK;
    return vt_fail(VITCL_ENOMEM,
                   "a batch of %u texts needs %.0f MB and does not fit %s "
                   "(%.0f MB, %.0f MB a buffer)",
                   t->batch, (double)memory.arena / 1e6, info->name,
                   (double)info->memory_bytes / 1e6,
                   (double)info->max_alloc_bytes / 1e6);
}

static vitcl_status write_plan(vitcl_text *t, const vitcl_text_options *o)
{
    const vt_config *c = vt_model_config(t->model);
    const int batch = (int)t->batch;
    vitcl_status st = VITCL_OK;
    vt_plan_options options = {.dev = t->dev,
                               .store = t->store,
                               .gemm = o->gemm,
                               .precision = o->precision};
    vt_outputs out;

    if (o->precision == VITCL_HALF)
        VT_TRY(vt_half_choose(&options.precision, t->dev, o->gemm));
    VT_TRY(vt_plan_new(&t->plan, &options));
    t->rows = vt_input(t->plan, "embed", VT_F32, 3,
                       (int[]){batch, c->context, c->width});
    t->end = vt_input(t->plan, "end", VT_I32, 1, &batch);
    vt_tower_build(t->plan, t->model, t->rows, t->end, &out);
    t->features = out.features;
    VT_TRY(vt_plan_place(t->plan));
    VT_TRY(too_large(t));
    VT_TRY(vt_plan_finish(t->plan));
done:
    return st;
}

/* Tokens can be given without one, so an error is kept until a text is. */
static void open_tokenizer(vitcl_text *t, const char *path, bool lower)
{
    t->tokenizer_status = vt_tokenizer_open(&t->tokenizer, path, lower);
    if (t->tokenizer_status != VITCL_OK)
        snprintf(t->tokenizer_message, sizeof t->tokenizer_message, "%s",
                 vt_message());
}

vitcl_status vitcl_text_new(vitcl_text **out, vitcl_device *device,
                            const char *path, const vitcl_text_options *options)
{
    const double from = vt_now_ms();
    vitcl_status st = VITCL_OK;
    vitcl_text *t = NULL;
    vitcl_text_options o;
    const vt_config *c;
    size_t tokens = 0, numbers = 0;

    VT_GIVEN(out);
    VT_GIVEN(device);
    VT_GIVEN(path);
    VT_TRY(vt_dev_alive(device->dev));
    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_text_options"));
    if ((unsigned)o.precision > VITCL_INT8)
        return vt_fail(VITCL_EINVAL, "unknown precision %d", (int)o.precision);
    if (o.batch > 65536)
        return vt_fail(VITCL_EINVAL,
                       "a batch of %u is above the limit of 65536", o.batch);
    VT_TRY(VT_NEW(&t, 1));
    t->dev = vt_dev_ref(device->dev);
    t->batch = o.batch ? o.batch : 1;
    VT_TRY(vt_tower_open(&t->model, path));
    c = vt_model_config(t->model);
    VT_TRY(vt_store_new(&t->store, t->dev, vt_model_read_param, t->model));
    if (!vt_mul(&tokens, t->batch, (size_t)c->context) ||
        !vt_mul(&numbers, tokens, (size_t)c->width))
        VT_TRY(vt_fail(VITCL_ENOMEM, "a batch of %u is too large", t->batch));
    open_tokenizer(t, path, o.lower_case != 0);
    VT_TRY(write_plan(t, &o));
    VT_TRY(VT_NEW(&t->row, numbers));
    VT_TRY(VT_NEW(&t->ids, tokens));
    VT_TRY(VT_NEW(&t->ends, t->batch));
    vt_log("text %s: %s, %.1f M parameters, %d tokens, ready in %.0f ms", path,
           c->family, (double)vt_model_parameters(t->model) / 1e6, c->context,
           vt_now_ms() - from);
    *out = t, t = NULL;
done:
    vitcl_text_free(t);
    return st;
}

void vitcl_text_free(vitcl_text *text)
{
    if (!text)
        return;
    vt_plan_free(text->plan);
    vt_store_free(text->store);
    vt_model_close(text->model);
    vt_tokenizer_free(text->tokenizer);
    vt_dev_free(text->dev);
    free(text->row);
    free(text->ids);
    free(text->ends);
    free(text);
}

/* ---- describing ---- */

vitcl_status vitcl_text_describe(vitcl_text_info *out, const vitcl_text *text)
{
    vitcl_text_info info = {.layers = 0};
    const vt_config *c;

    VT_SIZED(out, vitcl_text_info);
    VT_GIVEN(text);
    c = vt_model_config(text->model);
    snprintf(info.family, sizeof info.family, "%s", c->family);
    info.layers = (uint32_t)c->depth;
    info.width = (uint32_t)c->width;
    info.heads = (uint32_t)c->heads;
    info.mlp = (uint32_t)c->mlp;
    info.features = (uint32_t)vt_dim(text->plan, text->features, -1);
    info.context = (uint32_t)c->context;
    info.vocabulary = (uint32_t)c->vocabulary;
    info.parameters = vt_model_parameters(text->model);
    info.logit_scale = c->logit_scale;
    info.logit_bias = c->logit_bias;
    info.answer = c->sigmoid ? VITCL_ANY_CLASSES : VITCL_ONE_CLASS;
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}

vitcl_status vitcl_text_identity(char text_id[65], const vitcl_text *text)
{
    char tokenizer[65] = "";
    vitcl_status st;

    VT_GIVEN(text_id);
    VT_GIVEN(text);
    if (text->tokenizer)
        vt_tokenizer_identity(tokenizer, text->tokenizer);
    VT_TRY(vt_identity_of(text_id, text->model, tokenizer));
done:
    return st;
}

/* ---- running ---- */

vitcl_status vt_text_run(float *out, vitcl_text *t, const int32_t *ids,
                         uint32_t n)
{
    const vt_config *c = vt_model_config(t->model);
    const size_t tokens = (size_t)c->context, wide = (size_t)c->width;
    const size_t each = (size_t)vt_dim(t->plan, t->features, -1);
    vitcl_status st = VITCL_OK;

    for (uint32_t i = 0; i < n; i++) {
        VT_TRY(vt_tower_rows(t->row + i * tokens * wide, t->model,
                             ids + i * tokens, c->context));
        t->ends[i] = vt_tower_end(t->model, ids + i * tokens);
    }
    VT_TRY(vt_plan_write(t->plan, t->rows, t->row,
                         n * tokens * wide * sizeof *t->row));
    VT_TRY(vt_plan_write(t->plan, t->end, t->ends, n * sizeof *t->ends));
    VT_TRY(vt_plan_run(t->plan, 0));
    VT_TRY(vt_plan_read(t->plan, t->features, out, n * each));
    if (!vt_all_finite(out, n * each))
        st = vt_fail(VITCL_EUNSUPPORTED, "a text's vector is not finite%s",
                     vt_plan_settings(t->plan)->precision == VITCL_F16
                         ? " in f16, whose largest number is 65504; use bf16 "
                           "or f32"
                         : "");
done:
    return st;
}

static vitcl_status embed_tokens(float *out, vitcl_text *t, const int32_t *ids,
                                 uint32_t n)
{
    const size_t context = (size_t)vt_model_config(t->model)->context;
    const size_t each = (size_t)vt_dim(t->plan, t->features, -1);
    vitcl_status st = VITCL_OK;
    float *made = NULL;

    VT_TRY(vt_new(&made, n, each * sizeof *made));
    for (size_t i = 0; i < n; i += t->batch)
        VT_TRY(vt_text_run(made + i * each, t, ids + i * context,
                           (uint32_t)VT_MIN(t->batch, n - i)));
    memcpy(out, made, n * each * sizeof *out);
done:
    free(made);
    return st;
}

vitcl_status vitcl_text_embed_tokens(float *out, vitcl_text *text,
                                     const int32_t *ids, uint32_t n)
{
    VT_GIVEN(out);
    VT_GIVEN(text);
    VT_GIVEN(ids);
    if (n == 0)
        return VITCL_OK;
    VT_RETURN_ALONE(text, "text", embed_tokens(out, text, ids, n));
}
