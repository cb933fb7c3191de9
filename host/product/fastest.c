/*
 * fastest.c - time a product with every form that takes it, once for a device,
 * driver and version of vitcl, and keep the result.
 *
 * Forms sum in different orders, so the answer must not change between two
 * runs, nor with the batch: it is kept in the user's file of choices, and
 * stands for a product whose rows are those of one picture. With other tuned
 * parameters or other rivals it is another question.
 */
#include "product/fastest.h"

#include "base/environment.h"
#include "base/kept.h"
#include "base/log.h"
#include "base/memory.h"
#include "product/race.h"
#include "product/state.h"
#include "tune/params.h"
#include "units/dots.h"
#include "units/verdicts.h"

#include <stdio.h>
#include <string.h>

/* ---- the answer ---- */

/* The rival that an answer begins with; -1: it is not one. */
static int first_of(const char *answer, const char *const *names, int n)
{
    const size_t length = strcspn(answer, " "),
                 digits = strspn(answer + length, " 0123456789.");

    if (digits < 3 || strncmp(answer + length + digits - 1, " ms", 3) != 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (strlen(names[i]) == length &&
            strncmp(names[i], answer, length) == 0)
            return i;
    return -1;
}

/* "" if none finished; those that were wrong come last. Times are in
 * microseconds: as text, the same in every locale. */
static void format(char out[VT_CHOICE], const char *const *names, double *ms,
                   int n)
{
    size_t used = 0;

    out[0] = '\0';
    for (int done = 0; done < n; done++) {
        int best = 0;
        unsigned long us;

        for (int i = 1; i < n; i++)
            if (ms[i] > 0 && (!(ms[best] > 0) || ms[i] < ms[best]))
                best = i;
        if (!(ms[best] > 0) || used >= VT_CHOICE)
            break;
        us = (unsigned long)VT_MIN(ms[best] * 1e3 + 0.5, 1e9);
        used += (size_t)snprintf(out + used, VT_CHOICE - used,
                                 "%s%s %lu.%03lu ms", used ? ", " : "",
                                 names[best], us / 1000, us % 1000);
        ms[best] = 0;
    }
    for (int i = 0; i < n && used && used < VT_CHOICE; i++)
        if (ms[i] < 0)
            used += (size_t)snprintf(out + used, VT_CHOICE - used, ", %s wrong",
                                     names[i]);
}

int vt_fastest(char answer[VT_CHOICE], bool *timed, const char *question,
               const char *const *names, int n, vt_time_rivals time,
               void *context)
{
    char old[VT_CHOICE];
    const bool found = vt_choice_load(old, question);
    double ms[VT_FORMS] = {0};
    bool wrong = false;
    int best;

    *timed = false;
    if (found && (best = first_of(old, names, n)) >= 0) {
        snprintf(answer, VT_CHOICE, "%s", old);
        return best;
    }
    if (!time || !vt_choices_possible())
        return -1;
    time(ms, context);
    *timed = true;
    format(answer, names, ms, n);
    for (int i = 0; i < n; i++)
        wrong = wrong || ms[i] < 0;
    if (!answer[0])
        return wrong ? VT_FASTEST_WRONG : -1;
    if (!vt_choice_save(answer, question, found ? old : NULL))
        vt_log("%s: not kept: the file of choices cannot be written", question);
    return first_of(answer, names, n);
}

/* ---- the question ---- */

static void append(char *out, const char *word)
{
    const size_t n = strlen(out);

    if (*word)
        snprintf(out + n, VT_CHOICE - n, " %s", word);
}

/* "product NAME, DRIVER:" */
static void begin(char out[VT_CHOICE], const vitcl_device_info *info)
{
    snprintf(out, VT_CHOICE, "product %.64s, %.64s:", info->name, info->driver);
    for (char *c = out; *c; c++)
        if (*c == '\t' || *c == '\n')
            *c = ' ';
}

/* A number for the tuned parameters, on which the speed depends. */
static void append_tuned(char *out, const vt_dev *dev)
{
    static const vt_params_kind kinds[] = {VT_PARAMS_ROWS, VT_PARAMS_TILE,
                                           VT_PARAMS_CLBLAST};
    uint32_t hash = 2166136261u;
    char word[24], entry[VT_ENTRY];
    bool any = false;

    for (size_t i = 0; i < VT_COUNT(kinds); i++)
        if (vt_params_for(dev, kinds[i], VT_F32)) {
            any = true;
            vt_params_entry(entry, dev, kinds[i], VT_F32);
            for (const char *c = entry; *c; c++)
                hash = (hash ^ (unsigned char)*c) * 16777619u;
        }
    snprintf(word, sizeof word, "tuned %08x", (unsigned)hash);
    append(out, any ? word : "");
}

static void ask(char out[VT_CHOICE], const vt_dev *dev, const vt_gemm_desc *d,
                const char *const *names, int n)
{
    char word[48];

    begin(out, vt_dev_info(dev));
    snprintf(word, sizeof word, "%dx%dx%d %s", d->M, d->N, d->K,
             d->type == VT_I8 ? "int8" : vt_dtype_name(d->type));
    append(out, word);
    if (d->a != VT_F32 || d->out != VT_F32) {
        snprintf(word, sizeof word, "%s to %s", vt_dtype_name(d->a),
                 vt_dtype_name(d->out));
        append(out, word);
    }
    append(out, d->b_packed ? "packed" : d->trans_b ? "b" : "");
    append(out, d->trans_a ? "a" : "");
    append(out, d->accumulate ? "accumulate" : "");
    append(out, d->bias ? "bias" : "");
    append(out, d->act == VT_ACT_NONE ? "" : vt_act_name(d->act));
    append(out, d->scale ? "scale" : "");
    append(out, d->times ? "times" : d->residual ? "residual" : "");
    if (d->residual && d->res != VT_F32)
        append(out, vt_dtype_name(d->res));
    append_tuned(out, dev);
    append(out, "by");
    for (int i = 0; i < n; i++)
        append(out, names[i]);
}

/* Where native was the fastest of every product that was timed: processors with
 * one of these instructions. */
static const int known[] = {VT_DOT_S16}; /* x86-64 with AVX2 or AVX-512 */

static bool processor_known(void)
{
    const char *class = vt_getenv("VITCL_DEVICE_CLASS");

    if (class && strcmp(class, "unknown-cpu") == 0)
        return false;
    for (size_t i = 0; i < VT_COUNT(known); i++)
        if (vt_dot_here(known[i]))
            return true;
    return false;
}

bool vt_fastest_possible(vt_class class)
{
    return (class == VT_CLASS_GPU || !processor_known()) && !vt_kept_off() &&
           vt_choices_possible();
}

/* ---- a device's memory ---- */

static void remember(vt_product_state *s, const char *question,
                     const vt_form *form)
{
    vt_fastest_known *k;

    if (vt_grow(&s->fastest, &s->cap, s->fastests + 1, sizeof *s->fastest) !=
        VITCL_OK)
        return;
    k = &s->fastest[s->fastests];
    if (vt_strdup(&k->question, question) == VITCL_OK) {
        k->form = form;
        s->fastests++;
    }
}

typedef struct rivals {
    vt_dev *dev;
    const vt_gemm_desc *d;
    const vt_form *const *forms;
    int n;
} rivals;

static void time_them(double *ms, void *context)
{
    const rivals *r = context;

    vt_race(ms, r->dev, r->d, r->forms, r->n);
}

static const vt_form *decide(rivals *r, const char *question,
                             const char *const *names, bool time)
{
    vt_product_state *s = vt_product_state_of(r->dev);
    char answer[VT_CHOICE];
    const vt_form *form;
    bool timed;
    int best;

    for (size_t i = 0; i < s->fastests; i++)
        if (strcmp(s->fastest[i].question, question) == 0)
            return s->fastest[i].form;
    best = vt_fastest(answer, &timed, question, names, r->n,
                      time ? time_them : NULL, r);
    if (best < 0 && !time)
        return NULL;
    form = best >= 0                  ? r->forms[best]
           : best == VT_FASTEST_WRONG ? &vt_form_plain
                                      : NULL;
    atomic_fetch_add(&s->timed, timed ? 1u : 0u);
    vt_log("%s: %s%s", question,
           best >= 0 ? answer
           : form    ? "none is right: plain"
                     : "unknown",
           timed ? ", timed" : "");
    remember(s, question, form);
    return form;
}

const vt_form *vt_fastest_form(vt_dev *dev, const vt_gemm_desc *d,
                               const vt_form *const *forms, int n, bool time)
{
    const char *names[VT_FORMS];
    char question[VT_CHOICE];
    rivals r = {.dev = dev, .d = d, .forms = forms, .n = VT_MIN(n, VT_FORMS)};
    const vt_form *form;
    vt_turn turn;

    for (int i = 0; i < r.n; i++)
        names[i] = forms[i]->name;
    ask(question, dev, d, names, r.n);
    vt_verdict_turn(&turn, dev, "fastest");
    form = decide(&r, question, names, time);
    vt_turn_end(&turn);
    return form;
}

/* ---- for listings ---- */

typedef struct tally {
    const char *provider[VT_FORMS];
    unsigned count[VT_FORMS];
    int n;
} tally;

/* NULL: none. */
static const char *provider_of(const char *form)
{
    for (size_t i = 0; vt_forms[i]; i++)
        if (strcmp(vt_forms[i]->name, form) == 0)
            return vt_forms[i]->provider;
    return NULL;
}

/* Counts an answer for the provider of the form that it begins with. */
static void visit(void *context, const char *question, const char *answer)
{
    tally *t = context;
    char form[16];
    const char *name;
    int i = 0;

    (void)question;
    snprintf(form, sizeof form, "%.*s", (int)strcspn(answer, " "), answer);
    name = provider_of(form);
    if (!name || first_of(answer, (const char *const[]){form}, 1) < 0)
        return;
    while (i < t->n && strcmp(t->provider[i], name) != 0)
        i++;
    if (i == t->n)
        t->provider[t->n++] = name;
    t->count[i]++;
}

void vt_fastest_tell(char *out, size_t size, const vitcl_device_info *info)
{
    tally t = {.n = 0};
    char word[VT_CHOICE];
    size_t used = 0;

    out[0] = '\0';
    begin(word, info);
    vt_choices_each(word, visit, &t);
    for (int i = 0; i < t.n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s %u",
                                 i ? ", " : "", t.provider[i], t.count[i]);
}
