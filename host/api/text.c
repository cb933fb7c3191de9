/*
 * text.c - public handles of text towers: plans for a batch of texts, and runs
 * of tokens.
 *
 * Fewer texts than the batch still run the whole plan, as with pictures. Tokens
 * behind the end of a text change nothing where a mask hides them from those
 * before. Most texts are short, so there are plans for fewer tokens, each
 * finished when a batch first needs it. They have the same weights.
 */
#include "api/text.h"
#include "models/hub.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "product/half_choice.h"

#include <stdio.h>
#include <string.h>

/* ---- plans ---- */

static vitcl_status too_large(const vitcl_text *t, const vt_plan *p)
{
    const vitcl_device_info *info = vt_dev_info(t->dev);
    const vt_plan_memory memory = vt_plan_memory_of(p);
    const uint64_t weights = vt_model_parameters(t->model) * sizeof(float);

    if (vt_dev_allows(t->dev, memory.segment) &&
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

static vitcl_status write_plan(vt_text_plan *x, const vitcl_text *t)
{
    const vt_plan_options options = {.dev = t->dev,
                                     .store = t->store,
                                     .gemm = t->gemm,
                                     .precision = t->precision,
                                     .any_batch = t->any_batch};
    const int batch = (int)t->batch;
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;
    vt_outputs out;

    if (x->plan)
        return VITCL_OK;
    VT_TRY(vt_plan_new(&p, &options));
    x->rows = vt_input(p, "embed", VT_F32, 3,
                       (int[]){batch, x->tokens, (int)t->width});
    x->end = vt_input(p, "end", VT_I32, 1, &batch);
    x->hidden =
        !t->hides
            ? VT_NONE
            : vt_input(p, "hidden", VT_F32, 4,
                       (int[]){batch, (int)t->heads, x->tokens, x->tokens});
    vt_tower_build(p, t->model, x->rows, x->end, x->hidden, &out);
    x->features = out.features;
    VT_TRY(vt_plan_place(p));
    VT_TRY(too_large(t, p));
    x->plan = p, p = NULL;
done:
    vt_plan_free(p);
    return st;
}

/* After an error the plan is written anew: it may have been one of memory. */
static vitcl_status make_ready(vt_text_plan *x, const vitcl_text *t)
{
    vitcl_status st = VITCL_OK;

    if (x->ready)
        return VITCL_OK;
    VT_TRY(write_plan(x, t));
    VT_TRY(vt_plan_finish(x->plan));
    x->ready = true;
done:
    if (st != VITCL_OK)
        vt_plan_free(x->plan), x->plan = NULL;
    return st;
}

/* The lengths, and whether the longest fits; the shortest is finished. */
static vitcl_status make_plans(vitcl_text *t)
{
    static const int lengths[VT_TEXT_PLANS] = {16, 32, 0};
    const bool causal = vt_model_config(t->model)->causal;
    vt_text_plan *last = &t->plans[VT_TEXT_PLANS - 1];

    for (int i = 0; i < VT_TEXT_PLANS; i++)
        t->plans[i].tokens = causal && lengths[i] < (int)t->context
                                 ? lengths[i]
                                 : (int)t->context;
    last->tokens = (int)t->context;
    VT_RET(write_plan(last, t));
    t->features = (size_t)vt_dim(last->plan, last->features, -1);
    return make_ready(t->plans[0].tokens < last->tokens ? t->plans : last, t);
}

/* The shortest for texts whose last end is token `end`. */
static vt_text_plan *plan_of(vitcl_text *t, int end)
{
    int i = 0;

    while (i < VT_TEXT_PLANS - 1 &&
           (t->plans[i].tokens <= end || t->plans[i].tokens >= (int)t->context))
        i++;
    return &t->plans[i];
}

/* ---- making ---- */

/* Tokens can be given without one, so an error is kept until a text is. */
static void open_tokenizer(vitcl_text *t, const char *path, bool lower)
{
    const char *slash = strrchr(path, '/');
    char *folder = NULL;

    t->tokenizer_status =
        vt_path_is_folder(path) ? vt_strdup(&folder, path)
        : slash ? vt_format(&folder, "%.*s", (int)(slash + 1 - path), path)
                : vt_strdup(&folder, ".");
    if (t->tokenizer_status == VITCL_OK)
        t->tokenizer_status = vt_tokenizer_open(
            &t->tokenizer, folder,
            strcmp(vt_model_type(t->model), "open_clip") == 0, lower);
    free(folder);
    if (t->tokenizer_status != VITCL_OK)
        snprintf(t->tokenizer_message, sizeof t->tokenizer_message, "%s",
                 vt_message());
}

/* What the tokenizer decides: how long texts are, and whether the padding is
 * hidden. Behind the end of CLIP's texts a mask hides it anyway. */
static vitcl_status follow_tokenizer(vitcl_text *t)
{
    const vt_config *c = vt_model_config(t->model);
    uint32_t most;

    if (!t->tokenizer)
        return VITCL_OK;
    most = vt_tokenizer_context(t->tokenizer);
    if (most && (int)most < c->context)
        vt_tower_shorten(t->model, (int)most);
    t->context = (size_t)c->context;
    t->padded = !vt_tokenizer_sees(t->tokenizer, 0, 0, 1);
    t->hides =
        t->padded && (!c->causal || !vt_tokenizer_sees(t->tokenizer, 0, 1, 2));
    return VT_NEW(&t->hidden, t->context);
}

vitcl_status vitcl_text_new(vitcl_text **out, vitcl_device *device,
                            const char *path, const vitcl_text_options *options)
{
    const double from = vt_now_ms();
    vitcl_status st = VITCL_OK;
    vitcl_text *t = NULL;
    vitcl_text_options o;
    size_t tokens = 0, numbers = 0, masks = 0;
    char *place = NULL;

    VT_GIVEN(out);
    VT_GIVEN(path);
    if (device)
        VT_TRY(vt_dev_alive(device->dev));
    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_text_options"));
    VT_TRY(vt_precision_known(o.precision));
    if (o.batch > 65536)
        return vt_fail(VITCL_EINVAL,
                       "a batch of %u is above the limit of 65536", o.batch);
    VT_TRY(VT_NEW(&t, 1));
    t->batch = o.batch ? o.batch : 1;
    VT_TRY(vt_hub_path(&place, path));
    VT_TRY(vt_tower_open(&t->model, place));
    t->context = (size_t)vt_model_config(t->model)->context;
    t->width = (size_t)vt_model_config(t->model)->width;
    t->heads = (size_t)vt_model_config(t->model)->heads;
    open_tokenizer(t, place, o.lower_case != 0);
    VT_TRY(follow_tokenizer(t));
    if (!device) {
        *out = t, t = NULL;
        goto done;
    }
    t->dev = vt_dev_ref(device->dev);
    VT_TRY(vt_store_new(&t->store, t->dev, vt_model_read_param, t->model));
    if (!vt_mul(&tokens, t->batch, t->context) ||
        !vt_mul(&numbers, tokens, t->width) ||
        !vt_mul(&masks, tokens, t->heads * t->context))
        VT_TRY(vt_fail(VITCL_ENOMEM, "a batch of %u is too large", t->batch));
    if (o.gemm)
        VT_TRY(vt_strdup(&t->gemm, o.gemm));
    t->any_batch = o.any_batch != 0;
    t->precision = o.precision;
    if (o.precision == VITCL_HALF)
        VT_TRY(vt_half_choose(&t->precision, t->dev, t->gemm));
    VT_TRY(make_plans(t));
    VT_TRY(VT_NEW(&t->row, numbers));
    VT_TRY(VT_NEW(&t->ids, tokens));
    if (t->hides)
        VT_TRY(VT_NEW(&t->mask, masks));
    VT_TRY(VT_NEW(&t->ends, t->batch));
    VT_TRY(VT_NEW(&t->counts, t->batch));
    vt_log("text %s: %s, %.1f M parameters, %zu tokens, ready in %.0f ms", path,
           vt_model_family(t->model),
           (double)vt_model_parameters(t->model) / 1e6, t->context,
           vt_now_ms() - from);
    *out = t, t = NULL;
done:
    free(place);
    vitcl_text_free(t);
    return st;
}

void vitcl_text_free(vitcl_text *text)
{
    if (!text)
        return;
    for (int i = 0; i < VT_TEXT_PLANS; i++)
        vt_plan_free(text->plans[i].plan);
    vt_store_free(text->store);
    vt_model_close(text->model);
    vt_tokenizer_free(text->tokenizer);
    vt_dev_free(text->dev);
    free(text->gemm);
    free(text->row);
    free(text->ids);
    free(text->mask);
    free(text->hidden);
    free(text->ends);
    free(text->counts);
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
    snprintf(info.family, sizeof info.family, "%s",
             vt_model_family(text->model));
    info.layers = (uint32_t)c->depth;
    info.width = (uint32_t)c->width;
    info.heads = (uint32_t)c->heads;
    info.mlp = (uint32_t)c->mlp;
    info.features = (uint32_t)text->features;
    info.context = (uint32_t)c->context;
    info.vocabulary = (uint32_t)c->vocabulary;
    info.parameters = vt_model_parameters(text->model);
    info.logit_scale = c->logit_scale;
    info.logit_bias = c->logit_bias;
    info.answer = c->sigmoid ? VITCL_ANY_CLASSES : VITCL_ONE_CLASS;
    info.cut = atomic_load(&text->cut);
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}

/* ---- running ---- */

/* Which of a text's tokens are hidden. What hidden tokens of CLIP compute is
 * read nowhere. */
static vitcl_status find_hidden(vitcl_text *t, uint32_t count, int end)
{
    for (size_t i = 0; i < t->context; i++)
        t->hidden[i] = !vt_tokenizer_sees(t->tokenizer, (uint32_t)i, count,
                                          (uint32_t)t->context);
    return count && (!vt_model_config(t->model)->causal || !t->hidden[end])
               ? VITCL_OK
               : vt_fail(VITCL_EUNSUPPORTED,
                         "a text's vector would be that of padding, which the "
                         "tokenizer hides (padding_side, model_input_names)");
}

/* counts: NULL: nothing is hidden. */
static vitcl_status hide(vt_text_plan *x, vitcl_text *t, const uint32_t *counts,
                         uint32_t n)
{
    const size_t each = t->heads * (size_t)x->tokens * (size_t)x->tokens;

    for (uint32_t i = 0; i < n; i++) {
        if (counts)
            VT_RET(find_hidden(t, counts[i], t->ends[i]));
        else
            memset(t->hidden, 0, t->context * sizeof *t->hidden);
        if (t->hides)
            vt_tower_mask(t->mask + i * each, t->model, x->tokens, t->hidden);
    }
    if (t->hides)
        return vt_plan_write(x->plan, x->hidden, t->mask,
                             n * each * sizeof(float));
    return VITCL_OK;
}

vitcl_status vt_text_run(float *out, vitcl_text *t, const int32_t *ids,
                         const uint32_t *counts, uint32_t n)
{
    vt_text_plan *x;
    size_t tokens;
    int last = 0;

    if (!t->dev)
        return vt_fail(VITCL_EINVAL,
                       "the text tower was opened without a device");
    for (uint32_t i = 0; i < n; i++) {
        t->ends[i] = vt_tower_end(t->model, ids + i * t->context);
        last = VT_MAX(last, t->ends[i]);
        VT_RET(vt_tower_known(t->model, ids + i * t->context));
    }
    x = plan_of(t, last);
    tokens = (size_t)x->tokens;
    VT_RET(make_ready(x, t));
    for (uint32_t i = 0; i < n; i++)
        VT_RET(vt_tower_rows(t->row + i * tokens * t->width, t->model,
                             ids + i * t->context, x->tokens));
    VT_RET(vt_plan_write(x->plan, x->rows, t->row,
                         n * tokens * t->width * sizeof *t->row));
    VT_RET(vt_plan_write(x->plan, x->end, t->ends, n * sizeof *t->ends));
    if (t->padded)
        VT_RET(hide(x, t, counts, n));
    VT_RET(vt_plan_run(x->plan, 0));
    VT_RET(vt_plan_read(x->plan, x->features, out, n * t->features));
    if (!vt_all_finite(out, n * t->features))
        return vt_fail(VITCL_EUNSUPPORTED, "a text's vector is not finite%s",
                       t->precision == VITCL_F16
                           ? " in f16, whose largest number is 65504; use bf16 "
                             "or f32"
                           : "");
    return VITCL_OK;
}
