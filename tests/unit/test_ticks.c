/*
 * test_ticks.c - ticks are round numbers within the axis, and so are labels.
 */
#include "plot/ticks.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All labels, with spaces between. */
static const char *labels(const vt_ticks *t)
{
    static char text[1024];
    char label[VT_TICK_ROOM];

    text[0] = '\0';
    for (int i = 0; i < t->count; i++) {
        vt_ticks_label(label, t, i);
        strcat(strcat(text, i ? " " : ""), label);
    }
    return text;
}

Test(ticks, labels)
{
    static const struct {
        double from, to;
        int most;
        bool whole, widen;
        const char *want;
    } cases[] = {
        {0, 1, 6, false, true, "0.0 0.2 0.4 0.6 0.8 1.0"},
        {0, 2.31, 6, false, true, "0.0 0.5 1.0 1.5 2.0 2.5"},
        {0, 0.7, 6, false, true, "0.0 0.2 0.4 0.6 0.8"},
        {-0.3, 0.31, 6, false, true, "-0.4 -0.2 0.0 0.2 0.4"},
        {-1, 1, 1, false, true, "-1 0 1"},
        {0, 100, 6, false, true, "0 20 40 60 80 100"},
        {3, 97, 10, false, false, "10 20 30 40 50 60 70 80 90"},
        {1, 3, 12, true, false, "1 2 3"},
        {1, 3, 12, false, false, "1.0 1.2 1.4 1.6 1.8 2.0 2.2 2.4 2.6 2.8 3.0"},
        {7, 7, 6, true, false, "6 7 8"},
        {0, 0, 6, true, true, "0 1"},
        {1e6, 5e6, 6, true, false, "1000000 2000000 3000000 4000000 5000000"},
        {0, 3.5e13, 4, true, false, "0 1e+13 2e+13 3e+13"},
        {0, 2e-9, 4, false, true, "0 5e-10 1e-09 1.5e-09 2e-09"},
        {0, 2e-6, 4, false, true, "0 5e-07 1e-06 1.5e-06 2e-06"},
        {5e-324, 5e-324, 2, false, true, "0.0 0.5 1.0"},
        {-5e-324, 1e-320, 2, false, true, "-1 0 1"},
        {0, 4e38, 4, false, true, "0 1e+38 2e+38 3e+38 4e+38"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_ticks t;

        vt_ticks_choose(&t, cases[i].from, cases[i].to, cases[i].most,
                        cases[i].whole, cases[i].widen);
        cr_expect_str_eq(labels(&t), cases[i].want, "%g to %g: %s",
                         cases[i].from, cases[i].to, labels(&t));
    }
}

/* Any range up to the limits, from next to nothing to all of it. */
Test(ticks, any_range)
{
    srand(1);
    for (int i = 0; i < 200000; i++) {
        const double size = pow(10, rand() % 201 - 100);
        const double a = size * (rand() % 2001 - 1000) / 1000;
        const double b = a + fabs(a) * pow(10, -(rand() % 20)) +
                         (rand() % 2 ? size * (rand() % 100) / 100 : 0);
        const int most = 1 + rand() % 12;
        const bool widen = rand() % 2;
        double much;
        vt_ticks t;

        vt_ticks_choose(&t, a, b, most, rand() % 2, widen);
        much = 1e-5 * t.step; /* a thousandth of a pixel or so */
        cr_assert(t.to > t.from && t.step > 0, "%g %g", a, b);
        cr_assert(t.count >= 0 && t.count <= (most < 2 ? 2 : most) + 1,
                  "%g %g: %d", a, b, t.count);
        cr_assert(t.from - much <= a && b <= t.to + much, "%.17g to %.17g", a,
                  b);
        for (int k = 0; k < t.count; k++) {
            const double v = vt_ticks_at(&t, k);
            cr_assert(t.from - much <= v && v <= t.to + much, "%g", v);
        }
        cr_assert(!widen || t.count >= 2, "%g %g", a, b);
    }
}
