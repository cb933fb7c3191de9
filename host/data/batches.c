/*
 * batches.c - a ring of batches that threads fill, picture by picture.
 *
 * Slot step % SLOTS belongs to a step from the moment its first picture is
 * taken until the following step is requested. The thread that finishes the
 * last picture of a slot mixes the batch and marks it ready. Each thread has
 * its own decoder process for picture files; a picture that needs more memory
 * than that one has goes to one large decoder that all threads share.
 */
#include "data/batches.h"

#include "base/cores.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/mask.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SLOTS 3
#define WORKERS_MAX 64
/* Independent streams of random numbers. */
#define ORDER 0x6f72646572u
#define CHANGE 0x6368616e67u
#define MIX 0x6d6978u
#define MASK 0x6d61736bu

typedef struct slot {
    long step;
    uint32_t taken, made;
    uint32_t *picture; /* [batch], indices into the dataset */
    float *pixels, *targets;
    int32_t *source, *colour;
} slot;

struct vt_batches {
    vt_batches_options o;
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    pthread_t worker[WORKERS_MAX];
    unsigned workers, threads; /* running, planned */
    pthread_mutex_t large_lock;
    vt_decoder_pool *large; /* NULL until needed */
    bool stop;
    long opened, wanted; /* next steps to open and to return */
    slot ring[SLOTS];
    int patches; /* per picture; 0: targets are labels */
    size_t *order;
    long order_epoch;
    float table[3][256];
    vitcl_status failed;
    char message[512];
};

long vt_batches_steps(size_t count, uint32_t batch, bool augmented)
{
    const size_t n = augmented ? count / batch : (count + batch - 1) / batch;

    return n ? (long)n : 1;
}

/* ---- one picture ---- */

static void normalise(float *out, const uint8_t *rgb, const vt_batches *f)
{
    const size_t plane = (size_t)f->o.height * f->o.width;

    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            out[c * plane + i] = f->table[c][rgb[3 * i + c]];
}

static void set_target(float *out, const vt_batches *f, uint32_t label)
{
    const double s = f->o.augmented ? f->o.smoothing : 0;

    for (uint32_t k = 0; k < f->o.classes; k++)
        out[k] = (float)(s / f->o.classes + (k == label ? 1 - s : 0));
}

/* Scored pictures get the same mask in every epoch. */
static vitcl_status set_patches(slot *s, const vt_batches *f, uint32_t i,
                                const vt_picture *p, long epoch)
{
    vitcl_status st = VITCL_OK;
    const size_t at = (size_t)i * (size_t)f->patches;
    vt_random r =
        vt_random_new(f->o.random_state ^ MASK,
                      f->o.augmented ? (uint64_t)epoch : 0, s->picture[i]);
    uint8_t *asked = NULL;

    VT_TRY(vt_new(&asked, (size_t)f->patches, sizeof *asked));
    VT_TRY(vt_mask_choose(s->source + at, asked, f->patches, &r));
    vt_mask_colours(s->colour + at, p, f->o.patch_h, f->o.patch_w);
    for (int n = 0; n < f->patches; n++)
        if (!asked[n])
            s->colour[at + (size_t)n] = -1;
done:
    free(asked);
    return st;
}

static vitcl_status decode_by(vt_picture *out, vt_decoder_pool *pool,
                              const char *path)
{
    VT_RET(vt_pool_push(pool, path));
    return vt_pool_whole(out, pool);
}

static vitcl_status decode_large(vt_picture *out, vt_batches *f,
                                 const char *path)
{
    vitcl_status st = VITCL_OK;

    pthread_mutex_lock(&f->large_lock);
    if (!f->large)
        VT_TRY(vt_pool_new_shared(&f->large, f->threads, true));
    VT_TRY(decode_by(out, f->large, path));
done:
    pthread_mutex_unlock(&f->large_lock);
    return st;
}

/* *own: the thread's decoder, started on first use. */
static vitcl_status load(vt_picture *out, vt_batches *f, vt_decoder_pool **own,
                         uint32_t picture)
{
    vitcl_status st = VITCL_OK;
    const char *path = vt_dataset_path(f->o.d, picture);

    if (!path)
        return vt_dataset_picture(out, f->o.d, picture);
    if (!*own)
        VT_TRY(vt_pool_new_shared(own, f->threads, false));
    st = decode_by(out, *own, path);
    if (st == VITCL_ENOMEM)
        st = decode_large(out, f, path);
done:
    return st;
}

vitcl_status vt_batches_picture(vt_picture *out, const vt_dataset *d,
                                uint32_t picture)
{
    vitcl_status st = VITCL_OK;
    vt_batches f = {.o.d = d, .threads = 1};
    vt_decoder_pool *own = NULL;

    pthread_mutex_init(&f.large_lock, NULL);
    VT_TRY(load(out, &f, &own, picture));
done:
    vt_pool_free(own);
    vt_pool_free(f.large);
    pthread_mutex_destroy(&f.large_lock);
    return st;
}

/* Of those asked for; or it is mixed with one of them: first with last, second
 * with last but one. */
static bool needed(const vt_batches_options *o, long step, uint32_t i)
{
    const bool mixes = o->augmented && !o->patch_h &&
                       (o->augment.mixup > 0 || o->augment.cutmix > 0);
    const uint32_t other = mixes ? o->batch - 1 - i : i;

    return o->to == 0 || (o->first_whole && step == o->first) ||
           (i >= o->from && i < o->to) || (other >= o->from && other < o->to);
}

static vitcl_status make(vt_batches *f, vt_decoder_pool **own, slot *s,
                         uint32_t i)
{
    vitcl_status st = VITCL_OK;
    const vt_batches_options *o = &f->o;
    const uint32_t picture = s->picture[i];
    const long epoch = s->step / vt_batches_steps(o->count, o->batch, true);
    vt_random r =
        vt_random_new(o->random_state ^ CHANGE, (uint64_t)epoch, picture);
    vt_picture in = {0}, out = {0};

    if (!needed(o, s->step, i))
        return VITCL_OK;
    VT_TRY(load(&in, f, own, picture));
    if (o->augmented && vt_augment_any(&o->augment))
        VT_TRY(vt_augment_picture(&out, &in, o->width, o->height, o->how.pixels,
                                  o->how.filter, &o->augment, &r));
    else
        VT_TRY(vt_prepare(&out, &in, &o->how));
    normalise(s->pixels + (size_t)i * 3 * o->height * o->width, out.rgb, f);
    if (f->patches)
        VT_TRY(set_patches(s, f, i, &out, epoch));
    else
        set_target(s->targets + (size_t)i * o->classes, f,
                   vt_dataset_label(o->d, picture));
done:
    vt_picture_free(&in);
    vt_picture_free(&out);
    return st;
}

static void mix(vt_batches *f, slot *s)
{
    const vt_batches_options *o = &f->o;
    vt_random r =
        vt_random_new(o->random_state ^ MIX, (uint64_t)s->step, o->batch);

    if (o->augmented && !f->patches)
        vt_mix_batch(s->pixels, s->targets, (int)o->batch, (int)o->height,
                     (int)o->width, (int)o->classes, &o->augment, &r);
}

/* ---- steps ---- */

/* Chooses the pictures of a step. Steps are opened in order, under the lock. */
static void open_step(vt_batches *f, long step)
{
    const vt_batches_options *o = &f->o;
    slot *s = &f->ring[step % SLOTS];
    const long a_epoch = vt_batches_steps(o->count, o->batch, o->augmented);
    const long epoch = step / a_epoch;
    const size_t first = (size_t)(step % a_epoch) * o->batch;

    if (o->augmented && f->order_epoch != epoch) {
        vt_random r =
            vt_random_new(o->random_state ^ ORDER, (uint64_t)epoch, 0);

        vt_shuffle(f->order, o->count, vt_random_next(&r));
        f->order_epoch = epoch;
    }
    for (uint32_t i = 0; i < o->batch; i++) {
        const size_t at = o->augmented ? f->order[(first + i) % o->count]
                                       : VT_MIN(first + i, o->count - 1);
        s->picture[i] = (uint32_t)o->chosen[at];
    }
    s->step = step;
    s->taken = s->made = 0;
}

/* The next picture to prepare: its slot and its index there. NULL: stop. */
static slot *take(uint32_t *index, vt_batches *f)
{
    slot *s = NULL;

    pthread_mutex_lock(&f->lock);
    while (!f->stop) {
        for (long step = VT_MAX(f->wanted, f->o.first); step < f->opened && !s;
             step++)
            if (f->ring[step % SLOTS].taken < f->o.batch)
                s = &f->ring[step % SLOTS];
        if (!s && f->opened < f->o.end && f->opened < f->wanted + SLOTS) {
            open_step(f, f->opened);
            s = &f->ring[f->opened++ % SLOTS];
        }
        if (s)
            break;
        pthread_cond_wait(&f->work, &f->lock);
    }
    if (s)
        *index = s->taken++;
    pthread_mutex_unlock(&f->lock);
    return s;
}

static void finish(vt_batches *f, slot *s, vitcl_status st)
{
    bool last;

    pthread_mutex_lock(&f->lock);
    if (st != VITCL_OK && f->failed == VITCL_OK) {
        f->failed = st;
        snprintf(f->message, sizeof f->message, "%s", vt_message());
        f->stop = true;
        pthread_cond_broadcast(&f->work);
        pthread_cond_broadcast(&f->ready);
    }
    last = s->made + 1 == f->o.batch;
    s->made += !last;
    pthread_mutex_unlock(&f->lock);
    if (!last || st != VITCL_OK)
        return;
    mix(f, s);
    pthread_mutex_lock(&f->lock);
    s->made++;
    pthread_cond_broadcast(&f->ready);
    pthread_mutex_unlock(&f->lock);
}

static void *work(void *context)
{
    vt_batches *f = context;
    vt_decoder_pool *own = NULL;
    uint32_t index = 0;
    slot *s;

    while ((s = take(&index, f)) != NULL)
        finish(f, s, make(f, &own, s, index));
    vt_pool_free(own);
    return NULL;
}

vitcl_status vt_batches_next(vt_batch *out, vt_batches *f)
{
    vitcl_status st = VITCL_OK;
    slot *s = &f->ring[(f->wanted + 1) % SLOTS];

    pthread_mutex_lock(&f->lock);
    f->wanted++; /* releases the previous slot */
    pthread_cond_broadcast(&f->work);
    while (f->failed == VITCL_OK &&
           !(f->wanted < f->opened && s->made == f->o.batch)) {
        if (f->wanted >= f->o.end)
            break;
        pthread_cond_wait(&f->ready, &f->lock);
    }
    if (f->failed != VITCL_OK)
        st = vt_fail(f->failed, "%s", f->message);
    else if (f->wanted >= f->o.end)
        st = vt_fail(VITCL_EINVAL, "all batches have been read");
    pthread_mutex_unlock(&f->lock);
    if (st == VITCL_OK)
        *out = (vt_batch){s->pixels, s->targets, s->source, s->colour};
    return st;
}

/* ---- beginning and end ---- */

static vitcl_status make_ring(vt_batches *f)
{
    const vt_batches_options *o = &f->o;
    const size_t picture = 3 * (size_t)o->height * o->width;

    for (int i = 0; i < SLOTS; i++) {
        slot *s = &f->ring[i];

        VT_RET(VT_NEW(&s->picture, o->batch));
        VT_RET(vt_new(&s->pixels, o->batch * picture, sizeof *s->pixels));
        if (f->patches) {
            const size_t n = o->batch * (size_t)f->patches;

            VT_RET(vt_new(&s->source, n, sizeof *s->source));
            VT_RET(vt_new(&s->colour, n, sizeof *s->colour));
        } else {
            VT_RET(vt_new(&s->targets, (size_t)o->batch * o->classes,
                          sizeof *s->targets));
        }
    }
    for (size_t c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            f->table[c][v] =
                ((float)v * o->how.scale - o->how.mean[c]) / o->how.std[c];
    return VT_NEW(&f->order, o->count);
}

vitcl_status vt_batches_new(vt_batches **out, const vt_batches_options *options)
{
    vitcl_status st = VITCL_OK;
    vt_batches *f = NULL;
    unsigned most;

    if (options->count == 0 || options->batch == 0)
        return vt_fail(VITCL_EINVAL, "no pictures to train on");
    VT_TRY(VT_NEW(&f, 1));
    f->o = *options;
    pthread_mutex_init(&f->lock, NULL);
    pthread_mutex_init(&f->large_lock, NULL);
    pthread_cond_init(&f->work, NULL);
    pthread_cond_init(&f->ready, NULL);
    f->opened = options->first;
    f->wanted = options->first - 1;
    f->order_epoch = -1;
    if (options->patch_h)
        f->patches = ((int)options->height / options->patch_h) *
                     ((int)options->width / options->patch_w);
    VT_TRY(make_ring(f));
    most = options->workers ? options->workers : vt_cores();
    most = VT_MIN(VT_MIN(most, WORKERS_MAX), options->batch);
    f->threads = most;
    while (f->workers < most) {
        if (pthread_create(&f->worker[f->workers], NULL, work, f) != 0)
            VT_TRY(vt_fail(VITCL_ENOMEM,
                           "cannot start a thread to prepare pictures"));
        f->workers++;
    }
    *out = f, f = NULL;
done:
    vt_batches_free(f);
    return st;
}

void vt_batches_free(vt_batches *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
    for (unsigned i = 0; i < f->workers; i++)
        pthread_join(f->worker[i], NULL);
    for (int i = 0; i < SLOTS; i++) {
        free(f->ring[i].picture);
        free(f->ring[i].pixels);
        free(f->ring[i].targets);
        free(f->ring[i].source);
        free(f->ring[i].colour);
    }
    free(f->order);
    vt_pool_free(f->large);
    pthread_mutex_destroy(&f->large_lock);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->work);
    pthread_cond_destroy(&f->ready);
    free(f);
}
