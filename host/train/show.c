/*
 * show.c - what a caller sees of a training: its first batch, RandAugment's
 * operations, and the patches that a model predicts.
 */
#include "train/loop.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* What all of them have. */
static vitcl_train_batch seen_of(const vt_batches_options *f, uint32_t pictures,
                                 const float *pixels, long step)
{
    vitcl_train_batch seen = {.size = sizeof seen,
                              .step = (uint64_t)step,
                              .pictures = pictures,
                              .height = f->height,
                              .width = f->width,
                              .classes = f->classes,
                              .pixels = pixels,
                              .scale = f->how.scale};

    memcpy(seen.mean, f->how.mean, sizeof seen.mean);
    memcpy(seen.std, f->how.std, sizeof seen.std);
    return seen;
}

vitcl_status vt_training_show(const vt_training *job,
                              const vt_batches_options *f, const vt_batch *b,
                              long step)
{
    vitcl_status st = VITCL_OK;
    vitcl_train_batch seen = seen_of(f, f->batch, b->pixels, step + 1);
    const char **label = NULL;

    seen.targets = b->targets;
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

/* ---- RandAugment's operations ---- */

enum { TILES_MOST = 1 + 2 * VT_TIMM_OPS };

typedef struct preview {
    const vt_batches_options *f;
    vt_picture base;
    float *pixels;
    char name[TILES_MOST][VT_AUGMENT_NAME];
    uint32_t count;
} preview;

/* As normalise makes it of 8 bits. */
static void put_pixels(preview *v, const vt_picture *p)
{
    const size_t plane = (size_t)p->width * p->height;
    const vt_preprocess *how = &v->f->how;
    float *out = v->pixels + v->count * 3 * plane;

    for (size_t i = 0; i < 3 * plane; i++) {
        const size_t c = i / plane, at = i % plane;

        out[i] = ((float)p->rgb[3 * at + c] * how->scale - how->mean[c]) /
                 how->std[c];
    }
}

static vitcl_status put_changed(preview *v, vt_augment_op op, int sign)
{
    vitcl_status st;
    const size_t bytes = (size_t)v->base.width * v->base.height * 3;
    const vt_augment *how = &v->f->augment;
    const double level = how->levels == VT_LEVELS
                             ? how->magnitude
                             : VT_MIN(how->magnitude, how->most);
    vt_picture p = {v->base.width, v->base.height, NULL};

    VT_TRY(vt_new(&p.rgb, bytes, 1));
    memcpy(p.rgb, v->base.rgb, bytes);
    VT_TRY(vt_augment_apply(&p, op, level, sign, how->levels));
    put_pixels(v, &p);
    vt_augment_describe(v->name[v->count++], op, level, sign, how->levels);
done:
    vt_picture_free(&p);
    return st;
}

vitcl_status vt_training_preview(const vt_training *job,
                                 const vt_batches_options *f)
{
    vitcl_status st;
    vt_random r = vt_random_new(f->random_state, 0, 0);
    preview v = {.f = f};
    vt_picture in = {0};
    vitcl_train_batch seen;
    const char *label[TILES_MOST];

    VT_TRY(vt_batches_picture(&in, f->d, (uint32_t)f->chosen[0]));
    VT_TRY(vt_augment_picture(&v.base, &in, f->width, f->height, f->how.pixels,
                              f->how.filter, &(vt_augment){.pad = 0}, &r));
    VT_TRY(vt_new(&v.pixels, TILES_MOST * 3 * (size_t)f->height * f->width,
                  sizeof *v.pixels));
    put_pixels(&v, &v.base);
    snprintf(v.name[v.count++], VT_AUGMENT_NAME, "as it is");
    for (int op = 0; op < vt_augment_ops(f->augment.levels); op++)
        for (int sign = 1; sign >= -1; sign -= 2)
            if (sign > 0 ||
                vt_augment_signed((vt_augment_op)op, f->augment.levels))
                VT_TRY(put_changed(&v, (vt_augment_op)op, sign));
    for (uint32_t i = 0; i < v.count; i++)
        label[i] = v.name[i];
    seen = seen_of(f, v.count, v.pixels, f->first + 1);
    seen.classes = v.count;
    seen.label = label;
    if (job->preview(job->context, &seen))
        st = vt_fail(VITCL_ESTOPPED, "stopped before step %ld", f->first + 1);
done:
    vt_picture_free(&in);
    vt_picture_free(&v.base);
    free(v.pixels);
    return st;
}

/* ---- masked patches ---- */

vitcl_status vt_training_predicted(const vt_training *job, vt_answers *a,
                                   const vt_held_out *h, uint64_t step)
{
    vitcl_status st;
    vt_batches_options o = *h->feed;
    vt_batches *batches = NULL;
    int32_t *colour = NULL;
    vitcl_train_batch seen;
    vt_batch b;

    if (h->count)
        o.d = h->d, o.chosen = h->chosen, o.count = h->count;
    o.count = VT_MIN(o.count, (size_t)a->micro);
    o.batch = a->micro;
    o.augmented = false;
    o.from = o.to = 0;
    o.first = 0;
    o.end = 1;
    VT_TRY(VT_NEW(&colour, a->micro * a->rows));
    VT_TRY(vt_batches_new(&batches, &o));
    VT_TRY(vt_batches_next(&b, batches));
    VT_TRY(vt_score_colours(colour, a, &b, h->averages));
    seen = seen_of(&o, (uint32_t)o.count, b.pixels, (long)step);
    seen.source = b.source;
    seen.colour = b.colour;
    seen.predicted = colour;
    seen.patch_height = (uint32_t)o.patch_h;
    seen.patch_width = (uint32_t)o.patch_w;
    if (job->predicted(job->context, &seen))
        st = vt_fail(VITCL_ESTOPPED, "stopped after step %llu",
                     (unsigned long long)step);
done:
    vt_batches_free(batches);
    free(colour);
    return st;
}
