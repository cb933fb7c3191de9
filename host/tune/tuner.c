/*
 * tuner.c - search for parameters of the multiplications.
 *
 * The tuner is a local search: it applies one move after another to the best
 * entry, keeps a change that is better by more than noise in two measurements,
 * and ends when a round of all moves has changed nothing. The products to
 * measure on are part of the candidate's text.
 */
#include "tune/tuner.h"

#include "base/memory.h"
#include "tune/params.h"

#include <stdio.h>
#include <string.h>

/* How much better than the best a candidate must be to replace it. */
#define CLEARLY 0.985

enum { SEEN = 256 };

struct vt_tuner {
    vt_dev *dev;
    char best[VT_ENTRY], entry[VT_ENTRY]; /* entry: being measured */
    char provider[16], candidate[VT_ENTRY + 520], path[4096];
    vt_candidate_product products[VT_CANDIDATE_PRODUCTS];
    int n;
    double first, ratio; /* of the first and the best entry */
    double pending;      /* this entry's, which is measured again */
    unsigned move;       /* next move to try */
    bool changed;        /* in this round */
    uint32_t seen[SEEN]; /* hashes of entries that were measured */
    int n_seen;
};

static uint32_t hash(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

/* False if it was known before. */
static bool remember(vt_tuner *t, const char *entry)
{
    const uint32_t h = hash(entry);

    for (int i = 0; i < t->n_seen; i++)
        if (t->seen[i] == h)
            return false;
    if (t->n_seen == SEEN)
        return false;
    t->seen[t->n_seen++] = h;
    return true;
}

/* The form's values in use. */
static vitcl_status start(char out[VT_ENTRY], const vt_dev *dev,
                          const char *provider, const char *form, vt_dtype type)
{
    vt_params_kind kind;

    if (vt_params_find(&kind, form, vt_type_number(type))) {
        vt_params_entry(out, dev, kind, type);
        return VITCL_OK;
    }
    if (strcmp(provider, "native") == 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "the native multiplication cannot be tuned in %s "
                       "on %.60s",
                       vt_dtype_name(type), vt_dev_info(dev)->name);
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s cannot be tuned in %s; use native or clblast (clblast "
                   "only in f32)",
                   provider, vt_dtype_name(type));
}

vitcl_status vt_tuner_new(vt_tuner **out, vt_dev *dev, const char *provider,
                          const char *form, vt_dtype type,
                          const vt_candidate_product *products, int n)
{
    vt_tuner *t = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&t, 1));
    t->dev = vt_dev_ref(dev);
    snprintf(t->provider, sizeof t->provider, "%s", provider);
    memcpy(t->products, products, (size_t)n * sizeof *products);
    t->n = n;
    VT_TRY(start(t->best, dev, provider, form, type));
    VT_TRY(vt_lines_check(VT_LINES_TUNED)); /* not only after a long search */
    *out = t, t = NULL;
done:
    vt_tuner_free(t);
    return st;
}

void vt_tuner_free(vt_tuner *t)
{
    if (!t)
        return;
    vt_dev_free(t->dev);
    free(t);
}

/* ---- the search ---- */

/* Puts the next untried neighbour of the best entry into t->entry. */
static bool step(vt_tuner *t)
{
    for (;;) {
        if (!vt_params_move(t->entry, t->dev, t->best, t->move++)) {
            if (!t->changed)
                return false;
            t->move = 0, t->changed = false;
        } else if (t->entry[0] && remember(t, t->entry)) {
            return true;
        }
    }
}

const char *vt_tuner_next(vt_tuner *t)
{
    if (t->n_seen == 0) {
        memcpy(t->entry, t->best, sizeof t->entry);
        remember(t, t->entry);
    } else if (t->pending <= 0 && (t->first <= 0 || !step(t))) {
        return NULL; /* also if there is no entry to start from */
    }
    vt_candidate_format(t->candidate, sizeof t->candidate, t->entry,
                        t->provider, t->products, t->n);
    return t->candidate;
}

void vt_tuner_tell(vt_tuner *t, double ratio)
{
    const double other = t->pending;

    t->pending = 0;
    if (!(ratio > 0))
        return;
    if (t->first <= 0) {
        t->first = t->ratio = t->pending = ratio;
    } else if (t->n_seen == 1) { /* the first entry again */
        t->first = t->ratio = VT_MIN(ratio, other);
    } else if (ratio < t->ratio * CLEARLY && other <= 0) {
        t->pending = ratio;
    } else if (ratio < t->ratio * CLEARLY) {
        t->ratio = VT_MAX(ratio, other), t->changed = true;
        memcpy(t->best, t->entry, sizeof t->best);
    }
}

const char *vt_tuner_best(const vt_tuner *t)
{
    return t->best;
}

double vt_tuner_gain(const vt_tuner *t)
{
    return t->ratio > 0 ? t->first / t->ratio : 1;
}

vitcl_status vt_tuner_save(const char **path, vt_tuner *t)
{
    if (t->first <= 0)
        return vt_fail(VITCL_EDEVICE,
                       "nothing to save: no candidate could be measured");
    VT_RET(vt_params_save(t->dev, t->best));
    if (!vt_lines_path(t->path, sizeof t->path, VT_LINES_TUNED))
        t->path[0] = '\0';
    *path = t->path;
    return VITCL_OK;
}
