/*
 * test_inspect_golden.c - what is computed from a Hugging Face ViT's attention
 * and tokens, and from a model's weights, against NumPy
 * (tests/data/inspect.safetensors, made by tools/golden_inspect.py).
 */
#include "api/program.h"
#include "inspect/attention.h"
#include "inspect/components.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl.h>

enum { LAYERS = 2, HEADS = 2, SIDE = 8, N = SIDE * SIDE, T = N + 1 };
enum { EACH = HEADS * T * T, WIDTH = 64 };

static const vt_patch_grid grid = {.prefix = 1,
                                   .rows = SIDE,
                                   .columns = SIDE,
                                   .height_px = 16,
                                   .width_px = 16,
                                   .read_count = 1};
/* The head reads the mean of the patches. */
static const vt_patch_grid pooled = {.prefix = 1,
                                     .rows = SIDE,
                                     .columns = SIDE,
                                     .read_first = 1,
                                     .read_count = N};

static float *read_golden(const char *name, size_t *count)
{
    vt_tensors *t = NULL;
    vitcl_shape s;
    float *out;

    cr_assert_eq(vt_tensors_open(&t, VT_DATA "/inspect.safetensors"), VITCL_OK);
    cr_assert_eq(vt_tensors_shape(&s, t, name), VITCL_OK, "%s", name);
    *count = 1;
    for (uint32_t i = 0; i < s.rank; i++)
        *count *= (size_t)s.shape[i];
    out = malloc(*count * sizeof *out);
    cr_assert_eq(vt_tensors_read(out, t, name, *count), VITCL_OK);
    vt_tensors_free(t);
    return out;
}

/* Within 1e-5, absolute. */
static void same(const char *name, const double *got, size_t n)
{
    size_t count;
    float *want = read_golden(name, &count);
    double worst = 0;

    cr_assert_eq(n, count, "%s has %zu numbers", name, count);
    for (size_t i = 0; i < n; i++)
        worst = isnan(got[i]) ? INFINITY
                              : fmax(worst, fabs(got[i] - (double)want[i]));
    cr_expect(worst < 1e-5, "%s: %g off", name, worst);
    free(want);
}

static void check_rollout(const char *name, vt_rollout_options o,
                          const vt_patch_grid *from)
{
    size_t n;
    float *probs = read_golden("attention", &n);
    vt_rollout *r = NULL;
    double got[T];

    cr_assert_eq(n, LAYERS * EACH);
    cr_assert_eq(vt_rollout_new(&r, LAYERS, T, &o), VITCL_OK);
    for (int l = 0; l < LAYERS; l++)
        cr_assert_eq(vt_rollout_add(r, probs + l * EACH, HEADS), VITCL_OK);
    vt_rollout_answer(got, r, from);
    same(name, got, T);
    vt_rollout_free(r);
    free(probs);
}

Test(inspect, golden_rollout)
{
    const vt_rollout_options usual = {VT_FUSE_MEAN, 0.5, 0};

    check_rollout("rollout_mean", usual, &grid);
    check_rollout("rollout_max", (vt_rollout_options){VT_FUSE_MAX, 0.3, 0},
                  &grid);
    check_rollout("rollout_patches", usual, &pooled);
}

/* In units of the picture's side, so that the bound is the same. */
Test(inspect, golden_distance)
{
    size_t n;
    float *probs = read_golden("attention", &n),
          *want = read_golden("distance", &n);
    double got[LAYERS * HEADS];

    for (int l = 0; l < LAYERS; l++)
        vt_attention_distance(got + l * HEADS, probs + l * EACH, HEADS, &grid);
    for (int i = 0; i < LAYERS * HEADS; i++)
        cr_expect(fabs(got[i] - (double)want[i]) < 1e-5 * 128, "%g, not %g",
                  got[i], (double)want[i]);
    free(probs);
    free(want);
}

/* Without its class token, attention is that of a model that has none. */
Test(inspect, golden_maps)
{
    size_t n;
    float *probs = read_golden("attention", &n);
    float *bare = malloc(sizeof *bare * HEADS * N * N);
    double got[HEADS * N];
    vt_patch_grid none = grid;

    none.prefix = 0, none.read_count = N;
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < N; i++)
            memcpy(bare + (h * N + i) * N,
                   probs + EACH + (h * T + 1 + i) * T + 1, N * sizeof *bare);
    vt_attention_map(got, probs + EACH, HEADS, &grid, -1);
    same("token_map", got, HEADS * N);
    vt_attention_map(got, probs, HEADS, &grid, 11);
    same("patch_map", got, HEADS * N);
    vt_attention_map(got, bare, HEADS, &none, -1);
    same("mean_map", got, HEADS * N);
    vt_attention_map(got, probs + EACH, HEADS, &pooled, -1);
    same("mean_map", got, HEADS * N);
    free(probs);
    free(bare);
}

Test(inspect, golden_tokens)
{
    size_t n;
    float *tokens = read_golden("tokens", &n);
    double axes[3 * WIDTH], scores[3 * N], shares[3];

    cr_assert_eq(n, N * WIDTH);
    cr_assert_eq(vt_components(axes, scores, shares, 3, tokens, N, WIDTH),
                 VITCL_OK);
    same("pca_axes", axes, 3 * WIDTH);
    same("pca_scores", scores, 3 * N);
    same("pca_shares", shares, 3);
    free(tokens);
}

/* The same rows in pieces of different lengths, of which only sums are kept. */
Test(inspect, golden_components_of_pieces)
{
    static double axes[3 * WIDTH], mean[WIDTH], scores[3 * N], shares[3];
    static const int pieces[] = {1, 30, 7, N - 38};
    double spread[3];
    vt_moments *m = NULL;
    size_t n, from = 0;
    float *tokens = read_golden("tokens", &n);

    cr_assert_eq(vt_moments_new(&m, WIDTH), VITCL_OK);
    cr_expect_eq(vt_moments_components(axes, mean, shares, spread, 3, m),
                 VITCL_EINVAL);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        vt_moments_add(m, tokens + from * WIDTH, pieces[i]);
        from += (size_t)pieces[i];
    }
    cr_assert_eq(from, N);
    cr_assert_eq(vt_moments_components(axes, mean, shares, spread, 3, m),
                 VITCL_OK);
    vt_scores(scores, axes, mean, 3, tokens, N, WIDTH);
    same("pca_axes", axes, 3 * WIDTH);
    same("pca_scores", scores, 3 * N);
    same("pca_shares", shares, 3);
    for (int k = 0; k < 3; k++) {
        double squares = 0;

        for (int i = 0; i < N; i++)
            squares += scores[k * N + i] * scores[k * N + i];
        cr_expect_float_eq(spread[k], sqrt(squares / N), 1e-9);
    }
    vt_moments_free(m);
    free(tokens);
}

/* Far from zero, differences are not lost; rows that are all alike, and one
 * row alone, have no components. */
Test(inspect, components_of_pieces_at_the_edges)
{
    double axis[2 * 3], mean[3], share[2], spread[2];
    vt_moments *m = NULL;

    cr_assert_eq(vt_moments_new(&m, 3), VITCL_OK);
    vt_moments_add(m, (const float[]){4e6f, 4e6f, 4e6f}, 1);
    cr_assert_eq(vt_moments_components(axis, mean, share, spread, 2, m),
                 VITCL_OK);
    cr_expect(axis[0] == 0 && share[0] == 0 && spread[0] == 0);
    vt_moments_add(
        m, (const float[]){4e6f, 4e6f + 2, 4e6f, 4e6f, 4e6f - 2, 4e6f}, 2);
    cr_assert_eq(vt_moments_components(axis, mean, share, spread, 2, m),
                 VITCL_OK);
    cr_expect_float_eq(axis[0], 0, 1e-9);
    cr_expect_float_eq(axis[1], 1, 1e-9);
    cr_expect_float_eq(axis[2], 0, 1e-9);
    cr_expect_float_eq(share[0], 1, 1e-9);
    cr_expect_float_eq(share[1], 0, 1e-9);
    cr_expect_float_eq(spread[0], sqrt(8.0 / 3), 1e-9);
    vt_moments_free(m);
}

static float *weight(vitcl_model *m, const char *name, size_t count)
{
    vitcl_tensor_info info = {.size = sizeof info};
    float *w = malloc(count * sizeof *w);

    cr_assert_eq(vt_model_read_weight(&info, w, count, m, name), VITCL_OK, "%s",
                 vitcl_last_error());
    cr_assert_eq(info.rank, 2);
    cr_assert_eq(info.shape[0] * info.shape[1], count);
    return w;
}

/* 16 filters have 15 components: the others are 0. */
Test(inspect, golden_weights)
{
    enum { FILTERS = 28, SIZE = 3 * 8 * 8, PLACES = 9 };
    double axes[FILTERS * SIZE], shares[FILTERS], cosines[PLACES * PLACES];
    vitcl_tensor_info info = {.size = sizeof info};
    vitcl_model *m = NULL;
    float *filters, *positions;

    cr_assert_eq(vitcl_model_load(&m, NULL, VT_DATA "/models/timm_vit"),
                 VITCL_OK);
    filters = weight(m, "patch_embed.proj.weight", (size_t)16 * SIZE);
    positions = weight(m, "pos_embed", (size_t)(1 + PLACES) * 16);
    cr_assert_eq(vt_components(axes, NULL, shares, FILTERS, filters, 16, SIZE),
                 VITCL_OK);
    same("filters", axes, FILTERS * SIZE);
    same("filter_shares", shares, FILTERS);
    cr_assert_eq(vt_cosines(cosines, positions + 16, PLACES, 16), VITCL_OK);
    same("positions", cosines, PLACES * PLACES);

    cr_expect_eq(vt_model_read_weight(&info, NULL, 0, m, "none"), VITCL_EINVAL);
    cr_expect_eq(vt_model_read_weight(&info, filters, 7, m, "pos_embed"),
                 VITCL_EINVAL);
    cr_expect_eq(vt_model_read_weight(&info, NULL, 0, m, "logits"),
                 VITCL_EINVAL);
    vitcl_model_free(m);
    free(filters);
    free(positions);
}

/* Equal variance along several axes, none at all, and one row. */
Test(inspect, components_of_odd_data)
{
    enum { D = 600 };
    float *x = calloc((size_t)4 * D, sizeof *x);
    double *axes = calloc((size_t)3 * D, sizeof *axes), scores[12], shares[3];

    x[0] = 1, x[D + 0] = -1, x[2 * D + 7] = 1, x[3 * D + 7] = -1;
    cr_assert_eq(vt_components(axes, scores, shares, 3, x, 4, D), VITCL_OK);
    cr_expect(fabs(shares[0] - 0.5) < 1e-9 && fabs(shares[1] - 0.5) < 1e-9 &&
                  shares[2] == 0,
              "%g %g %g", shares[0], shares[1], shares[2]);
    for (int i = 0; i < 4; i++) /* the plane is that of axes 0 and 7 */
        cr_expect(fabs(hypot(scores[i], scores[4 + i]) - 1) < 1e-9);
    memset(x, 0, (size_t)4 * D * sizeof *x);
    cr_assert_eq(vt_components(axes, scores, shares, 3, x, 4, D), VITCL_OK);
    cr_expect(shares[0] == 0 && scores[0] == 0 && axes[0] == 0);
    x[0] = 5;
    cr_assert_eq(vt_components(axes, scores, shares, 3, x, 1, D), VITCL_OK);
    cr_expect(shares[0] == 0 && scores[0] == 0);
    cr_assert_eq(vt_components(axes, scores, shares, 3, x, 4, 1), VITCL_OK);
    cr_expect(fabs(shares[0] - 1) < 1e-12 && axes[0] == 1 && axes[1] == 0);
    free(x);
    free(axes);
}
