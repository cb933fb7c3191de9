/*
 * test_shapes.c - which sizes ops accept. Each invalid case differs from a
 * valid one in a single value: if it were accepted, a kernel would read out of
 * bounds. No device is needed.
 */
#include "ops/common.h"

#include <criterion/criterion.h>
#include <stdio.h>

static vt_plan *p;

static vt_val value(vt_dtype type, const int *dim, size_t rank)
{
    static unsigned n;
    char name[16];

    snprintf(name, sizeof name, "in%u", n++);
    return vt_input(p, name, type, (int)rank, dim);
}

#define OF(type, ...)                                                          \
    value(type, (int[]){__VA_ARGS__},                                          \
          sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define X(...) OF(VT_F32, __VA_ARGS__)
#define I(...) OF(VT_I32, __VA_ARGS__)
#define U(...) OF(VT_U8, __VA_ARGS__)

static void begin(void)
{
    const vt_plan_options o = {.device_class = VT_CLASS_CPU};

    cr_assert_eq(vt_plan_new(&p, &o), VITCL_OK);
}

static void end(vt_val got, bool taken, const char *text)
{
    const vitcl_status st = vt_plan_status(p);

    if (taken)
        cr_expect(got != VT_NONE && st == VITCL_OK, "%s: %s", text,
                  vt_message());
    else
        cr_expect(got == VT_NONE && st == VITCL_EINVAL, "taken: %s", text);
    vt_plan_free(p);
}

#define TAKEN(expr) begin(), end((expr), true, #expr)
#define REFUSED(expr) begin(), end((expr), false, #expr)

Test(shapes, sums_and_products)
{
    TAKEN(vt_add(p, X(2, 3, 4), X(2, 3, 4)));
    REFUSED(vt_add(p, X(2, 3, 4), X(2, 3, 5)));
    REFUSED(vt_add(p, X(2, 3, 4), X(3, 4)));
    TAKEN(vt_multiply(p, X(2, 3, 4), X(2, 3, 4)));
    REFUSED(vt_multiply(p, X(2, 3, 4), X(2, 4, 4)));
    TAKEN(vt_add_rows(p, X(2, 3, 4), X(4)));
    TAKEN(vt_add_rows(p, X(2, 3, 4), X(3, 4)));
    REFUSED(vt_add_rows(p, X(2, 3, 4), X(2)));
    REFUSED(vt_add_rows(p, X(2, 3, 4), X(4, 4)));
    REFUSED(vt_add_rows(p, X(2, 3, 4), X(4, 3)));
    TAKEN(vt_mul_rows(p, X(2, 3, 4), X(3, 4)));
    REFUSED(vt_mul_rows(p, X(2, 3, 4), X(8)));
    REFUSED(vt_mul_rows(p, X(2, 3, 4), X(6)));
    REFUSED(vt_mul_rows(p, X(2, 3, 4), X(4, 4)));
    TAKEN(vt_add_grid(p, X(2, 7, 8), X(3, 4), X(2, 4)));
    TAKEN(vt_add_grid(p, X(2, 6, 8), X(3, 4), X(2, 4)));
    REFUSED(vt_add_grid(p, X(2, 5, 8), X(3, 4), X(2, 4)));
    REFUSED(vt_add_grid(p, X(2, 7, 8), X(3, 5), X(2, 4)));
    REFUSED(vt_add_grid(p, X(2, 7, 8), X(3, 4), X(2, 3)));
    REFUSED(vt_add_grid(p, X(2, 7, 8), X(12), X(2, 4)));
    REFUSED(vt_add_grid(p, X(14, 8), X(3, 4), X(2, 4)));
    TAKEN(vt_add_channels(p, X(2, 3, 4, 5), X(3), VT_NONE, true));
    TAKEN(vt_add_channels(p, X(2, 3, 4, 5), X(3), X(2, 3, 4, 5), true));
    REFUSED(vt_add_channels(p, X(2, 3, 4, 5), X(4), VT_NONE, true));
    REFUSED(vt_add_channels(p, X(2, 3, 4, 5), VT_NONE, VT_NONE, true));
    REFUSED(vt_add_channels(p, X(2, 3, 20), X(3), VT_NONE, true));
    REFUSED(vt_add_channels(p, X(2, 3, 4, 5), X(3), X(2, 3, 5, 4), true));
    TAKEN(vt_swiglu(p, X(2, 3, 8)));
    REFUSED(vt_swiglu(p, X(2, 3, 7)));
}

Test(shapes, tokens)
{
    vt_val prefix;

    TAKEN(vt_pool(p, X(2, 3, 4), VT_POOL_MEAN, 2));
    REFUSED(vt_pool(p, X(2, 3, 4), VT_POOL_MEAN, 3));
    REFUSED(vt_pool(p, X(2, 3, 4), VT_POOL_MEAN, -1));
    REFUSED(vt_pool(p, X(6, 4), VT_POOL_MEAN, 0));
    TAKEN(vt_slice(p, X(2, 3, 4), 0, 3));
    TAKEN(vt_slice(p, X(2, 3, 4), 2, 1));
    REFUSED(vt_slice(p, X(2, 3, 4), 0, 4));
    REFUSED(vt_slice(p, X(2, 3, 4), 2, 2));
    REFUSED(vt_slice(p, X(2, 3, 4), -1, 2));
    REFUSED(vt_slice(p, X(2, 3, 4), 1, 0));
    REFUSED(vt_slice(p, X(6, 4), 0, 1));
    TAKEN(
        (prefix = X(1, 2, 4), vt_embed(p, X(3, 5, 4), &prefix, 1, X(7, 4), 2)));
    TAKEN(
        (prefix = X(1, 2, 4), vt_embed(p, X(3, 5, 4), &prefix, 1, X(5, 4), 0)));
    TAKEN(vt_embed(p, X(3, 5, 4), NULL, 0, VT_NONE, 0));
    REFUSED(
        (prefix = X(1, 2, 4), vt_embed(p, X(3, 5, 4), &prefix, 1, X(8, 4), 3)));
    REFUSED(
        (prefix = X(1, 2, 4), vt_embed(p, X(3, 5, 4), &prefix, 1, X(6, 4), 2)));
    REFUSED((prefix = X(1, 2, 4),
             vt_embed(p, X(3, 5, 4), &prefix, 1, X(7, 4), -1)));
    REFUSED(
        (prefix = X(1, 2, 3), vt_embed(p, X(3, 5, 4), &prefix, 1, VT_NONE, 0)));
    REFUSED(vt_embed(p, X(15, 4), NULL, 0, VT_NONE, 0));
    TAKEN(vt_mask_patches(p, X(2, 3, 4), I(2, 3), X(4)));
    REFUSED(vt_mask_patches(p, X(2, 3, 4), I(2, 4), X(4)));
    REFUSED(vt_mask_patches(p, X(2, 3, 4), I(3, 3), X(4)));
    REFUSED(vt_mask_patches(p, X(2, 3, 4), I(6), X(4)));
    REFUSED(vt_mask_patches(p, X(2, 3, 4), X(2, 3), X(4)));
    REFUSED(vt_mask_patches(p, X(2, 3, 4), I(2, 3), X(3)));
    REFUSED(vt_mask_patches(p, X(6, 4), I(2, 3), X(4)));
}

Test(shapes, heads)
{
    static const int index[4] = {0, 4, 2, 1}, high[4] = {0, 5, 2, 1},
                     low[4] = {0, 4, -1, 1};

    TAKEN(vt_qknorm(p, X(2, 3, 24), 2, X(4), X(4), X(4), X(4), 1e-6f));
    REFUSED(vt_qknorm(p, X(2, 3, 24), 3, X(4), X(4), X(4), X(4), 1e-6f));
    REFUSED(vt_qknorm(p, X(2, 3, 24), 0, X(4), X(4), X(4), X(4), 1e-6f));
    REFUSED(vt_qknorm(p, X(2, 3, 24), 2, X(5), X(4), X(4), X(4), 1e-6f));
    REFUSED(vt_qknorm(p, X(2, 3, 24), 2, X(4), X(8), X(4), X(4), 1e-6f));
    REFUSED(vt_qknorm(p, X(2, 3, 24), 2, X(4), X(4), X(3), X(4), 1e-6f));
    REFUSED(vt_qknorm(p, X(2, 3, 24), 2, X(4), X(4), X(4), X(1), 1e-6f));
    TAKEN(vt_rope(p, X(2, 5, 24), 2, X(4, 2, 4), 1, false));
    REFUSED(vt_rope(p, X(2, 5, 24), 2, X(4, 2, 4), 0, false));
    REFUSED(vt_rope(p, X(2, 5, 24), 2, X(5, 2, 4), 1, false));
    REFUSED(vt_rope(p, X(2, 5, 24), 2, X(4, 2, 4), -1, false));
    REFUSED(vt_rope(p, X(2, 5, 24), 2, X(4, 2, 4), 6, false));
    REFUSED(vt_rope(p, X(2, 5, 18), 2, X(4, 2, 3), 1, false));
    REFUSED(vt_rope(p, X(2, 5, 22), 2, X(4, 2, 4), 1, false));
    REFUSED(vt_rope(p, X(10, 24), 2, X(4, 2, 4), 1, false));
    TAKEN(vt_relkeys(p, X(2, 4, 24), X(7, 8), 2, 0));
    TAKEN(vt_relkeys(p, X(2, 5, 24), X(10, 8), 2, 1));
    REFUSED(vt_relkeys(p, X(2, 4, 24), X(8, 8), 2, 0));
    REFUSED(vt_relkeys(p, X(2, 5, 24), X(7, 8), 2, 1));
    REFUSED(vt_relkeys(p, X(2, 4, 24), X(7, 9), 2, 0));
    REFUSED(vt_relkeys(p, X(2, 4, 24), X(7, 8), 3, 0));
    REFUSED(vt_relkeys(p, X(2, 4, 24), X(7, 8), 0, 0));
    REFUSED(vt_relkeys(p, X(2, 4, 24), X(2, 8), 2, 4));
    REFUSED(vt_relkeys(p, X(2, 4, 24), X(9, 8), 2, -1));
    TAKEN(vt_relpos_bias(p, X(5, 3), 3, 2, 2, index));
    REFUSED(vt_relpos_bias(p, X(5, 3), 2, 2, 2, index));
    REFUSED(vt_relpos_bias(p, X(5, 3), 3, 2, 2, high));
    REFUSED(vt_relpos_bias(p, X(5, 3), 3, 2, 2, low));
    REFUSED(vt_relpos_bias(p, X(5, 3), 3, 0, 2, index));
    REFUSED(vt_relpos_bias(p, X(5, 3), 3, 2, 0, index));
}

Test(shapes, pictures)
{
    static const float one[3] = {1, 1, 1};

    TAKEN(vt_normalise(p, U(2, 4, 5, 3), 1, one, one));
    REFUSED(vt_normalise(p, X(2, 4, 5, 3), 1, one, one));
    REFUSED(vt_normalise(p, U(2, 3, 4, 5), 1, one, one));
    REFUSED(vt_normalise(p, U(2, 4, 3), 1, one, one));
    TAKEN(vt_patch(p, X(2, 3, 4, 5), 4, 5));
    REFUSED(vt_patch(p, X(2, 3, 4, 5), 5, 5));
    REFUSED(vt_patch(p, X(2, 3, 4, 5), 4, 6));
    REFUSED(vt_patch(p, X(2, 3, 4, 5), 0, 5));
    REFUSED(vt_patch(p, X(2, 3, 4, 5), 4, 0));
    REFUSED(vt_patch(p, X(3, 4, 5), 4, 5));
    TAKEN(vt_pad(p, X(1, 2, 3, 4), 1, 1, -2, -3));
    TAKEN(vt_pad(p, X(1, 2, 3, 4), 0, -1, -2, -2));
    REFUSED(vt_pad(p, X(1, 2, 3, 4), -1, 0, -2, 0));
    REFUSED(vt_pad(p, X(1, 2, 3, 4), 0, -2, 0, -2));
    REFUSED(vt_pad(p, X(2, 3, 4), 0, 0, 0, 0));
    TAKEN(vt_avgpool(p, X(1, 2, 3, 4), 2));
    REFUSED(vt_avgpool(p, X(1, 2, 3, 4), 0));
    REFUSED(vt_avgpool(p, X(2, 3, 4), 2));
    TAKEN(vt_maxpool(p, X(1, 2, 3, 4), 3, 1, 0, 0, 0, 0));
    REFUSED(vt_maxpool(p, X(1, 2, 3, 4), 4, 1, 0, 0, 0, 0));
    REFUSED(vt_maxpool(p, X(1, 2, 4, 3), 4, 1, 0, 0, 0, 0));
    REFUSED(vt_maxpool(p, X(2, 3, 4), 2, 1, 0, 0, 0, 0));
    TAKEN(vt_groupnorm(p, X(2, 6, 3, 4), X(6), X(6), 3, 1e-5f, X(2, 6, 3, 4),
                       true));
    REFUSED(
        vt_groupnorm(p, X(2, 6, 3, 4), X(6), X(6), 4, 1e-5f, VT_NONE, true));
    REFUSED(
        vt_groupnorm(p, X(2, 6, 3, 4), X(6), X(6), 0, 1e-5f, VT_NONE, true));
    REFUSED(
        vt_groupnorm(p, X(2, 6, 3, 4), X(5), X(6), 3, 1e-5f, VT_NONE, true));
    REFUSED(
        vt_groupnorm(p, X(2, 6, 3, 4), X(6), X(12), 3, 1e-5f, VT_NONE, true));
    REFUSED(vt_groupnorm(p, X(2, 6, 3, 4), X(6), X(6), 3, 1e-5f, X(2, 6, 3, 5),
                         true));
}

Test(shapes, training)
{
    TAKEN(vt_cross_entropy(p, X(3, 5), X(3, 5), 1));
    REFUSED(vt_cross_entropy(p, X(3, 5), X(5, 3), 1));
    REFUSED(vt_cross_entropy(p, X(3, 5), X(3, 6), 1));
    TAKEN(vt_dropout(p, X(3, 5), I(1), 0, 0.5f));
    REFUSED(vt_dropout(p, X(3, 5), X(1), 0, 0.5f));
    REFUSED(vt_dropout(p, X(3, 5), I(1), 0, 1));
    REFUSED(vt_dropout(p, X(3, 5), I(1), 0, -0.1f));
    REFUSED(vt_drop_path(p, X(3, 5), VT_NONE, 0, 0.5f));
}
