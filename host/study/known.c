/*
 * known.c - what is known of an experiment: its sizes, runs and rates.
 */
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

void vt_rate_id(char out[17], const vt_run *r)
{
    char text[1024], hex[65];
    uint8_t hash[32];
    const int n =
        vt_snprint(text, sizeof text, "%s\n%u %u %s %s", r->config, r->size,
                   r->batch, r->objective ? r->objective : "", r->settings);

    vt_sha256(text, (size_t)n, hash);
    vt_sha256_hex(hex, hash);
    snprintf(out, 17, "%.16s", hex);
}

const vt_rate *vt_rate_of(const vt_experiment *e, const vt_run *run)
{
    char id[17];

    vt_rate_id(id, run);
    for (size_t i = 0; i < e->rates; i++)
        if (strcmp(e->rate[i].id, id) == 0)
            return &e->rate[i];
    return NULL;
}
