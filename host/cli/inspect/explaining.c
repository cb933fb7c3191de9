/*
 * explaining.c - collects attention rollout while a picture runs. What is shown
 * is printed by blocks.c.
 */
#include "explaining.h"

#include "blocks.h"
#include "inspect.h"
#include "inspect/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct explaining {
    vitcl_model_info info;
    uint32_t height, width;
    vt_patch_grid grid;
    vt_rollout *rollout; /* NULL: nothing is collected */
    uint32_t layer;
    bool broken;  /* this is not attention over a grid of patches */
    float *dense; /* [heads, tokens, tokens] of an axial layer, or NULL */
    double *row;  /* [tokens] */
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
    free(e->dense);
    free(e->row);
    free(e);
}

/* A vitcl_watcher: the next layer's probabilities. */
static int see(void *context, const vitcl_tensor_info *t, const float *probs)
{
    explaining *e = context;

    if (!e->rollout)
        return 0;
    if (strcmp(t->name, "attention.0") == 0) { /* also after a failed run */
        vt_rollout_clear(e->rollout);
        e->layer = 0, e->broken = false;
    }
    if (e->broken)
        return 0;
    probs = inspect_layer(e->dense, t, probs, &e->info, &e->grid, e->layer);
    e->broken =
        !probs || e->layer >= e->info.layers ||
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

static void say_none(const explaining *e)
{
    note("%s has no attention over patches, so only its classes are shown",
         e->info.name);
}

int explaining_start(explaining *e, const vitcl_model *model,
                     const vitcl_session *session)
{
    const vt_rollout_options usual = {.heads = VT_FUSE_MEAN, .residual = 0.5};

    vitcl_session_size(&e->height, &e->width, session);
    e->info.size = sizeof e->info;
    RET(vitcl_model_describe(&e->info, model, e->height, e->width, 1));
    if (!inspect_grid(&e->grid, &e->info)) {
        say_none(e);
        return EXIT_OK;
    }
    e->row = calloc(e->info.tokens, sizeof *e->row);
    if (inspect_axial(&e->info))
        e->dense = inspect_room(&e->info);
    if (!e->row || (inspect_axial(&e->info) && !e->dense))
        return fail("out of memory");
    return code_of(vt_rollout_new(&e->rollout, (int)e->info.layers,
                                  (int)e->info.tokens, &usual));
}

static bool all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

int explaining_print(explaining *e, const naming *n, const answer *a)
{
    const bool whole = e->rollout && !e->broken && e->layer == e->info.layers;
    const blocks_map map = {.rgb = a->rgb,
                            .height = e->height,
                            .width = e->width,
                            .value = e->row + e->grid.prefix,
                            .rows = (uint32_t)e->grid.rows,
                            .columns = (uint32_t)e->grid.columns};

    e->layer = 0;
    blocks_classes(n, a);
    if (e->rollout && !whole) {
        say_none(e);
        vt_rollout_free(e->rollout);
        e->rollout = NULL;
    }
    if (!whole)
        return EXIT_OK;
    vt_rollout_answer(e->row, e->rollout, &e->grid);
    if (!all_finite(e->row, e->info.tokens))
        return fail("%s: the attention is not finite", a->path);
    return blocks_show(&map);
}
