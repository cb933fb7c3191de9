/*
 * together.c - runs all pictures once before they are drawn, and adds up the
 * moments of their tokens.
 */
#include "together.h"

#include "cli/pictures/piped.h"
#include "inspect/components.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const inspect_together *t;
    vt_moments *sums;
    float *seen; /* [patches, width]: the last patch tokens */
    bool some;   /* were there any? */
    size_t from, count;
} work;

/* A vitcl_watcher. Tokens that are shown later are nearer to the answer. */
static int see(void *context, const vitcl_tensor_info *t, const float *data)
{
    work *w = context;

    if (w->seen && t->rank == 3 && t->shape[1] == w->t->info->tokens &&
        t->shape[2] == w->t->info->width) {
        memcpy(w->seen, data + w->from, w->count * sizeof *w->seen);
        w->some = true;
    }
    return 0;
}

static int look_at(work *w, inspect_together *t, vitcl_session *session,
                   const uint8_t *rgb)
{
    w->some = false;
    RET(vitcl_session_run_rgb(session, rgb, 1));
    for (size_t i = 0; i < w->count; i++)
        if (!w->some || !isfinite(w->seen[i]))
            return EXIT_OK; /* drawing it says why */
    vt_moments_add(w->sums, w->seen, (int)(w->count / t->info->width));
    t->pictures++;
    return EXIT_OK;
}

static int look_at_all(work *w, inspect_together *t, vitcl_session *session,
                       picture_batches *batches, uint64_t total)
{
    const answer *found;
    const uint8_t *rgb;
    uint32_t n, good;
    uint64_t done = 0;
    progress bar;
    int code = EXIT_OK;

    progress_start(&bar, "pictures for colours", total);
    while (code == EXIT_OK &&
           (n = batches_next(&found, &rgb, &good, batches)) > 0) {
        guard_end();
        for (uint32_t i = 0; i < n && code == EXIT_OK; i++)
            if (!found[i].error)
                code = look_at(w, t, session, rgb);
        progress_show(&bar, done += n, NULL);
    }
    progress_clear(&bar);
    if (code == EXIT_OK)
        code = batches_broken(batches);
    return code == EXIT_OK && batches_cut(batches) ? EXIT_STOPPED : code;
}

static int allocate(work *w, inspect_together *t)
{
    const uint32_t width = t->info->width;

    w->from = (size_t)t->grid->prefix * width;
    w->count = (size_t)t->grid->rows * (size_t)t->grid->columns * width;
    w->seen = calloc(w->count, sizeof *w->seen);
    t->axis = calloc((size_t)INSPECT_COLOURS * width, sizeof *t->axis);
    t->mean = calloc(width, sizeof *t->mean);
    return w->seen && t->axis && t->mean &&
                   vt_moments_new(&w->sums, (int)width) == VITCL_OK
               ? EXIT_OK
               : fail("out of memory");
}

bool inspect_together_can(const words *operands)
{
    bool can = operands->count > 0;

    for (size_t i = 0; i < operands->count; i++)
        can &= strcmp(operands->item[i], "-") != 0 &&
               !piped_is_name(operands->item[i]);
    if (!can)
        usage("--together needs pictures that can be read twice: name files or "
              "folders, not - or a pipe");
    return can;
}

int inspect_together_find(inspect_together *t, const model_options *common,
                          const words *operands,
                          const picture_options *pictures)
{
    const char *const watched[] = {"norm", t->block, NULL};
    work w = {.t = t};
    vitcl_session_options options = session_options(common);
    vitcl_session *session = NULL;
    picture_batches *batches = NULL;
    int code;

    options.batch = 1;
    options.watch = watched;
    options.watcher = see;
    options.watcher_context = &w;
    TRY(one_size(&options, t->model));
    TRY(start_session(&session, t->device, t->model, &options));
    TRY(allocate(&w, t));
    if (!(batches = batches_open(operands, pictures)))
        TRY(EXIT_FAILED);
    TRY(batches_start(batches, session));
    TRY(look_at_all(&w, t, session, batches,
                    batches_total(operands, pictures)));
    if (t->pictures)
        TRY(vt_moments_components(t->axis, t->mean, t->variance, t->spread,
                                  INSPECT_COLOURS, w.sums));
done:
    batches_close(batches);
    vitcl_session_free(session);
    vt_moments_free(w.sums);
    free(w.seen);
    return code;
}

void inspect_together_close(inspect_together *t)
{
    free(t->axis);
    free(t->mean);
}
