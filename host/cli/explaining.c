/*
 * explaining.c - collects attention rollout while a picture runs. What is shown
 * is printed by blocks.c.
 */
#include "explaining.h"

#include "blocks.h"
#include "inspect/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 256 };

struct explaining {
    vitcl_model_info info;
    uint32_t height, width, prefix, rows, columns;
    vt_rollout *rollout; /* NULL: nothing is collected */
    uint32_t layer;
    bool broken;       /* this is not attention over a grid of patches */
    double *row, *one; /* [tokens] */
};

explaining *explaining_open(void)
{
    explaining *e = calloc(1, sizeof *e);

    if (!e)
        fail("out of memory");
    return e;
}

void explaining_close(explaining *e)
{
    if (!e)
        return;
    vt_rollout_free(e->rollout);
    free(e->row);
    free(e->one);
    free(e);
}

/* A vitcl_watcher: the next layer's probabilities [1, heads, T, T]. */
static int see(void *context, const vitcl_tensor_info *t, const float *probs)
{
    explaining *e = context;

    if (!e->rollout || e->broken)
        return 0;
    if (e->layer == 0)
        vt_rollout_clear(e->rollout);
    e->broken =
        t->rank != 4 || t->shape[1] != e->info.heads ||
        t->shape[2] != e->info.tokens || t->shape[3] != e->info.tokens ||
        e->layer >= e->info.layers ||
        vt_rollout_add(e->rollout, probs, (int)e->info.heads) != VITCL_OK;
    e->layer++;
    return 0;
}

void explaining_watch(explaining *e, vitcl_session_options *options)
{
    static const char *const attention[] = {"attention.*", NULL};

    options->batch = 1;
    options->watch = attention;
    options->watcher = see;
    options->watcher_context = e;
}

/* Patches have `patch` pixels a side; all other tokens come before them. */
static bool find_grid(explaining *e)
{
    const vitcl_model_info *m = &e->info;

    e->rows = m->patch ? e->height / m->patch : 0;
    e->columns = m->patch ? e->width / m->patch : 0;
    if (!m->layers || m->layers > MOST_LAYERS || !m->heads || !e->rows ||
        !e->columns || m->tokens < e->rows * e->columns)
        return false;
    e->prefix = m->tokens - e->rows * e->columns;
    return true;
}

static void say_none(const explaining *e)
{
    note("%s has no attention over patches, so only its classes are shown",
         e->info.name);
}

int explaining_start(explaining *e, const vitcl_model *model,
                     const vitcl_session *session)
{
    const vt_rollout_options usual = {.heads = VT_FUSE_MEAN, .residual = 0.5};

    vitcl_session_size(session, &e->height, &e->width);
    e->info.size = sizeof e->info;
    if (vitcl_model_describe(&e->info, model, e->height, e->width, 1) !=
        VITCL_OK)
        return failed();
    if (!find_grid(e)) {
        say_none(e);
        return EXIT_OK;
    }
    e->row = calloc(e->info.tokens, sizeof *e->row);
    e->one = calloc(e->info.tokens, sizeof *e->one);
    if (!e->row || !e->one)
        return fail("out of memory");
    return vt_rollout_new(&e->rollout, (int)e->info.layers, (int)e->info.tokens,
                          &usual) == VITCL_OK
               ? EXIT_OK
               : failed();
}

/* What the answer is read from: the class token, or the mean of all patches. */
static void roll_out(explaining *e)
{
    const uint32_t n = e->rows * e->columns, tokens = e->info.tokens;

    if (e->prefix) {
        vt_rollout_row(e->row, e->rollout, 0);
        return;
    }
    memset(e->row, 0, tokens * sizeof *e->row);
    for (uint32_t q = 0; q < n; q++) {
        vt_rollout_row(e->one, e->rollout, (int)q);
        for (uint32_t i = 0; i < tokens; i++)
            e->row[i] += e->one[i] / n;
    }
}

static bool all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

int explaining_print(explaining *e, const naming *n, const answer *a,
                     const uint8_t *rgb)
{
    const bool whole = e->rollout && !e->broken && e->layer == e->info.layers;
    const blocks_map map = {.rgb = rgb,
                            .height = e->height,
                            .width = e->width,
                            .value = e->row + e->prefix,
                            .rows = e->rows,
                            .columns = e->columns};

    e->layer = 0;
    blocks_classes(n, a);
    if (e->rollout && !whole) {
        say_none(e);
        vt_rollout_free(e->rollout);
        e->rollout = NULL;
    }
    if (!whole)
        return EXIT_OK;
    roll_out(e);
    if (!all_finite(e->row, e->info.tokens))
        return fail("%s: the attention is not finite", a->path);
    return blocks_show(&map);
}
