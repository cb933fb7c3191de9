/*
 * test_watch.c - tensors that are watched during a run have the bits of those
 * that are kept, come in the order of the layers, and take no more memory than
 * one layer; a watcher can end a run.
 */
#include "api/handles.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, BATCH = 2, DEPTH = 12, MOST = DEPTH + 2 };

static vitcl_device *device;
static vitcl_model *model;
static float pixels[BATCH * 3 * SIDE * SIDE];

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    uint32_t state = 3;

    need(vitcl_device_open(&device, NULL));
    need(vitcl_model_new(&model, device, "vit-ti/16", 0));
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        state = state * 1664525u + 1013904223u;
        pixels[i] = (float)(state >> 8) / 8388608.0f - 1;
    }
}

static void teardown(void)
{
    vitcl_model_free(model);
    vitcl_device_free(device);
}

TestSuite(watch, .init = setup, .fini = teardown);

typedef struct seen {
    vitcl_tensor_info info[MOST];
    float *data[MOST];
    int count, stop_at; /* stop_at 0: never */
} seen;

static int look(void *context, const vitcl_tensor_info *t, const float *data)
{
    seen *s = context;
    size_t n = 1;

    cr_assert(s->count < MOST, "%s is one too many", t->name);
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->shape[i];
    s->info[s->count] = *t;
    s->data[s->count] = malloc(n * sizeof *data);
    memcpy(s->data[s->count++], data, n * sizeof *data);
    return s->count == s->stop_at;
}

static void forget(seen *s)
{
    for (int i = 0; i < s->count; i++)
        free(s->data[i]);
    s->count = 0;
}

static const char *const attention[] = {"attention.*", NULL};

static vitcl_session *session_of(const char *const *keep, seen *s,
                                 vitcl_precision precision)
{
    const vitcl_session_options o = {.size = sizeof o,
                                     .batch = BATCH,
                                     .height = SIDE,
                                     .width = SIDE,
                                     .keep = keep,
                                     .precision = precision,
                                     .watch = s ? attention : NULL,
                                     .watcher = s ? look : NULL,
                                     .watcher_context = s};
    vitcl_session *out = NULL;

    need(vitcl_session_new(&out, model, &o));
    return out;
}

static uint64_t arena(const vitcl_session *s)
{
    return vt_plan_memory_of(s->plan).arena;
}

Test(watch, shows_what_would_be_kept)
{
    static const vitcl_precision precisions[] = {VITCL_F32, VITCL_BF16};
    char name[32];

    for (size_t k = 0; k < 2; k++) {
        seen s = {.count = 0};
        vitcl_session *w = session_of(NULL, &s, precisions[k]);
        vitcl_session *kept = session_of(attention, NULL, precisions[k]);

        need(vitcl_session_run_values(w, pixels, BATCH));
        need(vitcl_session_run_values(kept, pixels, BATCH));
        cr_assert_eq(s.count, DEPTH);
        for (int i = 0; i < DEPTH; i++) {
            const uint32_t *d = s.info[i].shape;
            const size_t n = (size_t)d[0] * d[1] * d[2] * d[3];
            float *want = malloc(n * sizeof *want);

            snprintf(name, sizeof name, "attention.%d", i);
            cr_expect_str_eq(s.info[i].name, name);
            cr_assert(s.info[i].rank == 4 && d[0] == BATCH && d[1] == 3 &&
                      d[2] == 17 && d[3] == 17);
            need(vitcl_session_read(want, n, kept, name, BATCH));
            cr_expect_eq(memcmp(want, s.data[i], n * sizeof *want), 0, "%s",
                         name);
            free(want);
        }
        /* it is gone after the run */
        cr_expect_eq(vitcl_session_read(s.data[0], 1, w, "attention.0", 1),
                     VITCL_EINVAL);
        forget(&s);
        vitcl_session_free(w);
        vitcl_session_free(kept);
    }
}

Test(watch, takes_one_layer)
{
    seen s = {.count = 0};
    vitcl_session *bare = session_of(NULL, NULL, VITCL_F32),
                  *w = session_of(NULL, &s, VITCL_F32),
                  *kept = session_of(attention, NULL, VITCL_F32);
    const uint64_t layer = (BATCH * 3 * 17 * 17 * sizeof(float) + 127) & ~127u;

    cr_expect(arena(w) <= arena(bare) + layer, "%llu, %llu without",
              (unsigned long long)arena(w), (unsigned long long)arena(bare));
    cr_expect_gt(arena(kept), arena(w));
    vitcl_session_free(bare);
    vitcl_session_free(w);
    vitcl_session_free(kept);
}

Test(watch, ends_a_run)
{
    seen s = {.stop_at = 3};
    vitcl_session *w = session_of(NULL, &s, VITCL_F32);
    float logit;

    cr_expect_eq(vitcl_session_run_values(w, pixels, BATCH), VITCL_ESTOPPED);
    cr_expect_eq(s.count, 3);
    cr_expect_eq(vitcl_session_read(&logit, 1, w, "logits", 1), VITCL_EINVAL);
    forget(&s);
    s.stop_at = 0;
    need(vitcl_session_run_values(w, pixels, BATCH));
    cr_expect_eq(s.count, DEPTH);
    forget(&s);
    vitcl_session_free(w);
}
