/*
 * test_batches.c - batches depend only on random state and step.
 */
#include "data/batches.h"

#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 50, BATCH = 8, SIDE = 32, CLASSES = 10 };
enum { PIXELS = BATCH * 3 * SIDE * SIDE, TARGETS = BATCH * CLASSES };

static vt_batches_options options(const vt_dataset *d, const size_t *chosen,
                                  const char *augment)
{
    vt_batches_options o = {.d = d,
                            .chosen = chosen,
                            .count = PICTURES,
                            .batch = BATCH,
                            .height = SIDE,
                            .width = SIDE,
                            .classes = CLASSES,
                            .augmented = true,
                            .random_state = 7,
                            .end = 20};

    vt_preprocess_default(&o.how, SIDE, SIDE);
    cr_assert(vt_augment_named(&o.augment, augment, SIDE, SIDE));
    return o;
}

/* The pixels of steps first to end - 1, one after another. */
static float *collect(const vt_batches_options *o)
{
    const size_t each = PIXELS + TARGETS;
    float *all = calloc((size_t)(o->end - o->first) * each, sizeof *all);
    vt_batches *f = NULL;
    vt_batch b;

    cr_assert(all);
    cr_assert_eq(vt_batches_new(&f, o), VITCL_OK, "%s", vt_message());
    for (long step = o->first; step < o->end; step++) {
        float *out = all + (size_t)(step - o->first) * each;

        cr_assert_eq(vt_batches_next(&b, f), VITCL_OK, "%s", vt_message());
        memcpy(out, b.pixels, PIXELS * sizeof *out);
        memcpy(out + PIXELS, b.targets, TARGETS * sizeof *out);
    }
    cr_expect_neq(vt_batches_next(&b, f), VITCL_OK, "a batch after the last");
    vt_batches_free(f);
    return all;
}

static vt_dataset *open_pictures(char **out, size_t *chosen)
{
    char *folder = *out = vt_test_folder();
    vt_dataset *d = NULL;

    vt_test_cifar(folder, PICTURES, 1);
    cr_assert_eq(
        vt_dataset_open(&d, folder, &(vt_dataset_options){.split = "train"}),
        VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < PICTURES; i++)
        chosen[i] = i;
    return d;
}

Test(batches, the_same_for_any_number_of_workers)
{
    const size_t each = PIXELS + TARGETS;
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "full");
    float *one, *many, *late;

    o.smoothing = 0.1;
    o.workers = 1;
    one = collect(&o);
    o.workers = 7;
    many = collect(&o);
    cr_expect_arr_eq(one, many, 20 * each * sizeof *one,
                     "seven threads make other batches than one");
    o.first = 13;
    late = collect(&o);
    cr_expect_arr_eq(one + 13 * each, late, 7 * each * sizeof *one,
                     "who begins at step 13 sees other batches");
    o.first = 0;
    o.random_state = 8;
    free(many);
    many = collect(&o);
    cr_expect(memcmp(one, many, each * sizeof *one) != 0,
              "another random state, the same batches");
    cr_expect(memcmp(one, one + 6 * each, each * sizeof *one) != 0,
              "the second epoch begins like the first");
    free(one);
    free(many);
    free(late);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* An epoch has every picture at most once; targets are the labels. */
Test(batches, epochs_are_permutations)
{
    const size_t each = PIXELS + TARGETS;
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "none");
    const long steps = vt_batches_steps(PICTURES, BATCH, true);
    float *all;

    cr_assert_eq(steps, PICTURES / BATCH);
    o.end = steps;
    all = collect(&o);
    for (long a = 0; a < steps * BATCH; a++)
        for (long b = 0; b < a; b++) {
            const size_t n = 3 * SIDE * SIDE;
            const float *x =
                all + (size_t)(a / BATCH) * each + (size_t)(a % BATCH) * n;
            const float *y =
                all + (size_t)(b / BATCH) * each + (size_t)(b % BATCH) * n;

            cr_expect(memcmp(x, y, n * sizeof *x) != 0,
                      "positions %ld and %ld have the same picture", a, b);
        }
    free(all);
    /* in order, the last batch filled up: pictures as they lie in the file */
    o.augmented = false;
    o.end = vt_batches_steps(PICTURES, BATCH, false);
    cr_assert_eq(o.end, (PICTURES + BATCH - 1) / BATCH);
    all = collect(&o);
    for (long i = 0; i < o.end * BATCH; i++) {
        const uint32_t want = i < PICTURES ? (uint32_t)i : PICTURES - 1;
        const float *t = all + (size_t)(i / BATCH) * each + PIXELS +
                         (size_t)(i % BATCH) * CLASSES;

        cr_expect_eq(t[vt_dataset_label(d, want)], 1, "position %ld", i);
    }
    free(all);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* Files: every decoder gives the same bits, also if a picture needs the large
 * decoder because the other ones have too little memory. */
Test(batches, files)
{
    static const char *const files[] = {"exif6.jpg", "cmyk.jpg", "palette.png",
                                        "progressive_420.jpg", "rgba.png"};
    const size_t each = PIXELS + TARGETS;
    char *folder = vt_test_folder(), command[1024];
    size_t chosen[5] = {0, 1, 2, 3, 4};
    vt_dataset *d = NULL;
    vt_batches_options o;
    float *one, *many;

    for (int i = 0; i < 5; i++) {
        snprintf(command, sizeof command,
                 "mkdir -p %s/c%d && cp " VT_DATA "/preprocess/in/%s %s/c%d/",
                 folder, i % 2, files[i], folder, i % 2);
        cr_assert_eq(system(command), 0);
    }
    cr_assert_eq(
        vt_dataset_open(&d, folder, &(vt_dataset_options){.split = NULL}),
        VITCL_OK, "%s", vt_message());
    o = options(d, chosen, "light");
    o.count = 5;
    o.workers = 1;
    one = collect(&o);
    setenv("VITCL_DECODE_MEMORY", "1", 1);
    o.workers = 5;
    many = collect(&o);
    cr_expect_arr_eq(one, many, 20 * each * sizeof *one);
    cr_expect(memcmp(one, one + each, PIXELS * sizeof *one) != 0);
    free(one);
    free(many);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* The data of some steps, picture by picture; the caller frees it. */
static float *pixels_of(const vt_batches_options *o)
{
    const size_t each = (size_t)o->batch * 3 * SIDE * SIDE;
    float *all = calloc((size_t)o->end * each, sizeof *all);
    vt_batches *f = NULL;
    vt_batch b;

    cr_assert(all);
    cr_assert_eq(vt_batches_new(&f, o), VITCL_OK, "%s", vt_message());
    for (long step = 0; step < o->end; step++) {
        cr_assert_eq(vt_batches_next(&b, f), VITCL_OK, "%s", vt_message());
        memcpy(all + (size_t)step * each, b.pixels, each * sizeof *all);
    }
    vt_batches_free(f);
    return all;
}

/* Whether all of n rows differ. */
static void expect_distinct(const float *x, size_t n, size_t each,
                            const char *what)
{
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            cr_expect(memcmp(x + a * each, x + b * each, each * sizeof *x) != 0,
                      "%s: %zu is as %zu", what, a, b);
}

/* One picture, one step an epoch: it changes with every epoch and random state.
 * Without augmentation it stays the same. */
Test(batches, changes_differ_by_epoch_and_state)
{
    enum { STATES = 3, EPOCHS = 6, EACH = 3 * SIDE * SIDE };
    static float all[STATES * EPOCHS][EACH];
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "full");

    o.count = o.batch = 1;
    o.end = EPOCHS;
    for (int i = 0; i < STATES; i++) {
        float *x;

        o.random_state = (uint64_t)i;
        x = pixels_of(&o);
        memcpy(all[i * EPOCHS], x, sizeof *all * EPOCHS);
        free(x);
    }
    expect_distinct(all[0], STATES * EPOCHS, EACH, "state and epoch");
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* The order of pictures, without augmentation of their pixels. */
Test(batches, orders_differ_by_epoch_and_state)
{
    enum { STATES = 3, EPOCHS = 4, EACH = 20 * 3 * SIDE * SIDE };
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "none");
    float *all = calloc(STATES * EPOCHS, EACH * sizeof *all);

    cr_assert(all);
    o.count = o.batch = 20;
    o.end = EPOCHS;
    for (int i = 0; i < STATES; i++) {
        float *x;

        o.random_state = (uint64_t)i;
        x = pixels_of(&o);
        memcpy(all + (size_t)i * EPOCHS * EACH, x, EPOCHS * EACH * sizeof *x);
        free(x);
    }
    expect_distinct(all, STATES * EPOCHS, EACH, "state and epoch");
    free(all);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* Two pictures are mixed with a different share in every step and random state;
 * a target tells which. */
Test(batches, mixing_differs_by_step_and_state)
{
    enum { STATES = 5, STEPS = 4 };
    float share[STATES * STEPS];
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "none");

    o.augment.mixup = 1;
    o.count = o.batch = 2;
    o.end = STEPS;
    for (int i = 0; i < STATES; i++) {
        vt_batches *f = NULL;
        vt_batch b;

        o.random_state = (uint64_t)i;
        cr_assert_eq(vt_batches_new(&f, &o), VITCL_OK, "%s", vt_message());
        for (int step = 0; step < STEPS; step++) {
            float *s = &share[i * STEPS + step];

            cr_assert_eq(vt_batches_next(&b, f), VITCL_OK);
            /* labels 0 and 1 in either order */
            *s = b.targets[0] < b.targets[1] ? b.targets[0] : b.targets[1];
            cr_expect_float_eq((double)b.targets[0] + (double)b.targets[1], 1,
                               1e-6);
        }
        vt_batches_free(f);
    }
    expect_distinct(share, STATES * STEPS, 1, "state and step");
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* A rank makes its positions only, but all of a first batch that is shown. */
Test(batches, part_of_a_batch)
{
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "none");
    const size_t picture = 3 * (size_t)o.height * o.width;
    vt_batches *all = NULL, *part = NULL;
    vt_batch a, b;

    o.end = 2;
    cr_assert_eq(vt_batches_new(&all, &o), VITCL_OK, "%s", vt_message());
    o.from = 1;
    o.to = 3;
    o.first_whole = true;
    cr_assert_eq(vt_batches_new(&part, &o), VITCL_OK, "%s", vt_message());
    for (int step = 0; step < 2; step++) {
        cr_assert_eq(vt_batches_next(&a, all), VITCL_OK);
        cr_assert_eq(vt_batches_next(&b, part), VITCL_OK);
        for (uint32_t i = 0; i < o.batch; i++) {
            const bool same =
                memcmp(a.pixels + i * picture, b.pixels + i * picture,
                       picture * sizeof *a.pixels) == 0;

            cr_expect_eq(same, step == 0 || i == 1 || i == 2,
                         "step %d, position %u", step, i);
        }
    }
    vt_batches_free(all);
    vt_batches_free(part);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* Masks differ by epoch and random state, but not when pictures are scored. */
Test(batches, masks_differ_by_epoch_and_state)
{
    enum { STATES = 3, EPOCHS = 4, PATCHES = 16 };
    int32_t all[2 * STATES * EPOCHS][PATCHES], last[2][PATCHES];
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "none");

    o.count = o.batch = 1;
    o.patch_h = o.patch_w = 8;
    o.end = EPOCHS;
    for (int i = 0; i < 2 * STATES; i++) {
        vt_batches *f = NULL;
        vt_batch b;

        o.random_state = (uint64_t)i % STATES;
        o.augmented = i < STATES;
        o.end = o.augmented ? EPOCHS : 1;
        cr_assert_eq(vt_batches_new(&f, &o), VITCL_OK, "%s", vt_message());
        for (long step = 0; step < o.end; step++) {
            cr_assert_eq(vt_batches_next(&b, f), VITCL_OK);
            memcpy(all[i * EPOCHS + step], b.source, sizeof *all);
        }
        vt_batches_free(f);
    }
    for (int a = 0; a < STATES * EPOCHS; a++)
        for (int b = 0; b < a; b++)
            cr_expect(memcmp(all[a], all[b], sizeof *all) != 0, "%d as %d", a,
                      b);
    o.augmented = false; /* nor do masks depend on the batch */
    o.count = 3;
    for (int i = 0; i < 2; i++) {
        vt_batches *f = NULL;
        vt_batch b;

        o.batch = i ? 1 : 2;
        o.end = i ? 3 : 2;
        cr_assert_eq(vt_batches_new(&f, &o), VITCL_OK, "%s", vt_message());
        for (long step = 0; step < o.end; step++)
            cr_assert_eq(vt_batches_next(&b, f), VITCL_OK);
        memcpy(last[i], b.source, sizeof *last); /* of picture 2 */
        vt_batches_free(f);
    }
    cr_expect_arr_eq(last[0], last[1], sizeof *last);
    for (int i = 0; i < STATES; i++) /* as in the first epoch */
        cr_expect_arr_eq(all[(STATES + i) * EPOCHS], all[i * EPOCHS],
                         sizeof *all);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* A picture's normalised pixels come with its own label; labels are smoothed in
 * training only. */
Test(batches, gives_each_picture_its_label)
{
    enum { EACH = 3 * SIDE * SIDE };
    size_t chosen[PICTURES];
    char *folder;
    vt_dataset *d = open_pictures(&folder, chosen);
    vt_batches_options o = options(d, chosen, "none");
    const size_t each = PIXELS + TARGETS;

    o.smoothing = 0.2;
    for (int k = 0; k < 2; k++) {
        const double classes = CLASSES, rest = k ? 0 : 0.2 / classes;
        float *all;

        o.augmented = k == 0;
        o.end = vt_batches_steps(PICTURES, BATCH, o.augmented);
        all = collect(&o);
        for (long i = 0; i < o.end * BATCH; i++) {
            const float *x =
                all + (size_t)(i / BATCH) * each + (size_t)(i % BATCH) * EACH;
            const float *t = all + (size_t)(i / BATCH) * each + PIXELS +
                             (size_t)(i % BATCH) * CLASSES;
            uint32_t found = PICTURES;

            for (uint32_t n = 0; n < PICTURES; n++) {
                vt_picture p;
                bool same = true;

                cr_assert_eq(vt_dataset_picture(&p, d, n), VITCL_OK);
                for (int c = 0; c < 3; c++)
                    for (int j = 0; j < SIDE * SIDE && same; j++) {
                        const double want =
                            ((double)p.rgb[3 * j + c] * (double)o.how.scale -
                             (double)o.how.mean[c]) /
                            (double)o.how.std[c];

                        same =
                            fabs((double)x[c * SIDE * SIDE + j] - want) < 1e-5;
                    }
                vt_picture_free(&p);
                if (same)
                    found = n;
            }
            cr_assert_neq(found, PICTURES, "position %ld has no picture", i);
            for (uint32_t n = 0; n < CLASSES; n++)
                cr_expect_float_eq((double)t[n],
                                   rest + (n == vt_dataset_label(d, found)
                                               ? 1 - rest * classes
                                               : 0),
                                   1e-6);
        }
        free(all);
    }
    vt_dataset_free(d);
    vt_test_remove(folder);
}

Test(batches, broken_picture)
{
    char *folder = vt_test_folder(), path[512];
    size_t chosen[1] = {0};
    vt_dataset *d = NULL;
    vt_batches *f = NULL;
    vt_batches_options o;
    vt_batch b;

    snprintf(path, sizeof path, "mkdir %s/cat", folder);
    cr_assert_eq(system(path), 0);
    snprintf(path, sizeof path, "%s/cat", folder);
    vt_test_text(path, "bad.png", "no picture");
    cr_assert_eq(
        vt_dataset_open(&d, folder, &(vt_dataset_options){.split = NULL}),
        VITCL_OK, "%s", vt_message());
    o = options(d, chosen, "light");
    o.count = 1;
    cr_assert_eq(vt_batches_new(&f, &o), VITCL_OK);
    cr_expect_neq(vt_batches_next(&b, f), VITCL_OK);
    cr_expect(strstr(vt_message(), "bad.png"), "%s", vt_message());
    vt_batches_free(f);
    vt_dataset_free(d);
    vt_test_remove(folder);
}
