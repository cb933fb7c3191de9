/*
 * text_words.c - vectors of texts, and of labels by several prompts.
 */
#include "api/text.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static vitcl_status encode(int32_t *ids, uint32_t *count, bool *cut,
                           const vitcl_text *t, const char *utf8)
{
    if (!t->tokenizer)
        return vt_fail(t->tokenizer_status, "%s", t->tokenizer_message);
    return vt_tokenizer_fit(ids, count, cut, t->tokenizer, (uint32_t)t->context,
                            utf8, strlen(utf8));
}

vitcl_status vitcl_text_tokens(int32_t *ids, uint32_t *count,
                               const vitcl_text *text, const char *utf8)
{
    vitcl_status st = VITCL_OK;
    int32_t *made = NULL;
    uint32_t n = 0;
    bool cut;

    VT_GIVEN(ids);
    VT_GIVEN(count);
    VT_GIVEN(text);
    VT_GIVEN(utf8);
    VT_TRY(VT_NEW(&made, text->context));
    VT_TRY(encode(made, &n, &cut, text, utf8));
    memcpy(ids, made, text->context * sizeof *ids);
    *count = n;
done:
    free(made);
    return st;
}

/* Of at most one batch. */
static vitcl_status run_texts(float *out, vitcl_text *t,
                              const char *const *utf8, uint32_t n)
{
    bool cut;

    for (uint32_t i = 0; i < n; i++) {
        VT_RET(
            encode(t->ids + i * t->context, &t->counts[i], &cut, t, utf8[i]));
        atomic_fetch_add(&t->cut, cut);
    }
    return vt_text_run(out, t, t->ids, t->counts, n);
}

/* In batches: of ids, or of utf8 unless that is NULL. */
static vitcl_status embed(float *out, vitcl_text *t, const int32_t *ids,
                          const char *const *utf8, uint32_t n)
{
    const size_t each = t->features;
    vitcl_status st = VITCL_OK;
    float *made = NULL;

    VT_TRY(vt_new(&made, n, each * sizeof *made));
    for (size_t i = 0; i < n; i += t->batch) {
        const uint32_t m = (uint32_t)VT_MIN(t->batch, n - i);

        VT_TRY(utf8 ? run_texts(made + i * each, t, utf8 + i, m)
                    : vt_text_run(made + i * each, t, ids + i * t->context,
                                  NULL, m));
    }
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
    VT_RETURN_ALONE(text, "text", embed(out, text, ids, NULL, n));
}

static vitcl_status all_given(const char *const *texts, uint32_t n,
                              const char *function)
{
    for (uint32_t i = 0; i < n; i++)
        if (!texts[i])
            return vt_fail(VITCL_EINVAL, "%s: text %u is NULL", function, i);
    return VITCL_OK;
}

vitcl_status vitcl_text_embed(float *out, vitcl_text *text,
                              const char *const *utf8, uint32_t n)
{
    VT_GIVEN(out);
    VT_GIVEN(text);
    VT_GIVEN(utf8);
    if (n == 0)
        return VITCL_OK;
    VT_RET(all_given(utf8, n, __func__));
    VT_RETURN_ALONE(text, "text", embed(out, text, NULL, utf8, n));
}

/* ---- labels ---- */

/* The prompt with the label in place of each "{}". */
static vitcl_status fill(char **out, const char *prompt, const char *label)
{
    const size_t size = strlen(label);
    size_t bytes = 1;
    char *to;

    for (const char *s = prompt; *s; s++)
        bytes += strncmp(s, "{}", 2) == 0 ? size : 1;
    if (bytes > VT_TEXT_MAX)
        return vt_fail(VITCL_EINVAL, "a prompt with its label has over %zu MB",
                       VT_TEXT_MAX >> 20);
    VT_RET(VT_NEW(out, bytes));
    to = *out;
    for (const char *s = prompt; *s; s++) {
        if (strncmp(s, "{}", 2) == 0) {
            for (const char *l = label; *l; l++)
                *to++ = *l;
            s++;
        } else {
            *to++ = *s;
        }
    }
    return VITCL_OK;
}

/* Adds x, scaled to length 1. */
static void add_unit(double *sum, const float *x, size_t n)
{
    double square = 0;

    for (size_t i = 0; i < n; i++)
        square += (double)x[i] * x[i];
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i] / fmax(sqrt(square), 1e-12);
}

/* The sums' directions: a mean has the same. */
static void directions(float *out, const double *sum, uint32_t labels, size_t n)
{
    for (uint32_t k = 0; k < labels; k++, out += n, sum += n) {
        double square = 0;

        for (size_t i = 0; i < n; i++)
            square += sum[i] * sum[i];
        for (size_t i = 0; i < n; i++)
            out[i] = (float)(sum[i] / fmax(sqrt(square), 1e-12));
    }
}

typedef struct job {
    vitcl_text *text;
    const char *const *labels, *const *prompts;
    uint32_t n, each; /* labels; prompts of each */
    double *sum;      /* [n, features] */
    float *vectors;   /* [batch, features] */
    char **texts;     /* [batch] */
} job;

/* Texts first..first+count-1 of all, which are each label's prompts. */
static vitcl_status run_some(const job *j, uint64_t first, uint32_t count)
{
    const size_t wide = j->text->features;
    vitcl_status st = VITCL_OK;

    for (uint32_t i = 0; i < count; i++)
        VT_TRY(fill(&j->texts[i], j->prompts[(first + i) % j->each],
                    j->labels[(first + i) / j->each]));
    VT_TRY(
        run_texts(j->vectors, j->text, (const char *const *)j->texts, count));
    for (uint32_t i = 0; i < count; i++)
        add_unit(j->sum + (first + i) / j->each * wide, j->vectors + i * wide,
                 wide);
done:
    for (uint32_t i = 0; i < count; i++)
        free(j->texts[i]), j->texts[i] = NULL;
    return st;
}

static vitcl_status embed_labels(float *out, job *j, vitcl_progress progress,
                                 void *context)
{
    const size_t wide = j->text->features;
    const uint64_t all = (uint64_t)j->n * j->each;
    const uint32_t batch = j->text->batch;
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_new(&j->sum, j->n, wide * sizeof *j->sum));
    VT_TRY(vt_new(&j->vectors, batch, wide * sizeof *j->vectors));
    VT_TRY(VT_NEW(&j->texts, batch));
    for (uint64_t first = 0; first < all; first += batch) {
        const uint32_t count = (uint32_t)VT_MIN((uint64_t)batch, all - first);

        VT_TRY(run_some(j, first, count));
        if (progress && progress(context, (first + count) / j->each, j->n))
            VT_TRY(vt_fail(VITCL_ESTOPPED, "stopped by the caller"));
    }
    directions(out, j->sum, j->n, wide);
done:
    free(j->sum);
    free(j->vectors);
    free(j->texts);
    return st;
}

vitcl_status vitcl_text_labels(float *out, vitcl_text *text,
                               const char *const *labels, uint32_t n,
                               const char *const *prompts,
                               vitcl_progress progress, void *context)
{
    static const char *const plain[] = {"{}", NULL};
    job j = {.text = text, .labels = labels, .n = n};

    VT_GIVEN(out);
    VT_GIVEN(text);
    VT_GIVEN(labels);
    if (n == 0)
        return VITCL_OK;
    VT_RET(all_given(labels, n, __func__));
    j.prompts = prompts && prompts[0] ? prompts : plain;
    for (; j.prompts[j.each]; j.each++)
        if (!strstr(j.prompts[j.each], "{}"))
            return vt_fail(VITCL_EINVAL,
                           "the prompt \"%.100s\" has no {} for the label",
                           j.prompts[j.each]);
    VT_RETURN_ALONE(text, "text", embed_labels(out, &j, progress, context));
    return VITCL_OK;
}
