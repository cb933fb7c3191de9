/*
 * cost.c - what runs cost: of each architecture a short training is measured,
 * and the rest is arithmetic.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "study/private.h"

#include <string.h>

enum { STEPS = 8, FILE_MOST = 1 << 20 };

static const char what[] = "a short training to measure its steps";

/* Pictures a second, as the last line of a log has it. */
static double logged_rate(const char *log)
{
    static const char key[] = "\"pictures_per_second\": ";
    char line[512];
    const char *at;

    vt_study_last_line(line, sizeof line, log);
    at = strstr(line, key);
    return at ? strtod(at + sizeof key - 1, NULL) : 0;
}

static vitcl_status describe(vt_rate *rate, const vt_experiment *e,
                             const char *folder, const char *out,
                             const char *messages)
{
    const char *const words[] = {"info", "-m", folder, "--json", NULL};
    vitcl_status st;
    vt_json *json = NULL;

    VT_TRY(vt_process_run(e, words, out, messages, what));
    VT_TRY(vt_json_load(&json, out, FILE_MOST, 8));
    vt_json_number(&rate->gmac, vt_json_get(json, "gmac"));
    vt_json_uint(&rate->parameters, vt_json_get(json, "parameters"));
done:
    vt_json_free(json);
    return st;
}

/* Did vitcl say that it waited for kernels? A later run finds them. */
static vitcl_status waited(bool *out, const char *messages)
{
    vt_file f = {0};

    VT_RET(vt_file_read(&f, messages, FILE_MOST));
    *out = f.size && strstr((const char *)f.data, "(once for this device)");
    vt_file_close(&f);
    return VITCL_OK;
}

/* *once: a part of what is fixed was for the first training on the device. */
static vitcl_status measure(bool *once, vt_experiment *e, const vt_run *r)
{
    const uint32_t pictures = VT_MIN(STEPS * r->batch, e->all_pictures);
    const double began = vt_now_ms();
    vt_rate rate = {0};
    vt_subset data;
    char folder[VT_STUDY_PATH], config[VT_STUDY_PATH], log[VT_STUDY_PATH],
        messages[VT_STUDY_PATH], out[VT_STUDY_PATH], settings[VT_STUDY_PATH],
        stamp[32], batch[16], size[16];
    double each;

    vt_rate_id(rate.id, e, r);
    vt_snprint(stamp, sizeof stamp, "%.8s-%.0f", rate.id, began);
    VT_RET(vt_study_path(folder, e, "measure/%s", stamp));
    VT_RET(vt_study_path(config, e, "measure/%s.config.json", stamp));
    VT_RET(vt_study_path(settings, e, "measure/%s.settings.json", stamp));
    VT_RET(vt_study_path(log, e, "measure/%s.log.jsonl", stamp));
    VT_RET(vt_study_path(messages, e, "measure/%s.messages.txt", stamp));
    VT_RET(vt_study_path(out, e, "measure/%s.info.json", stamp));
    VT_RET(vt_study_write(config, r->config));
    VT_RET(vt_subset_make(&data, e, r, pictures, VT_MIN(e->all_tests, 100)));
    vt_snprint(batch, sizeof batch, "%u", VT_MIN(r->batch, pictures));
    vt_snprint(size, sizeof size, "%u", r->size ? r->size : vt_study_side(e));
    const char *words[32] = {"train",   "--config", config, "--data",
                             data.path, "--epochs", "1",    "--batch",
                             batch,     "-o",       folder, "--log",
                             log,       "--size",   size};
    size_t n = 15;
    if (r->objective)
        words[n++] = "--objective", words[n++] = r->objective;
    if (r->settings[0]) {
        VT_RET(vt_study_write(settings, r->settings));
        words[n++] = "--settings", words[n++] = settings;
    }
    if (e->options.device)
        words[n++] = "--device", words[n++] = e->options.device;
    VT_RET(vt_process_run(e, words, NULL, messages, what));
    each = logged_rate(log);
    rate.fixed = (vt_now_ms() - began) / 1e3;
    rate.train = each > 0 ? 1 / each : rate.fixed / pictures;
    rate.fixed -= rate.train * pictures;
    rate.fixed = VT_MAX(rate.fixed, 0.2);
    rate.score = rate.train / 3; /* no backward pass */
    VT_RET(waited(once, messages));
    VT_RET(describe(&rate, e, folder, out, messages));
    e->rate[e->rates++] = rate;
    return VITCL_OK;
}

vitcl_status vt_rates_measure(vt_experiment *e)
{
    bool once;

    for (size_t i = 0; i < e->runs && e->rates < VT_RATES; i++) {
        if (vt_rate_of(e, &e->run[i]))
            continue;
        VT_RET(measure(&once, e, &e->run[i]));
        if (!once && e->rates > 1)
            continue;
        /* the first also chose kernels, and others may have compiled some */
        e->rates--;
        VT_RET(measure(&once, e, &e->run[i]));
    }
    return VITCL_OK;
}

/* Pictures that are only scored. */
static double scored(const vt_experiment *e, const vt_run *r)
{
    double n = 0, shots = 0;

    if (r->score == VT_SCORE_HELD_OUT)
        n += VT_MIN(r->pictures / 5, 1000) * (double)r->epochs;
    if (r->score == VT_SCORE_TEST)
        n += e->tests;
    for (size_t i = 0; i < VT_SHOTS; i++)
        shots = VT_MAX(shots, r->shots[i]);
    if (shots > 0)
        n += e->tests + shots * e->classes * e->tries;
    return n;
}

vt_run_cost vt_run_costs(const vt_experiment *e, const vt_run *run)
{
    const vt_rate *rate = vt_rate_of(e, run);
    const double trained = (double)run->pictures * run->epochs;
    const double more = scored(e, run);
    vt_run_cost c = {.pictures = run->pictures, .epochs = run->epochs};

    if (!rate)
        return c;
    c.flop = 2e9 * rate->gmac * (3 * trained + more);
    c.seconds = rate->fixed + rate->train * trained + rate->score * more;
    c.seconds += run->score == VT_SCORE_TEST ? rate->fixed / 2 : 0;
    c.seconds += run->shots[0] ? rate->fixed / 2 : 0;
    return c;
}
