/*
 * test_augment.c - RandAugment against checksums of Pillow's results
 * (tools/golden_augment.py); properties of crops and mixing.
 */
#include "base/memory.h"
#include "data/augment.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static vt_picture made(uint32_t w, uint32_t h)
{
    vt_picture p = {w, h, malloc((size_t)w * h * 3)};

    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++)
            for (uint32_t c = 0; c < 3; c++)
                p.rgb[(y * w + x) * 3 + c] =
                    (uint8_t)((x * 7 + y * 13 + c * 50 + (x * y) % 11 * 5) %
                                  256 / 2 +
                              40);
    return p;
}

static uint64_t fnv(const vt_picture *p)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < (size_t)p->width * p->height * 3; i++)
        h = (h ^ p->rgb[i]) * 0x100000001b3u;
    return h;
}

Test(augment, pillow)
{
    static const struct {
        vt_augment_op op;
        int sign;
        uint64_t want;
        vt_levels levels;
    } c[] = {
        {VT_AUTOCONTRAST, 1, 0x16b101df488227cau, VT_LEVELS},
        {VT_EQUALIZE, 1, 0xaf4b70c27b7cf9abu, VT_LEVELS},
        {VT_SOLARIZE, 1, 0x716df95d98a8076bu, VT_LEVELS},
        {VT_POSTERIZE, 1, 0xabfc40e2a2792b8fu, VT_LEVELS},
        {VT_COLOR, 1, 0xda93d02148f71215u, VT_LEVELS},
        {VT_COLOR, -1, 0x112cbb693dd3ed15u, VT_LEVELS},
        {VT_CONTRAST, 1, 0xaf0b155bd34f230u, VT_LEVELS},
        {VT_CONTRAST, -1, 0x1f54b0de873751f4u, VT_LEVELS},
        {VT_BRIGHTNESS, 1, 0xd41ed04afc9ed62fu, VT_LEVELS},
        {VT_BRIGHTNESS, -1, 0xf496a54248015bb5u, VT_LEVELS},
        {VT_SHARPNESS, 1, 0x841a41246a27929bu, VT_LEVELS},
        {VT_SHARPNESS, -1, 0x296b3ddd6848455au, VT_LEVELS},
        {VT_SHEAR_X, 1, 0xa3e2b43dc9df93e5u, VT_LEVELS},
        {VT_TRANSLATE_Y, 1, 0xfce68d1a31678a77u, VT_LEVELS},
        {VT_ROTATE, 1, 0x16f403b9d7e39334u, VT_LEVELS},
        {VT_INVERT, 1, 0x7a6af239f3897aa0u, VT_LEVELS_TIMM},
        {VT_SOLARIZE_ADD, 1, 0xc9ee152f7a9fb966u, VT_LEVELS_TIMM},
    };

    for (size_t i = 0; i < VT_COUNT(c); i++) {
        vt_picture p = made(37, 29);

        cr_assert_eq(vt_augment_apply(&p, c[i].op, 0.7, c[i].sign, c[i].levels),
                     VITCL_OK);
        cr_expect_eq(fnv(&p), c[i].want, "operation %d, sign %d", c[i].op,
                     c[i].sign);
        vt_picture_free(&p);
    }
}

/* Arguments by level, and what strings mean, as timm has them:
 * tools/golden_rand.py. */
Test(augment, timm_levels)
{
    static const struct {
        const char *name;
        vt_augment_op op;
    } ops[] = {{"AutoContrast", VT_AUTOCONTRAST},
               {"Equalize", VT_EQUALIZE},
               {"Invert", VT_INVERT},
               {"Rotate", VT_ROTATE},
               {"Posterize", VT_POSTERIZE},
               {"Solarize", VT_SOLARIZE},
               {"SolarizeAdd", VT_SOLARIZE_ADD},
               {"Color", VT_COLOR},
               {"Contrast", VT_CONTRAST},
               {"Brightness", VT_BRIGHTNESS},
               {"Sharpness", VT_SHARPNESS},
               {"ShearX", VT_SHEAR_X},
               {"ShearY", VT_SHEAR_Y},
               {"TranslateXRel", VT_TRANSLATE_X},
               {"TranslateYRel", VT_TRANSLATE_Y}};
    FILE *f = fopen(VT_DATA "/rand.tsv", "r");
    char kind[64], name[64];
    int inc, sign, n = 0, strings = 0;
    double level, want;

    cr_assert_not_null(f);
    while (fscanf(f, "%63s", kind) == 1) {
        vt_augment a = {.randaugment = 0};
        int inc_of, count;
        double m, mstd, mmax, p;
        size_t i = 0;

        if (strcmp(kind, "string") == 0) {
            cr_assert_eq(fscanf(f, "%63s %d %d %lf %lf %lf %lf", name, &inc_of,
                                &count, &m, &mstd, &mmax, &p),
                         7);
            cr_assert_eq(vt_augment_rand(&a, name, "s"), VITCL_OK, "%s: %s",
                         name, vt_message());
            cr_expect(a.levels ==
                              (inc_of ? VT_LEVELS_TIMM_INC : VT_LEVELS_TIMM) &&
                          a.randaugment == count &&
                          fabs(a.magnitude - m / 10) < 1e-12 &&
                          (isinf(mstd) ? isinf(a.spread)
                                       : fabs(a.spread - mstd / 10) < 1e-12) &&
                          fabs(a.most - mmax / 10) < 1e-12 &&
                          fabs(a.chance - p) < 1e-12,
                      "%s", name);
            strings++;
            continue;
        }
        cr_assert_eq(
            fscanf(f, "%63s %d %lf %d %lf", name, &inc, &level, &sign, &want),
            5);
        while (i < VT_COUNT(ops) && strcmp(ops[i].name, name) != 0)
            i++;
        cr_assert_lt(i, VT_COUNT(ops), "%s", name);
        const double got =
            vt_augment_argument(ops[i].op, level / 10, sign,
                                inc ? VT_LEVELS_TIMM_INC : VT_LEVELS_TIMM);
        cr_expect(fabs(got - want) < 1e-9, "%s at %g: %g, timm %g", name, level,
                  got, want);
        n++;
    }
    fclose(f);
    cr_expect(n > 500 && strings > 8, "%d, %d", n, strings);
}

/* Each operation is done with its probability, and the noise of its strength
 * has timm's deviation: pictures are unchanged where all are left out. */
Test(augment, timm_strings)
{
    static const char *const bad[] = {
        "rand-m9-w0", "rand-m9.5", "rand-m",   "rand-tweights",
        "rand-m9-m8", "augmix-m5", "original", "rand-m9-inc2",
        "rand-p1.5",  "rand-",     "rands-m9", "",
        "rand-n17",   "rand-m-9"};
    vt_augment a = {.randaugment = 0};
    vt_picture in = made(37, 29), out;
    int kept = 0, n = 600;

    cr_assert_eq(vt_augment_rand(&a, "rand-m9-n1-mstd0.5-inc1", "s"), VITCL_OK);
    for (int i = 0; i < n; i++) {
        vt_random r = vt_random_new(9, (uint64_t)i, 0);

        cr_assert_eq(vt_augment_picture(&out, &in, 37, 29, VT_PIXELS_PILLOW,
                                        VT_BICUBIC, &a, &r),
                     VITCL_OK);
        kept += fnv(&out) == fnv(&in);
        vt_picture_free(&out);
    }
    cr_expect_float_eq(kept, n / 2.0, 5 * sqrt(n) / 2);
    for (size_t i = 0; i < VT_COUNT(bad); i++)
        cr_expect_eq(vt_augment_rand(&a, bad[i], "s"), VITCL_ECORRUPT, "%s",
                     bad[i]);
    vt_picture_free(&in);
}

/* The same random stream gives the same picture, another stream another one;
 * the size is always right. */
Test(augment, repeats)
{
    vt_picture in = made(90, 71), a, b;
    vt_augment how;
    size_t changed = 0;

    cr_assert_not(vt_augment_named(&how, "some", 64, 64));
    cr_assert(vt_augment_named(&how, "full", 96, 80));
    for (uint64_t i = 0; i < 50; i++) {
        vt_random r = vt_random_new(1, i, 0), q = r, other;

        other = vt_random_new(1, i, 1);
        cr_assert_eq(vt_augment_picture(&a, &in, 80, 96, VT_PIXELS_PILLOW,
                                        VT_BICUBIC, &how, &r),
                     VITCL_OK);
        cr_assert_eq(vt_augment_picture(&b, &in, 80, 96, VT_PIXELS_PILLOW,
                                        VT_BICUBIC, &how, &q),
                     VITCL_OK);
        cr_expect(a.width == 80 && a.height == 96);
        cr_expect_eq(fnv(&a), fnv(&b));
        vt_picture_free(&b);
        cr_assert_eq(vt_augment_picture(&b, &in, 80, 96, VT_PIXELS_PILLOW,
                                        VT_BICUBIC, &how, &other),
                     VITCL_OK);
        changed += fnv(&a) != fnv(&b);
        vt_picture_free(&a);
        vt_picture_free(&b);
    }
    cr_expect_geq(changed, 49);
    cr_assert(vt_augment_named(&how, "none", 71, 90));
    vt_random r = vt_random_new(0, 0, 0);
    cr_assert_eq(vt_augment_picture(&a, &in, 90, 71, VT_PIXELS_PILLOW,
                                    VT_BICUBIC, &how, &r),
                 VITCL_OK);
    cr_expect_eq(fnv(&a), fnv(&in));
    vt_picture_free(&a);
    vt_picture_free(&in);
}

/* Crop with padding shifts by at most pad; all shifts occur; half of the
 * pictures are mirrored. */
Test(augment, shifts)
{
    vt_augment how = {.flip = true, .pad = 2};
    int seen[5][5] = {{0}}, mirrored = 0, n = 3000;
    vt_picture in = {9, 9, NULL}, out;

    cr_assert_eq(vt_new(&in.rgb, 81, 3), VITCL_OK);
    in.rgb[(4 * 9 + 4) * 3] = 200; /* one dot in the middle, */
    in.rgb[(4 * 9 + 3) * 3] = 100; /* a paler one to its left */
    for (int i = 0; i < n; i++) {
        vt_random r = vt_random_new(7, (uint64_t)i, 0);
        int x = -1, y = -1;

        cr_assert_eq(vt_augment_picture(&out, &in, 9, 9, VT_PIXELS_PILLOW,
                                        VT_BICUBIC, &how, &r),
                     VITCL_OK);
        for (int k = 0; k < 81; k++)
            if (out.rgb[3 * k] == 200)
                x = k % 9, y = k / 9;
        cr_assert(x >= 2 && x <= 6 && y >= 2 && y <= 6);
        mirrored += out.rgb[(y * 9 + x + 1) * 3] == 100;
        seen[y - 2][x - 2]++;
        vt_picture_free(&out);
    }
    for (int k = 0; k < 25; k++)
        cr_expect_float_eq(seen[k / 5][k % 5], n / 25.0, 5 * sqrt(n / 25.0));
    cr_expect_float_eq(mirrored, n / 2.0, 5 * sqrt(n) / 2);
    vt_picture_free(&in);
}

/* In every kind of mixing a picture's share of pixels equals its target. */
Test(augment, mixing)
{
    const vt_augment how[] = {{.mixup = 0.8, .mixup_prob = 1},
                              {.cutmix = 1.0, .mixup_prob = 1}};

    for (int k = 0; k < 2; k++)
        for (uint64_t round = 0; round < 40; round++) {
            float x[5][3][6][8], t[5][5] = {{0}};
            vt_random r = vt_random_new(3, round, (uint64_t)k);

            for (int b = 0; b < 5; b++) {
                t[b][b] = 1;
                for (int i = 0; i < 3 * 48; i++)
                    (&x[b][0][0][0])[i] = (float)(1 << b);
            }
            vt_mix_batch(&x[0][0][0][0], &t[0][0], 5, 6, 8, 5, &how[k], &r);
            for (int b = 0; b < 5; b++) {
                double mean = 0, want = 0, sum = 0;

                for (int i = 0; i < 3 * 48; i++)
                    mean += (double)(&x[b][0][0][0])[i] / (3 * 48);
                for (int j = 0; j < 5; j++)
                    want += (double)t[b][j] * (1 << j), sum += (double)t[b][j];
                cr_expect_float_eq(sum, 1, 1e-6);
                cr_expect_float_eq(mean, want, 1e-5 * want);
            }
        }
}

/* The settings of each name; "full" is DeiT's (arXiv 2012.12877, table 9).
 * Pictures up to 64 pixels a side are padded and cropped. */
Test(augment, named_settings)
{
    vt_augment a;

    cr_assert(vt_augment_named(&a, "none", 224, 224));
    cr_expect_not(vt_augment_any(&a));
    cr_expect(a.mixup == 0 && a.cutmix == 0 && a.mixup_prob == 1);
    cr_assert(vt_augment_named(&a, "light", 64, 300));
    cr_expect(a.flip && a.pad == 8 && a.crop_scale == 0);
    cr_assert(vt_augment_named(&a, "light", 65, 80));
    cr_expect(a.flip && a.pad == 0 && a.crop_scale == 0.35);
    cr_expect(a.jitter == 0 && a.randaugment == 0 && a.erase == 0);
    cr_expect(a.mixup == 0 && a.cutmix == 0);
    cr_assert(vt_augment_named(&a, "full", 224, 224));
    cr_expect(a.flip && a.pad == 0 && a.crop_scale == 0.08);
    cr_expect(a.jitter == 0.3 && a.randaugment == 2 && a.magnitude == 0.9);
    cr_expect(a.erase == 0.25 && a.mixup == 0.8 && a.cutmix == 1);
    cr_expect(a.mixup_prob == 1);
    cr_assert(vt_augment_named(&a, "full", 32, 40));
    cr_expect(a.pad == 4 && a.crop_scale == 0);
}

/* A share of the pictures gets a box of noise, of 2 to 33 % of the area, with
 * sides from 3:10 to 10:3. */
Test(augment, erases_a_share)
{
    enum { SIDE = 60, DRAWS = 2000 };
    const vt_augment how = {.erase = 0.2};
    const double pixels = SIDE * SIDE;
    vt_picture in = {SIDE, SIDE, NULL}, out;
    double sum = 0;
    int erased = 0;

    cr_assert_eq(vt_new(&in.rgb, SIDE * SIDE, 3), VITCL_OK);
    memset(in.rgb, 77, SIDE * SIDE * 3);
    for (uint64_t i = 0; i < DRAWS; i++) {
        vt_random r = vt_random_new(5, i, 1);
        int left = SIDE, right = -1, top = SIDE, bottom = -1, n = 0;

        cr_assert_eq(vt_augment_picture(&out, &in, SIDE, SIDE, VT_PIXELS_PILLOW,
                                        VT_BICUBIC, &how, &r),
                     VITCL_OK);
        for (int k = 0; k < SIDE * SIDE; k++) {
            const uint8_t *q = out.rgb + 3 * k;

            if (q[0] == 77 && q[1] == 77 && q[2] == 77)
                continue;
            n++;
            left = VT_MIN(left, k % SIDE), right = VT_MAX(right, k % SIDE);
            top = VT_MIN(top, k / SIDE), bottom = VT_MAX(bottom, k / SIDE);
        }
        vt_picture_free(&out);
        if (!n)
            continue;
        const int w = right - left + 1, h = bottom - top + 1;

        erased++;
        sum += (double)n / (SIDE * SIDE);
        cr_expect(n <= w * h && n >= w * h - 2, "%d of %dx%d", n, w, h);
        cr_expect(w <= 3.8 * h && h <= 3.8 * w, "%dx%d", w, h);
        cr_expect(n > 0.012 * pixels && n <= 0.33 * pixels, "%d", n);
    }
    cr_expect(erased > 400 - 90 && erased < 400 + 90, "%d", erased);
    /* the mean of 0.02 to 0.33, less what the edges cut and rounding down */
    cr_expect_float_eq(sum / erased, 0.17, 0.025, "%g", sum / erased);
    vt_picture_free(&in);
}

/* Area and aspect of random crops are within bounds. The picture encodes its
 * own coordinates, which show where a crop was. */
Test(augment, crops_a_share)
{
    enum { W = 200, H = 160, SIDE = 100, DRAWS = 1000 };
    const vt_augment how = {.crop_scale = 0.3};
    const double edge = SIDE, draws = DRAWS;
    vt_picture in = {W, H, NULL}, out;
    double least = 1, most = 0, sum = 0;

    cr_assert_eq(vt_new(&in.rgb, W * H, 3), VITCL_OK);
    for (int k = 0; k < W * H; k++)
        in.rgb[3 * k] = (uint8_t)(k % W), in.rgb[3 * k + 1] = (uint8_t)(k / W);
    for (uint64_t i = 0; i < DRAWS; i++) {
        vt_random r = vt_random_new(6, i, 1);
        const uint8_t *end;
        double w, h, share;

        cr_assert_eq(vt_augment_picture(&out, &in, SIDE, SIDE, VT_PIXELS_PILLOW,
                                        VT_NEAREST, &how, &r),
                     VITCL_OK);
        end = out.rgb + 3 * (SIDE * SIDE - 1);
        w = (end[0] - out.rgb[0]) * edge / (edge - 1);
        h = (end[1] - out.rgb[1]) * edge / (edge - 1);
        share = w * h / (W * H);
        least = fmin(least, share), most = fmax(most, share);
        sum += share;
        cr_expect(w / h > 0.71 && w / h < 1.4, "%gx%g", w, h);
        vt_picture_free(&out);
    }
    cr_expect(least > 0.28 && least < 0.34, "%g", least);
    cr_expect(most > 0.9 && most < 1.03, "%g", most);
    /* not 0.65: a box that would not fit is drawn again, as torchvision does */
    cr_expect_float_eq(sum / draws, 0.57, 0.03, "%g", sum / draws);
    vt_picture_free(&in);
}

/* If no box fits, the crop is the largest centred one of an allowed aspect. */
Test(augment, crops_the_middle_of_a_strip)
{
    const vt_augment how = {.crop_scale = 0.9};

    for (int tall = 0; tall < 2; tall++) {
        vt_picture in = {tall ? 10 : 250, tall ? 250 : 10, NULL}, out;
        vt_random r = vt_random_new(9, 1, 1);

        cr_assert_eq(vt_new(&in.rgb, 2500, 3), VITCL_OK);
        for (int k = 0; k < 2500; k++)
            in.rgb[3 * k] = (uint8_t)(tall ? k / 10 : k % 250);
        cr_assert_eq(vt_augment_picture(&out, &in, 13, 13, VT_PIXELS_PILLOW,
                                        VT_NEAREST, &how, &r),
                     VITCL_OK);
        /* 13 of 250: 118 on either side, and one */
        cr_expect_eq(out.rgb[0], 118, "%d", out.rgb[0]);
        cr_expect_eq(out.rgb[3 * 168], 130, "%d", out.rgb[3 * 168]);
        vt_picture_free(&in);
        vt_picture_free(&out);
    }
}

/* Each kind of mixing uses its own alpha: a large one gives shares near a half,
 * a small one near 0 or 1. With both, each is used for half of the batches. */
Test(augment, mixes_by_its_own_alpha)
{
    enum { SIDE = 32, DRAWS = 400 };
    static float x[2][3][SIDE][SIDE];

    for (int k = 0; k < 2; k++) {
        const vt_augment how = {
            .mixup = k ? 200 : 0.05, .cutmix = k ? 0.05 : 200, .mixup_prob = 1};
        double top[2] = {0, 0}; /* of the share that comes from the other */
        int boxes = 0, middle[2] = {0, 0};

        for (uint64_t i = 0; i < DRAWS; i++) {
            float t[2][2] = {{1, 0}, {0, 1}};
            vt_random r = vt_random_new(8, i, 3);
            bool whole = true; /* pixels are one or the other */
            double share;

            for (size_t j = 0; j < 2 * 3 * SIDE * SIDE; j++)
                (&x[0][0][0][0])[j] = j < 3 * SIDE * SIDE ? 0 : 1;
            vt_mix_batch(&x[0][0][0][0], &t[0][0], 2, SIDE, SIDE, 2, &how, &r);
            for (size_t j = 0; j < 3 * SIDE * SIDE && whole; j++)
                whole = (&x[0][0][0][0])[j] == 0 || (&x[0][0][0][0])[j] == 1;
            share = (double)t[0][1];
            cr_expect_float_eq((double)t[1][0], share, 1e-6);
            if (share < 1e-6 || share > 1 - 1e-6)
                continue; /* either */
            boxes += whole;
            top[whole] = fmax(top[whole], share);
            middle[whole] += share > 0.38 && share < 0.62;
        }
        if (k) { /* mixup near a half, boxes of any size */
            cr_expect(middle[0] > 150, "%d of %d", middle[0], DRAWS);
            cr_expect(top[0] < 0.65 && top[1] > 0.8, "%g, %g", top[0], top[1]);
        } else { /* boxes of a half at the most, mixup near 0 or 1 */
            cr_expect(top[1] < 0.62 && top[1] > 0.4, "%g", top[1]);
            cr_expect(top[0] > 0.9 && middle[0] < 40, "%g, %d", top[0],
                      middle[0]);
            cr_expect(boxes > 150 && boxes < 250, "%d", boxes);
        }
    }
}

/* Settings override a named augmentation, within bounds; mixup_prob leaves a
 * share of the batches unmixed. */
Test(augment, settings)
{
    static const char good[] = "{\"color_jitter\": 0.4, \"aa\": 3, "
                               "\"magnitude\": 0.5, \"reprob\": 0.25, "
                               "\"mixup\": 1, \"mixup_prob\": 0.2}";
    static const char *const bad[] = {"{\"reprob\": 1.5}", "{\"aa\": -1}",
                                      "{\"mixup\": \"much\"}"};
    vt_augment how;
    vt_json *j = NULL;
    int mixed = 0;

    cr_assert(vt_augment_named(&how, "light", 32, 32));
    cr_assert_eq(vt_json_parse(&j, good, strlen(good), 4, "s"), VITCL_OK);
    cr_assert_eq(vt_augment_change(&how, j, "s"), VITCL_OK);
    vt_json_free(j);
    cr_expect_eq(how.jitter, 0.4);
    cr_expect_eq(how.randaugment, 3);
    cr_expect_eq(how.magnitude, 0.5);
    cr_expect_eq(how.erase, 0.25);
    cr_expect_eq(how.mixup, 1);
    cr_expect_eq(how.cutmix, 0);
    cr_expect(how.flip && how.pad == 4);
    for (uint64_t i = 0; i < 400; i++) {
        float x[2][3] = {{1, 1, 1}, {2, 2, 2}}, t[2][2] = {{1, 0}, {0, 1}};
        vt_random r = vt_random_new(3, i, 0);

        vt_mix_batch(&x[0][0], &t[0][0], 2, 1, 1, 2, &how, &r);
        mixed += x[0][0] > 1;
    }
    cr_expect(mixed > 48 && mixed < 112, "%d", mixed); /* four sigmas */
    for (size_t i = 0; i < VT_COUNT(bad); i++) {
        const vt_augment before = how;

        j = NULL;
        cr_assert_eq(vt_json_parse(&j, bad[i], strlen(bad[i]), 4, "s.json"),
                     VITCL_OK);
        cr_expect_eq(vt_augment_change(&how, j, "s.json"), VITCL_ECORRUPT);
        cr_expect(strstr(vt_message(), "s.json: \""), "%s", vt_message());
        cr_expect_eq(how.jitter, before.jitter);
        vt_json_free(j);
    }
}
