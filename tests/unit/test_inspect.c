/*
 * test_inspect.c - attention rollout and distance against NumPy and closed
 * forms, and the picture under a map.
 *
 * tools/golden_inspect.py prints the expected numbers.
 */
#include "inspect/attention.h"
#include "plot/contact_sheet.h"
#include "plot/figure.h"
#include "support/pictures.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl.h>

enum { LAYERS = 3, HEADS = 2, PREFIX = 1, ROWS = 2, COLUMNS = 3 };
enum { TOKENS = PREFIX + ROWS * COLUMNS, EACH = TOKENS * TOKENS };

static const vt_patch_grid grid = {.prefix = PREFIX,
                                   .rows = ROWS,
                                   .columns = COLUMNS,
                                   .height_px = 16,
                                   .width_px = 10};

/* A layer's probabilities: a softmax in double. */
static void make(float out[HEADS * EACH], int layer)
{
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < TOKENS; i++) {
            float *row = out + h * EACH + i * TOKENS;
            double e[TOKENS], sum = 0;

            for (int j = 0; j < TOKENS; j++) {
                e[j] = exp(2 * sin(0.7 * (layer * 31 + h * 17 + i * 5 + j * 3) +
                                   0.1 * i * j));
                sum += e[j];
            }
            for (int j = 0; j < TOKENS; j++)
                row[j] = (float)(e[j] / sum);
        }
}

/* An axial layer's probabilities: count lines of n tokens, a line's heads one
 * after the other. */
static void make_lines(float *out, int layer, int count, int n)
{
    for (int line = 0; line < count; line++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < n; i++, out += n) {
                double e[COLUMNS], sum = 0;

                for (int j = 0; j < n; j++) {
                    e[j] = exp(2 * sin(0.7 * (layer * 31 + line * 11 + h * 17 +
                                              i * 5 + j * 3) +
                                       0.1 * i * j));
                    sum += e[j];
                }
                for (int j = 0; j < n; j++)
                    out[j] = (float)(e[j] / sum);
            }
}

static void check_rollout(vt_rollout_options o, int query,
                          const double want[TOKENS])
{
    float probs[HEADS * EACH];
    double got[TOKENS];
    vt_rollout *r = NULL;

    cr_assert_eq(vt_rollout_new(&r, LAYERS, TOKENS, &o), VITCL_OK);
    for (int again = 0; again < 2; again++) {
        vt_rollout_clear(r);
        for (int l = 0; l < LAYERS; l++) {
            make(probs, l);
            cr_assert_eq(vt_rollout_add(r, probs, HEADS), VITCL_OK);
        }
        vt_rollout_answer(got, r,
                          &(vt_patch_grid){.rows = 1,
                                           .columns = TOKENS,
                                           .read_first = query,
                                           .read_count = 1});
        for (int i = 0; i < TOKENS; i++)
            cr_expect(fabs(got[i] - want[i]) < 1e-6, "token %d: %.9f, not %.9f",
                      i, got[i], want[i]);
    }
    cr_expect_eq(vt_rollout_add(r, probs, HEADS), VITCL_EINVAL);
    vt_rollout_free(r);
}

Test(inspect, rollout)
{
    const vt_rollout_options usual = {VT_FUSE_MEAN, 0.5, 0};

    check_rollout(usual, 0,
                  (double[]){0.227566188, 0.172226713, 0.114890853, 0.087955509,
                             0.192393207, 0.115386380, 0.089581151});
    check_rollout((vt_rollout_options){VT_FUSE_MAX, 0.3, 0}, 0,
                  (double[]){0.156273701, 0.147669707, 0.154835748, 0.121442772,
                             0.163378665, 0.147842638, 0.108556769});
    check_rollout((vt_rollout_options){VT_FUSE_MIN, 0.5, 0.4}, 0,
                  (double[]){0.287625817, 0.193207637, 0.076086495, 0.062779409,
                             0.227199376, 0.093910869, 0.059190398});
    check_rollout(usual, 4,
                  (double[]){0.142012806, 0.096143669, 0.112405337, 0.153194016,
                             0.266849370, 0.133949583, 0.095445218});
}

/* Layer 0 is over the rows of the grid, layer 1 over its columns. */
Test(inspect, axial)
{
    enum { N = ROWS * COLUMNS };
    static const double row[N] = {0.034449311, 0.222195153, 0.174441822,
                                  0.007703632, 0.428038747, 0.133171335},
                        answer[N] = {0.146658475, 0.210997494, 0.162790700,
                                     0.211885474, 0.129907941, 0.137759915},
                        far[2][HEADS] = {{8.784433265, 10.151298884},
                                         {10.594876985, 8.608533124}};
    static const vt_patch_grid whole = {.rows = ROWS,
                                        .columns = COLUMNS,
                                        .height_px = 16,
                                        .width_px = 10,
                                        .read_count = N};
    const vt_rollout_options usual = {VT_FUSE_MEAN, 0.5, 0};
    float lines[HEADS * N * COLUMNS], probs[HEADS * N * N];
    double got[N];
    vt_rollout *r = NULL;

    cr_assert_eq(vt_rollout_new(&r, 2, N, &usual), VITCL_OK);
    for (int l = 0; l < 2; l++) {
        make_lines(lines, l, l ? COLUMNS : ROWS, l ? ROWS : COLUMNS);
        vt_attention_of_lines(probs, lines, HEADS, ROWS, COLUMNS, l);
        vt_attention_distance(got, probs, HEADS, &whole);
        for (int h = 0; h < HEADS; h++)
            cr_expect(fabs(got[h] - far[l][h]) < 1e-5, "layer %d: %.9f", l,
                      got[h]);
        cr_assert_eq(vt_rollout_add(r, probs, HEADS), VITCL_OK);
    }
    vt_rollout_answer(got, r,
                      &(vt_patch_grid){.rows = ROWS,
                                       .columns = COLUMNS,
                                       .read_first = 4,
                                       .read_count = 1});
    for (int i = 0; i < N; i++)
        cr_expect(fabs(got[i] - row[i]) < 1e-6, "patch %d: %.9f", i, got[i]);
    vt_rollout_answer(got, r, &whole);
    for (int i = 0; i < N; i++)
        cr_expect(fabs(got[i] - answer[i]) < 1e-6, "patch %d: %.9f", i, got[i]);
    vt_rollout_free(r);
}

Test(inspect, refuses_what_is_no_share)
{
    static const double wrong[] = {-0.1, 1, 7, NAN};
    vt_rollout *r = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const vt_rollout_options a = {VT_FUSE_MEAN, wrong[i], 0},
                                 b = {VT_FUSE_MEAN, 0.5, wrong[i]};

        cr_expect_eq(vt_rollout_new(&r, 1, 2, &a), VITCL_EINVAL);
        cr_expect_eq(vt_rollout_new(&r, 1, 2, &b), VITCL_EINVAL);
    }
    cr_expect_null(r);
}

Test(inspect, distance)
{
    static const double want[HEADS] = {10.004992472, 9.864208971};
    float probs[HEADS * EACH];
    double got[HEADS];

    make(probs, 1);
    vt_attention_distance(got, probs, HEADS, &grid);
    for (int h = 0; h < HEADS; h++)
        cr_expect(fabs(got[h] - want[h]) < 1e-5, "head %d: %.9f", h, got[h]);
    /* each patch looks at itself */
    memset(probs, 0, sizeof probs);
    for (int i = 0; i < HEADS * TOKENS; i++)
        probs[i * TOKENS + i % TOKENS] = 1;
    vt_attention_distance(got, probs, HEADS, &grid);
    cr_expect(got[0] == 0 && got[1] == 0);
    /* ... at prefix tokens alone */
    memset(probs, 0, sizeof probs);
    for (int i = 0; i < HEADS * TOKENS; i++)
        probs[i * TOKENS] = 1;
    vt_attention_distance(got, probs, HEADS, &grid);
    cr_expect(isnan(got[0]) && isnan(got[1]));
}

/* Along a line of n patches, uniform attention has distance (n^2 - 1) / 3n of a
 * patch; on a square of four patches of side 1 it is (2 + sqrt 2) / 4, and on
 * two rows of three (11 + 4 sqrt 2 + 2 sqrt 5) / 18. */
Test(inspect, distance_of_uniform_attention)
{
    static const vt_patch_grid line = {2, 1, 7, 9, 16, 0, 1},
                               column = {0, 5, 1, 9, 16, 0, 5},
                               square = {1, 2, 2, 1, 1, 0, 1},
                               rectangle = {0, 2, 3, 1, 1, 0, 6};
    float probs[81];
    double got;

    for (size_t i = 0; i < sizeof probs / sizeof *probs; i++)
        probs[i] = 0.125f;
    vt_attention_distance(&got, probs, 1, &line);
    cr_expect(fabs(got - 16 * 48.0 / 21) < 1e-6, "%g", got);
    vt_attention_distance(&got, probs, 1, &column);
    cr_expect(fabs(got - 9 * 24.0 / 15) < 1e-6, "%g", got);
    vt_attention_distance(&got, probs, 1, &square);
    cr_expect(fabs(got - (2 + sqrt(2)) / 4) < 1e-6, "%g", got);
    vt_attention_distance(&got, probs, 1, &rectangle);
    cr_expect(fabs(got - (11 + 4 * sqrt(2) + 2 * sqrt(5)) / 18) < 1e-6, "%g",
              got);
}

/* A grey picture of 400x400 under a map of 2x2. The page: a margin of 12, the
 * picture, a gap of 8, the picture under the map. */
Test(inspect, map_lies_over_the_picture)
{
    enum { SIDE = 400, EDGE = 12, SECOND = EDGE + SIDE + 8 };
    static const double values[] = {0.2, 0.3, 0.3, 0.5};
    static const struct {
        int x, y, rgb[3];
    } points[] = {{EDGE + 5, EDGE + 5, {100, 100, 100}},
                  {EDGE + SIDE - 5, EDGE + SIDE - 5, {100, 100, 100}},
                  /* 0.35 of grey and 0.65 of viridis' first and last */
                  {SECOND + 5, EDGE + 5, {79, 36, 90}},
                  {SECOND + SIDE - 5, EDGE + SIDE - 5, {199, 185, 59}},
                  {2, 2, {255, 255, 255}}};
    unsigned char *grey = malloc(3 * SIDE * SIDE);
    const char *folder = vt_test_folder(),
               *path = vt_test_path(folder, "map.png");
    const vt_contact_sheet map = {.photo = grey,
                                  .photo_width = SIDE,
                                  .photo_height = SIDE,
                                  .beside = true,
                                  .value = values,
                                  .count = 1,
                                  .rows = 2,
                                  .columns = 2,
                                  .across = 2,
                                  .label = "share"};
    vitcl_image image;

    if (vt_figure_ready() == VITCL_EUNSUPPORTED)
        vt_skip("built without Cairo");
    memset(grey, 100, 3 * SIDE * SIDE);
    cr_assert_eq(vt_contact_sheet_write(&map, path), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vitcl_image_load(&image, path), VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        for (int k = 0; k < 3; k++) {
            const int got = image.rgb[3 * ((uint32_t)points[i].y * image.width +
                                           (uint32_t)points[i].x) +
                                      (uint32_t)k];

            cr_expect(abs(got - points[i].rgb[k]) <= 3,
                      "point %zu, colour %d is %d, not %d", i, k, got,
                      points[i].rgb[k]);
        }
    vitcl_image_free(&image);
    vt_test_remove(folder);
    free(grey);
}
