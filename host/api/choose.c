/*
 * choose.c - which of several devices runs a model fastest: each runs it once
 * or a few times, and the answer is kept.
 *
 * The plan that is timed has the batch and the size asked for, but at most so
 * many pictures that a processor needs seconds, not minutes. One answer stands
 * for plans of the same precision and about as much work: a small one is
 * faster on a processor that hides no launches, a large one on a GPU.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "models/preprocess.h"
#include "product/choices.h"
#include "product/device.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 8 };
#define BEGIN "devices "
#define ENOUGH_GMAC 50.0 /* of a plan that is timed */
#define QUICK_MS 300.0   /* faster runs are repeated */

static const struct {
    double gmac; /* at most */
    const char *words;
} works[] = {{0.1, "up to 0.1 GMAC"},
             {1, "0.1 to 1 GMAC"},
             {10, "1 to 10 GMAC"},
             {1e30, "over 10 GMAC"}};

typedef struct device_time {
    vitcl_device_info info;
    double ms; /* 0: unknown, or it failed */
} device_time;

/* The usable devices; of those with one name, the first. */
static size_t list_devices(device_time *out)
{
    size_t n = 0;

    for (uint32_t i = 0; n < MOST; i++) {
        vitcl_device_info *info = &out[n].info;
        bool known = false;

        out[n].ms = 0;
        if (vt_product_list(info, i) != VITCL_OK)
            break;
        for (size_t k = 0; k < n; k++)
            known = known || strcmp(out[k].info.name, info->name) == 0;
        n += !info->error[0] && !known;
    }
    return n;
}

/* Those to choose from: none where VITCL_DEVICE has chosen. */
static size_t candidates(device_time *out)
{
    const char *const set = vt_getenv("VITCL_DEVICE");

    return set && *set ? 0 : list_devices(out);
}

bool vt_device_choosable(void)
{
    device_time *d = NULL;
    size_t n;

    if (VT_NEW(&d, MOST) != VITCL_OK)
        return false;
    n = candidates(d);
    free(d);
    return n > 1;
}

/* "devices 0:0 NAME, DRIVER, 8 units; 1:0 ..., VITCL_MMA off: ", then the
 * plans. A processor has as many units as it has threads (--threads). False:
 * too long. */
static bool name_devices(char out[VT_CHOICE], const device_time *d, size_t n)
{
    size_t used = (size_t)snprintf(out, VT_CHOICE, BEGIN);

    for (size_t i = 0; i < n && used < VT_CHOICE; i++)
        used += (size_t)snprintf(out + used, VT_CHOICE - used,
                                 "%s%s %.48s, %.24s, %u units", i ? "; " : "",
                                 d[i].info.id, d[i].info.name, d[i].info.driver,
                                 d[i].info.compute_units);
    if (used < VT_CHOICE) {
        vt_choice_variables(out, VT_CHOICE);
        used = strlen(out);
        used += (size_t)snprintf(out + used, VT_CHOICE - used, ": ");
    }
    for (char *c = out; *c; c++)
        if (*c == '\t' || *c == '\n')
            *c = ' ';
    return used + sizeof((vt_device_choice *)0)->plans < VT_CHOICE;
}

/* ---- timing ---- */

static vitcl_status run(double *ms, vitcl_session *s, const float *values)
{
    const double from = vt_now_ms();

    VT_RET(vitcl_session_run_values(s, values, s->batch));
    if (s->classes)
        VT_RET(vitcl_session_read(s->logits, (size_t)s->batch * s->classes, s,
                                  "logits", s->batch));
    else
        VT_RET(vt_queue_finish(vt_plan_queue(s->plan)));
    *ms = VT_MIN(*ms, vt_now_ms() - from);
    return VITCL_OK;
}

static vitcl_status time_on(double *out, const vitcl_model *model,
                            const char *id, const vitcl_session_options *o)
{
    vitcl_model here = {.model = model->model};
    vitcl_session *s = NULL;
    float *values = NULL;
    double ms = 1e30;
    vitcl_status st;

    atomic_init(&here.references, 1);
    pthread_mutex_init(&here.lock, NULL);
    VT_TRY(vt_product_open(&here.dev, id));
    VT_TRY(
        vt_store_new(&here.store, here.dev, vt_model_read_param, here.model));
    VT_TRY(vitcl_session_new(&s, &here, o));
    VT_TRY(VT_NEW(&values, (size_t)s->batch * s->height * s->width * 3));
    VT_TRY(run(&ms, s, values)); /* some drivers compile only now */
    ms = 1e30;
    for (int i = 0; i < 3 && (i == 0 || ms < QUICK_MS); i++)
        VT_TRY(run(&ms, s, values));
    *out = ms;
done:
    vitcl_session_free(s);
    vt_store_free(here.store);
    vt_dev_free(here.dev);
    pthread_mutex_destroy(&here.lock);
    free(values);
    return st;
}

/* ---- the answer ---- */

/* "0:0 2.13 ms, 1:0 5.31 ms", the fastest first; "" if none ran. */
static void format(char out[VT_CHOICE], device_time *d, size_t n)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t done = 0; done < n; done++) {
        size_t best = 0;

        for (size_t i = 1; i < n; i++)
            if (d[i].ms > 0 && (d[best].ms <= 0 || d[i].ms < d[best].ms))
                best = i;
        if (d[best].ms <= 0 || used >= VT_CHOICE)
            break;
        used += (size_t)snprintf(out + used, VT_CHOICE - used, "%s%s %.2f ms",
                                 used ? ", " : "", d[best].info.id, d[best].ms);
        d[best].ms = 0;
    }
}

/* Takes a kept answer apart; false: it is not one. */
static bool accept(vt_device_choice *out, const device_time *d, size_t n,
                   const char *answer)
{
    size_t k = strcspn(answer, " ");

    if (answer[strspn(answer, "0123456789:., ms")] != '\0' ||
        strlen(answer) >= sizeof out->times)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strlen(d[i].info.id) == k &&
            strncmp(d[i].info.id, answer, k) == 0) {
            memcpy(out->id, d[i].info.id, sizeof out->id);
            snprintf(out->times, sizeof out->times, "%s", answer);
            return true;
        }
    return false;
}

/* The batch to time, and the plans that it stands for. */
static vitcl_status plans_like(char *out, size_t size, uint32_t *batch,
                               const vitcl_model *model,
                               const vitcl_session_options *o)
{
    vitcl_model_info info = {.size = sizeof info};
    size_t row = 0;
    double gmac;

    VT_RET(vitcl_model_describe(&info, model, o->height, o->width, 1));
    gmac = VT_MAX(info.gmac, 1e-6);
    *batch = (uint32_t)VT_MIN((double)VT_MAX(o->batch, 1u),
                              VT_MAX(1.0, ENOUGH_GMAC / gmac));
    while (gmac * *batch > works[row].gmac)
        row++;
    snprintf(out, size, "%s, %s a run%s%.12s",
             o->precision == VITCL_HALF ? "half"
                                        : vt_precision_name(o->precision),
             works[row].words, o->gemm ? ", " : "", o->gemm ? o->gemm : "");
    return VITCL_OK;
}

/* Times them all; those that fail are left out. */
static void measure(device_time *d, size_t n, const vitcl_model *model,
                    const vitcl_session_options *options, uint32_t batch)
{
    vitcl_session_options o = *options;

    if (!o.height && !o.width) /* one size of pictures, also of NaFlex */
        vt_model_input(&o.height, &o.width, model->model);

    o.batch = batch, o.keep = o.watch = NULL, o.watcher = NULL;
    o.profile = 0, o.progress = NULL, o.gradients = 0;
    for (size_t i = 0; i < n; i++) {
        if (time_on(&d[i].ms, model, d[i].info.id, &o) != VITCL_OK)
            vt_log("device %s was not timed: %s", d[i].info.id, vt_message());
        else
            vt_log("device %s: %.2f ms a run of %u", d[i].info.id, d[i].ms,
                   (unsigned)batch);
    }
}

vitcl_status vt_device_choose(vt_device_choice *out, const vitcl_model *model,
                              const vitcl_session_options *options)
{
    vitcl_status st = VITCL_OK;
    vt_device_choice choice = {.measured = false};
    vitcl_session_options o;
    device_time *d = NULL;
    char question[VT_CHOICE], answer[VT_CHOICE], old[VT_CHOICE];
    bool found;
    uint32_t batch = 1;
    size_t n;

    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_session_options"));
    VT_TRY(vt_precision_known(o.precision));
    VT_TRY(VT_NEW(&d, MOST));
    n = candidates(d);
    if (n < 2 || !vt_choices_possible())
        goto give;
    VT_TRY(plans_like(choice.plans, sizeof choice.plans, &batch, model, &o));
    if (!name_devices(question, d, n))
        goto give;
    strcat(question, choice.plans);
    found = vt_choice_load(old, question);
    if (!found || !accept(&choice, d, n, old)) {
        measure(d, n, model, &o, batch);
        format(answer, d, n);
        choice.measured =
            answer[0] && vt_choice_save(answer, question, found ? old : NULL);
        if (choice.measured)
            (void)accept(&choice, d, n, answer);
    }
give:
    *out = choice;
done:
    free(d);
    return st;
}

/* ---- what is kept ---- */

typedef struct search {
    const device_time *d;
    size_t n;
    uint32_t wanted, seen;
    vt_device_choice found;
} search;

static void visit(void *context, const char *question, const char *answer)
{
    search *s = context;
    vt_device_choice c = {.measured = false};

    if (strlen(question) >= sizeof c.plans || !accept(&c, s->d, s->n, answer) ||
        s->seen++ != s->wanted)
        return;
    snprintf(c.plans, sizeof c.plans, "%s", question);
    s->found = c;
}

vitcl_status vt_device_choice_at(vt_device_choice *out, uint32_t index)
{
    vitcl_status st = VITCL_OK;
    search s = {.wanted = index};
    device_time *d = NULL;
    char begin[VT_CHOICE];

    VT_TRY(VT_NEW(&d, MOST));
    s.d = d, s.n = list_devices(d);
    if (s.n > 1 && name_devices(begin, d, s.n))
        vt_choices_each(begin, visit, &s);
    if (!s.found.id[0])
        VT_TRY(vt_fail(VITCL_EINVAL, "there is no choice %u", index));
    *out = s.found;
done:
    free(d);
    return st;
}
