/*
 * known.c - what is known of an experiment: its sizes, runs and rates.
 */
#include "base/memory.h"
#include "base/number.h"
#include "base/sha256.h"
#include "study/private.h"

#include <string.h>

uint32_t vt_study_pictures(const vt_experiment *e)
{
    return e->pictures;
}

uint32_t vt_study_epochs(const vt_experiment *e)
{
    return e->epochs;
}

uint32_t vt_study_tries(const vt_experiment *e)
{
    return e->tries;
}

uint32_t vt_study_side(const vt_experiment *e)
{
    return e->side;
}

uint32_t vt_study_classes(const vt_experiment *e)
{
    return e->classes;
}

uint32_t vt_study_tests(const vt_experiment *e)
{
    return e->tests;
}

/* Of four classes two and two. */
uint32_t vt_study_part_classes(const vt_experiment *e, vt_class_part part)
{
    const uint32_t first = 3 * e->classes / 5;

    return part == VT_CLASSES_ALL     ? e->classes
           : part == VT_CLASSES_FIRST ? first
                                      : e->classes - first;
}

uint32_t vt_study_part_pictures(const vt_experiment *e, vt_class_part part)
{
    const uint64_t share =
        (uint64_t)e->pictures * vt_study_part_classes(e, part) / e->classes;
    const uint32_t all = part == VT_CLASSES_ALL ? e->all_pictures
                         : part == VT_CLASSES_FIRST
                             ? e->all_pictures - e->rest_pictures
                             : e->rest_pictures;

    return VT_MIN((uint32_t)share, all);
}

const char *vt_study_kind(const vt_experiment *e)
{
    return e->kind;
}

const vt_run *vt_run_at(const vt_experiment *e, size_t index)
{
    return index < e->runs ? &e->run[index] : NULL;
}

const vt_run *vt_run_named(const vt_experiment *e, const char *name)
{
    for (size_t i = 0; i < e->runs; i++)
        if (strcmp(e->run[i].name, name) == 0)
            return &e->run[i];
    return NULL;
}

void vt_rate_id(char out[17], const vt_experiment *e, const vt_run *r)
{
    char text[1536], hex[65];
    uint8_t hash[32];
    int n = vt_snprint(text, sizeof text, "%s\n%u %u %s %s", r->config, r->size,
                       r->batch, r->objective ? r->objective : "", r->settings);

    if (r->precision || r->freeze)
        n += vt_snprint(text + n, sizeof text - (size_t)n, "\n%s %s",
                        r->precision ? r->precision : "",
                        r->freeze ? r->freeze : "");
    if (e->options.device)
        n += vt_snprint(text + n, sizeof text - (size_t)n, "\n%.256s",
                        e->options.device);
    vt_sha256(text, (size_t)n, hash);
    vt_sha256_hex(hex, hash);
    snprintf(out, 17, "%.16s", hex);
}

static const vt_rate *find_rate(const vt_experiment *e, const vt_run *run)
{
    char id[17];

    vt_rate_id(id, e, run);
    for (size_t i = 0; i < e->rates; i++)
        if (strcmp(e->rate[i].id, id) == 0)
            return &e->rate[i];
    return NULL;
}

/* The rate of the same run with nothing frozen. */
static const vt_rate *find_whole(const vt_experiment *e, const vt_run *run)
{
    vt_run whole = *run;

    whole.freeze = NULL;
    return find_rate(e, &whole);
}

const vt_rate *vt_rate_of(const vt_experiment *e, const vt_run *run)
{
    const vt_rate *r = find_rate(e, run);

    return r || !run->freeze ? r : find_whole(e, run);
}

/* There is no backward pass below the head. */
void vt_rate_add_frozen(vt_experiment *e, const vt_run *run)
{
    const vt_rate *whole = find_whole(e, run);
    vt_rate *r = &e->rate[e->rates];

    if (!whole || find_rate(e, run) || e->rates == VT_RATES)
        return;
    *r = *whole;
    r->train = whole->score;
    vt_rate_id(r->id, e, run);
    e->rates++;
}
