/*
 * show.c - a training's batch, as a caller sees it.
 */
#include "train/loop.h"

#include "base/memory.h"

#include <string.h>

vitcl_status vt_job_show(const vt_job *job, const vt_batches_options *f,
                         const vt_batch *b, long step)
{
    vitcl_status st = VITCL_OK;
    vitcl_train_batch seen = {.size = sizeof seen,
                              .step = (uint64_t)step + 1,
                              .pictures = f->batch,
                              .height = f->height,
                              .width = f->width,
                              .classes = f->classes,
                              .pixels = b->pixels,
                              .scale = f->how.scale,
                              .targets = b->targets};
    const char **label = NULL;

    memcpy(seen.mean, f->how.mean, sizeof seen.mean);
    memcpy(seen.std, f->how.std, sizeof seen.std);
    if (b->targets) {
        VT_TRY(VT_NEW(&label, f->classes));
        for (uint32_t c = 0; c < f->classes; c++)
            label[c] = vt_dataset_class(f->d, c);
        seen.label = label;
    }
    if (job->show(job->context, &seen))
        st = vt_fail(VITCL_ESTOPPED, "stopped before step %ld", step + 1);
done:
    free(label);
    return st;
}
