/*
 * test_counts.c - presets: the paper's models have exactly these sizes.
 *
 * Parameters with a head of 1000 classes, biases included, and
 * multiply-accumulates of one picture (spec: counted by hand from table 1 of
 * arXiv:2010.11929).
 */
#include "models/model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(counts, presets)
{
    static const struct {
        const char *name;
        uint32_t size;
        uint64_t parameters;
        double gmac;
        int tokens;
    } cases[] = {
        {"vit-b/16", 224, 86567656, 17.56, 197},
        {"vit-b/16", 384, 86859496, 55.48, 577},
        {"vit-b/32", 224, 88224232, 4.41, 50},
        {"vit-l/16", 224, 304326632, 61.55, 197},
        {"vit-l/16", 512, 305174504, 361.99, 1025},
        {"vit-l/32", 224, 306535400, 15.38, 50},
        {"vit-h/14", 224, 632045800, 167.30, 257},
        {"vit-h/14", 518, 633470440, 1016.72, 1370},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_model *m = NULL;
        double macs = 0;
        const int px = (int)cases[i].size;
        cr_assert_eq(vt_model_preset(&m, cases[i].name, cases[i].size),
                     VITCL_OK, "%s", vt_message());
        cr_expect_eq(vt_model_parameters(m), cases[i].parameters, "%s: %llu",
                     cases[i].name, (unsigned long long)vt_model_parameters(m));
        cr_expect_eq(vt_model_tokens(m, px, px), cases[i].tokens);
        cr_assert_eq(vt_model_macs(&macs, m, px, px), VITCL_OK, "%s",
                     vt_message());
        cr_expect(fabs(macs / 1e9 - cases[i].gmac) < 0.006, "%s@%d: %.3f GMAC",
                  cases[i].name, px, macs / 1e9);
        vt_model_close(m);
    }
}

Test(counts, preset_names)
{
    vt_model *m = NULL;
    uint32_t n = 0;

    while (vt_model_preset_name(n))
        n++;
    cr_expect_eq(n, 7);
    cr_expect_eq(vt_model_preset(&m, "vit-x/16", 0), VITCL_EINVAL);
    cr_expect_not_null(strstr(vt_message(), "vit-b/16"), "%s", vt_message());
    cr_expect_eq(vt_model_preset(&m, "vit-b/16", 230), VITCL_EINVAL);
    cr_expect_eq(vt_model_preset(&m, "vit-h/14", 224), VITCL_OK);
    vt_model_close(m);
}

/* Random weights are small, have the right deviation, are reproducible, and
 * differ by name. */
Test(counts, random_weights)
{
    enum { N = 100000 };
    static float a[N], b[N];
    const double n = (double)N;
    vt_model *m = NULL;
    double sum = 0, square = 0, most = 0;

    cr_assert_eq(vt_model_preset(&m, "vit-ti/16", 0), VITCL_OK);
    cr_assert_eq(vt_model_read_param(a, m, "blocks.0.attn.qkv.weight", N),
                 VITCL_OK);
    cr_assert_eq(vt_model_read_param(b, m, "blocks.0.attn.qkv.weight", N),
                 VITCL_OK);
    cr_expect_eq(memcmp(a, b, sizeof a), 0);
    for (int i = 0; i < N; i++) {
        sum += a[i];
        square += (double)a[i] * a[i];
        most = fmax(most, fabs(a[i]));
    }
    cr_expect(fabs(sum / n) < 3e-4, "mean %g", sum / n);
    cr_expect(fabs(sqrt(square / n) - 0.02) < 3e-4, "deviation %g",
              sqrt(square / n));
    cr_expect(most < 0.05, "%g", most);
    cr_assert_eq(vt_model_read_param(b, m, "blocks.1.attn.qkv.weight", N),
                 VITCL_OK);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    cr_assert_eq(vt_model_read_param(b, m, "norm.weight", 192), VITCL_OK);
    cr_expect_eq(b[191], 1.0f);
    cr_assert_eq(vt_model_read_param(b, m, "norm.bias", 192), VITCL_OK);
    cr_expect_eq(b[191], 0.0f);
    vt_model_close(m);
}
