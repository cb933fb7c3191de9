/*
 * test_checkpoint.c - the contents of a run folder step by step; a modified one
 * is refused.
 */
#include "base/memory.h"
#include "support/pictures.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

static char *root;
static vitcl_device *device;

static void setup(void)
{
    root = vt_test_folder();
    cr_assert_eq(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")),
                 VITCL_OK, "%s", vitcl_last_error());
    vt_test_cifar(root, 60, 4);
}

static void teardown(void)
{
    vitcl_device_free(device);
    vt_test_remove(root);
}

static vt_tensors *state_of(const char *folder)
{
    char path[600];
    vt_tensors *t = NULL;

    snprintf(path, sizeof path, "%s/training.safetensors", folder);
    cr_assert_eq(vt_tensors_open(&t, path), VITCL_OK, "%s", vt_message());
    return t;
}

static int64_t step_of(const char *folder)
{
    vt_tensors *t = state_of(folder);
    const vt_tensor *x = vt_tensors_get(t, "step");
    int64_t step = -1;

    cr_assert(x && x->dtype == VT_FILE_I64 && x->count == 1);
    cr_assert_eq(vt_tensor_bytes(&step, x, 0, sizeof step), VITCL_OK);
    vt_tensors_free(t);
    return step;
}

/* Reads a folder's parameter: kind "param" or "ema"; "" for the model's. */
static float *values(size_t *n, const char *folder, const char *kind,
                     const char *name)
{
    char path[600], full[128];
    vt_tensors *t = NULL;
    const vt_tensor *x;
    float *out;

    snprintf(path, sizeof path, "%s/%s.safetensors", folder,
             kind[0] ? "training" : "model");
    snprintf(full, sizeof full, "%s%s%s", kind, kind[0] ? "." : "", name);
    cr_assert_eq(vt_tensors_open(&t, path), VITCL_OK, "%s", vt_message());
    x = vt_tensors_get(t, full);
    cr_assert(x, "%s: no %s", path, full);
    out = malloc(x->count * sizeof *out);
    cr_assert(out);
    cr_assert_eq(vt_tensor_f32(out, x), VITCL_OK);
    *n = x->count;
    vt_tensors_free(t);
    return out;
}

/* Reads the folder after each step, and stops at the given one. */
typedef struct watch {
    uint64_t stop;
    const char *folder, *name;
    float *begin; /* param.<name> of the checkpoint before the first step */
    uint64_t events;
} watch;

static int look(void *context, const vitcl_train_event *e)
{
    watch *w = context;
    size_t n;

    if (w->events++ == 0 && e->step == 1)
        w->begin = values(&n, w->folder, "param", w->name);
    return e->step >= w->stop;
}

/* As look(), and keeps the state before the first step. */
static int keep_first(void *context, const vitcl_train_event *e)
{
    const watch *w = context;
    char command[1400];

    snprintf(command, sizeof command,
             "cp '%s/training.safetensors' '%s.safetensors'", w->folder,
             w->folder);
    if (e->step == 1)
        cr_assert_eq(system(command), 0);
    return look(context, e);
}

/* After every step the averages are those of the parameters, and the model's
 * weights are the averages. */
Test(checkpoint, holds_averages_step_by_step, .init = setup, .fini = teardown)
{
    static const char name[] = "blocks.0.mlp.fc1.weight";
    const double keep = 0.75;
    char *folder = vt_test_path(root, "out");
    vitcl_train_event last = {.size = sizeof last};
    vitcl_train_options o = {.size = sizeof o,
                             .config = vt_test_config(root, ""),
                             .data = root,
                             .output = folder,
                             .batch = 10,
                             .epochs = 2,
                             .hold_out = 40, /* scored after steps 2 and 4 */
                             .lr = 0.3,
                             .settings = vt_test_path(root, "s.json")};
    double *want = NULL, moved = 0;
    size_t n = 0;

    vt_test_text(root, "s.json",
                 "{\"optimizer\": \"sgd\", \"ema\": 0.75, \"warmup_steps\": 0,"
                 " \"clip_grad_norm\": 0}");
    for (uint64_t step = 1; step <= 4; step++) {
        watch w = {.stop = step, .folder = folder, .name = name};
        float *raw, *mean, *model;

        cr_assert_eq(vitcl_train(&last, device, &o, look, &w), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_assert_eq(last.step, step);
        cr_expect(last.saved, "stopped without a checkpoint");
        cr_expect_eq(step_of(folder), (int64_t)step);
        raw = values(&n, folder, "param", name);
        mean = values(&n, folder, "ema", name);
        model = values(&n, folder, "", name);
        if (step == 1) {
            cr_assert(w.begin);
            want = calloc(n, sizeof *want);
            cr_assert(want);
            for (size_t i = 0; i < n; i++)
                want[i] = (double)w.begin[i];
        }
        for (size_t i = 0; i < n; i++) {
            moved = fmax(moved, fabs((double)raw[i] - want[i]));
            want[i] = keep * want[i] + (1 - keep) * (double)raw[i];
            cr_assert_float_eq(mean[i], want[i], 1e-6, "step %d, [%zu]",
                               (int)step, i);
            cr_assert_eq(mean[i], model[i]);
        }
        free(raw);
        free(mean);
        free(model);
        free(w.begin);
        o = (vitcl_train_options){
            .size = sizeof(vitcl_train_options), .output = folder, .resume = 1};
    }
    cr_expect_gt(moved, 1e-4, "nothing moves: %g", moved);
    free(want);
}

/* One step of AdamW moves a parameter by at most the learning rate, plus weight
 * decay. Only layers' matrices decay: no biases, norms, tokens or positions. */
Test(checkpoint, decays_only_matrices, .init = setup, .fini = teardown)
{
    const double lr = 1e-3, decay = 200;
    char *folder = vt_test_path(root, "out");
    vitcl_train_event last = {.size = sizeof last};
    watch w = {.stop = 1, .folder = folder, .name = "head.weight"};
    vt_tensors *before, *after;
    char path[600];
    int with = 0, without = 0;

    vt_test_text(root, "s.json",
                 "{\"weight_decay\": 200, \"warmup_steps\": 0}");
    cr_assert_eq(vitcl_train(&last, device,
                             &(vitcl_train_options){
                                 .size = sizeof(vitcl_train_options),
                                 .config = vt_test_config(root, ""),
                                 .data = root,
                                 .output = folder,
                                 .batch = 30,
                                 .lr = lr,
                                 .settings = vt_test_path(root, "s.json")},
                             keep_first, &w),
                 VITCL_OK, "%s", vitcl_last_error());
    free(w.begin);
    snprintf(path, sizeof path, "%s.safetensors", folder);
    cr_assert_eq(vt_tensors_open(&before, path), VITCL_OK, "%s", vt_message());
    after = state_of(folder);
    for (size_t i = 0; i < vt_tensors_count(after); i++) {
        const vt_tensor *x = vt_tensors_at(after, i);
        const vt_tensor *old = vt_tensors_get(before, x->name);
        const size_t n = strlen(x->name);
        const bool matrix =
            x->rank > 1 && n > 7 && strcmp(x->name + n - 7, ".weight") == 0;
        float *a, *b;

        if (strncmp(x->name, "param.", 6) != 0)
            continue;
        cr_assert(old);
        a = calloc(x->count, sizeof *a), b = calloc(x->count, sizeof *b);
        cr_assert(a && b);
        cr_assert_eq(vt_tensor_f32(a, x), VITCL_OK);
        cr_assert_eq(vt_tensor_f32(b, old), VITCL_OK);
        for (size_t k = 0; k < x->count; k++) {
            const double left = matrix ? 1 - lr * decay : 1;

            cr_assert_float_eq((double)a[k], left * (double)b[k], 1.01 * lr,
                               "%s[%zu]: %g from %g", x->name, k, (double)a[k],
                               (double)b[k]);
        }
        *(matrix ? &with : &without) += 1;
        free(a);
        free(b);
    }
    cr_expect(with >= 10 && without >= 10, "%d, %d", with, without);
    vt_tensors_free(before);
    vt_tensors_free(after);
}

/* ---- tampering ---- */

typedef struct change {
    const char *name; /* of the tensor */
    enum {
        NOTHING,
        LONGER,
        SHORTER,
        TURNED,
        FLATTENED,
        I32,
        F16,
        F64,
        GONE,
        /* other numbers */
        NEGATIVE,
        ENORMOUS,
        OTHER
    } how;
} change;

static void write_changed(const char *folder, const vt_tensors *from,
                          const change *c)
{
    const size_t n = vt_tensors_count(from);
    vt_tensor *t = calloc(n, sizeof *t);
    void *more = NULL;
    size_t kept = 0;
    char path[600];

    cr_assert(t);
    for (size_t i = 0; i < n; i++) {
        vt_tensor x = *vt_tensors_at(from, i);

        if (strcmp(x.name, c->name) == 0) {
            if (c->how == GONE)
                continue;
            more = calloc(2, x.size); /* LONGER has twice as many */
            cr_assert(more);
            cr_assert_eq(vt_tensor_bytes(more, &x, 0, x.size), VITCL_OK);
            x.data = more;
            if (c->how == LONGER)
                x.shape[0] *= 2, x.count *= 2, x.size *= 2;
            if (c->how == SHORTER)
                x.count = x.count / x.shape[0] * (x.shape[0] - 1),
                x.size = x.size / x.shape[0] * (x.shape[0] - 1), x.shape[0]--;
            if (c->how == TURNED) {
                const uint64_t first = x.shape[0];

                cr_assert(x.rank == 2 && x.shape[1] != first);
                x.shape[0] = x.shape[1], x.shape[1] = first;
            }
            if (c->how == FLATTENED)
                x.rank = 1, x.shape[0] = x.count;
            if (c->how == I32)
                x.dtype = VT_FILE_I32;
            if (c->how >= NEGATIVE) {
                const int64_t value = c->how == NEGATIVE   ? -1
                                      : c->how == ENORMOUS ? INT64_C(1) << 31
                                                           : 1;

                memcpy(more, &value, sizeof value);
            }
            if (c->how == F64)
                x.dtype = VT_FILE_F64;
            if (c->how == F16)
                x.dtype = VT_FILE_F16, x.size /= 2;
        }
        t[kept++] = x;
    }
    snprintf(path, sizeof path, "%s/training.safetensors", folder);
    cr_assert_eq(vt_safetensors_write(path, t, kept, NULL), VITCL_OK, "%s",
                 vt_message());
    free(t);
    free(more);
}

Test(checkpoint, a_modified_one_is_refused, .init = setup, .fini = teardown)
{
    static const char qkv[] = "param.blocks.0.attn.qkv.weight";
    static const char m[] = "adam.m.blocks.1.norm1.bias";
    static const change changes[] = {{qkv, LONGER},
                                     {qkv, SHORTER},
                                     {qkv, TURNED},
                                     {qkv, FLATTENED},
                                     {qkv, I32},
                                     {qkv, F16},
                                     {qkv, GONE},
                                     {m, LONGER},
                                     {m, SHORTER},
                                     {m, I32},
                                     {m, GONE},
                                     {"adam.v.head.weight", LONGER},
                                     {"step", LONGER},
                                     {"step", GONE},
                                     {"random_state", GONE},
                                     {"step", F64},
                                     {"random_state", F64},
                                     {"step", NEGATIVE},
                                     {"step", ENORMOUS},
                                     {"random_state", OTHER},
                                     {"notes", LONGER},
                                     {"notes", SHORTER},
                                     {"step", NOTHING}};
    char *folder = vt_test_path(root, "out");
    char *safe = vt_test_path(root, "safe.safetensors");
    vitcl_train_event last = {.size = sizeof last};
    vitcl_train_options o = {.size = sizeof o,
                             .config = vt_test_config(root, ""),
                             .data = root,
                             .output = folder,
                             .batch = 30};
    watch w = {.stop = 1, .folder = folder, .name = "head.weight"};
    vt_tensors *good = NULL;
    char command[1400];

    cr_assert_eq(vitcl_train(&last, device, &o, look, &w), VITCL_OK, "%s",
                 vitcl_last_error());
    free(w.begin);
    snprintf(command, sizeof command, "cp '%s/training.safetensors' '%s'",
             folder, safe);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(vt_tensors_open(&good, safe), VITCL_OK, "%s", vt_message());
    o = (vitcl_train_options){
        .size = sizeof(vitcl_train_options), .output = folder, .resume = 1};
    for (size_t i = 0; i < VT_COUNT(changes); i++) {
        const change *c = &changes[i];
        const vitcl_status want = c->how == NOTHING ? VITCL_OK : VITCL_ECORRUPT;

        write_changed(folder, good, c);
        cr_expect_eq(vitcl_train(&last, device, &o, NULL, NULL), want,
                     "%s, change %d: %s", c->name, (int)c->how,
                     vitcl_last_error());
        if (c->how != NOTHING)
            cr_expect(
                strstr(vitcl_last_error(), c->how >= NEGATIVE
                                               ? "its step or random state does"
                                               : c->name),
                "%s: %s", c->name, vitcl_last_error());
    }
    cr_expect_eq(last.step, 2);
    /* an older version wrote none */
    write_changed(folder, good, &(change){"notes", GONE});
    cr_expect_eq(vitcl_train(&last, device, &o, NULL, NULL), VITCL_OK, "%s",
                 vitcl_last_error());
    vt_tensors_free(good);
}

/* What is frozen is written as it was read; the rest has moved. */
Test(checkpoint, keeps_what_is_frozen, .init = setup, .fini = teardown)
{
    static const char frozen[] = "blocks.0.mlp.fc1.weight";
    static const char trained[] = "blocks.1.mlp.fc1.weight";
    static const char *const freeze[] = {"blocks.0.*", NULL};
    char *base = vt_test_path(root, "base"), *tuned = vt_test_path(root, "out");
    vitcl_train_event last = {.size = sizeof last};
    vitcl_train_options o = {.size = sizeof o,
                             .config = vt_test_config(root, ""),
                             .data = root,
                             .output = base,
                             .batch = 30};
    float *before, *after;
    size_t n = 0, moved = 0;

    cr_assert_eq(vitcl_train(&last, device, &o, NULL, NULL), VITCL_OK, "%s",
                 vitcl_last_error());
    o = (vitcl_train_options){.size = sizeof o,
                              .model = base,
                              .data = root,
                              .output = tuned,
                              .batch = 30,
                              .epochs = 4,
                              .lr = 0.1,
                              .freeze = freeze};
    cr_assert_eq(vitcl_train(&last, device, &o, NULL, NULL), VITCL_OK, "%s",
                 vitcl_last_error());
    before = values(&n, base, "", frozen);
    after = values(&n, tuned, "", frozen);
    cr_expect(memcmp(before, after, n * sizeof *before) == 0);
    free(before);
    free(after);
    before = values(&n, base, "", trained);
    after = values(&n, tuned, "", trained);
    for (size_t i = 0; i < n; i++)
        moved += before[i] != after[i];
    cr_expect_gt(moved, n / 2);
    free(before);
    free(after);
}

/* Counts the calls while held-out pictures are scored, and ends one; notes the
 * last report. */
typedef struct scoring {
    int calls, end; /* 0: none */
    int reports;
    bool early; /* ends before the first step */
    vitcl_train_event last;
} scoring;

static int score(void *context, uint64_t done, uint64_t total)
{
    scoring *s = context;

    if (s->reports == 0) /* checks pictures before the first step */
        return s->early && total == 0;
    if (total == 0) /* the first step after a resume */
        return 0;
    cr_expect(done <= total && total == 20);
    return ++s->calls == s->end;
}

static int note_last(void *context, const vitcl_train_event *e)
{
    scoring *s = context;

    s->reports++;
    s->last = *e;
    return 0;
}

static void same_file(const char *a, const char *b, const char *name)
{
    char command[1400];

    snprintf(command, sizeof command, "cmp '%s/%s' '%s/%s'", a, name, b, name);
    cr_expect_eq(system(command), 0, "%s differs", name);
}

/* Scoring ends within a batch when it is stopped; resumed, also after the last
 * step, the training is the same as one that was not. */
Test(checkpoint, is_written_when_scoring_stops, .init = setup, .fini = teardown)
{
    char *whole = vt_test_path(root, "whole"), *cut = vt_test_path(root, "cut");
    vitcl_train_event last = {.size = sizeof last};
    vitcl_train_options o = {.size = sizeof o,
                             .config = vt_test_config(root, ""),
                             .data = root,
                             .output = whole,
                             .batch = 20,
                             .epochs = 2,
                             .hold_out = 20,
                             .patience = 1,
                             .lr = 0.01,
                             .settings = vt_test_path(root, "s.json"),
                             .checking = score};
    static const int ends[] = {2, 4 + 2, 0}; /* of epoch 1, of 2, of none */
    scoring all = {.end = 0}, part = {.end = 0}, early = {.early = true};

    o.micro = 5;
    vt_test_text(root, "s.json", "{\"ema\": 0.9}");
    cr_assert_eq(vitcl_train(&last, device, &o, note_last, &all), VITCL_OK,
                 "%s", vitcl_last_error());
    cr_assert_eq(all.calls, 2 * 20 / 5);
    o.output = vt_test_path(root, "early");
    cr_assert_eq(vitcl_train(&last, device, &o, note_last, &early), VITCL_OK,
                 "%s", vitcl_last_error());
    cr_expect(last.step == 0 && early.reports == 0);
    o.output = cut;
    for (int turn = 0; turn < 3; turn++) {
        part.end = ends[turn];
        part.calls = 0;
        part.reports = part.reports || turn;
        cr_assert_eq(vitcl_train(&last, device, &o, note_last, &part),
                     turn == 2 ? VITCL_OK : VITCL_ESTOPPED, "%s",
                     vitcl_last_error());
        if (turn < 2)
            cr_expect_eq(part.calls, part.end, "scored on");
        o = (vitcl_train_options){
            .size = sizeof o, .output = cut, .resume = 1, .checking = score};
    }
    same_file(whole, cut, "training.safetensors");
    same_file(whole, cut, "model.safetensors");
    same_file(whole, cut, "best/model.safetensors");
    cr_expect_eq(last.step, all.last.step);
    cr_expect_eq(part.last.step, all.last.step);
    cr_expect_eq(part.last.loss, all.last.loss);
    cr_expect_eq(part.last.lr, all.last.lr);
    cr_expect_eq(part.last.epoch, all.last.epoch);
    cr_expect_eq(part.last.epoch_loss, all.last.epoch_loss);
    cr_expect_eq(part.last.held_out_loss, all.last.held_out_loss);
    cr_expect_eq(part.last.best_epoch, all.last.best_epoch);
}
