/*
 * test_classes.c - match two sets of classes, permuted, renamed and cut,
 * against a search over all pairs.
 */
#include "data/classes.h"

#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 40 };
typedef struct set {
    char label[MOST][16], name[MOST][16];
} set;

static const char *label(const void *of, uint32_t i)
{
    const set *s = of;

    return s->label[i][0] ? s->label[i] : NULL;
}

static const char *name(const void *of, uint32_t i)
{
    const set *s = of;

    return s->name[i][0] ? s->name[i] : NULL;
}

static vt_classes classes(const set *s, uint32_t n, const char *whose)
{
    return (vt_classes){n, whose, s, label, name};
}

static int random_below(vt_rng *r, int n)
{
    return (int)(vt_rng_bits(r) % (unsigned)n);
}

Test(classes, are_matched_by_name)
{
    vt_rng r = {11};
    int by_name = 0; /* rounds that need the longer names */

    for (int round = 0; round < 400; round++) {
        const uint32_t n = 1 + (uint32_t)random_below(&r, MOST);
        const uint32_t m = 1 + (uint32_t)random_below(&r, MOST);
        const int words = 1 + random_below(&r, 3000);
        uint32_t out[MOST];
        set a = {0}, b = {0};
        bool good = true, named = false;
        vitcl_status st;

        for (uint32_t i = 0; i < n; i++)
            snprintf(a.label[i], 16, "w%d", random_below(&r, words));
        for (uint32_t i = 0; i < m; i++) {
            if (random_below(&r, 8))
                snprintf(b.label[i], 16, "w%d", random_below(&r, words));
            if (random_below(&r, 2))
                snprintf(b.name[i], 16, "w%d", random_below(&r, words));
        }
        if (round % 2) /* all of them, in another order */
            for (uint32_t i = 0; i < n; i++) {
                const uint32_t k = (uint32_t)random_below(&r, (int)m);

                snprintf(a.label[i], 16, "%s",
                         b.name[k][0] ? b.name[k] : b.label[k]);
            }
        st = vt_classes_match(out, &(vt_classes){n, "a", &a, label, NULL},
                              &(vt_classes){m, "b", &b, label, name}, false);
        for (uint32_t i = 0; i < n && good; i++) {
            uint32_t at[2] = {0, 0}, times[2] = {0, 0};

            for (uint32_t k = 0; k < m; k++) {
                if (strcmp(a.label[i], b.label[k]) == 0)
                    times[0]++, at[0] = k;
                if (strcmp(a.label[i], b.name[k]) == 0)
                    times[1]++, at[1] = k;
            }
            good = a.label[i][0] &&
                   (times[0] == 1 || (times[0] == 0 && times[1] == 1));
            named |= times[0] == 0;
            if (good && st == VITCL_OK)
                cr_expect_eq(out[i], times[0] ? at[0] : at[1]);
        }
        cr_expect_eq(st, good ? VITCL_OK : VITCL_EINVAL, "round %d: %s", round,
                     vt_message());
        by_name += good && named;
    }
    cr_expect_gt(by_name, 20, "%d", by_name);
}

Test(classes, are_matched_by_number_when_asked)
{
    set a = {.label = {"10", "2", "0003"}}, b = {.label = {"x", "y", "z"}};
    const vt_classes x = classes(&a, 3, "a"), y = classes(&b, 3, "b");
    set many = {.label = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
                          "10", "11"}};
    const vt_classes z = classes(&many, 12, "many");
    uint32_t out[MOST];

    cr_expect_eq(vt_classes_match(out, &x, &y, false), VITCL_EINVAL);
    cr_expect_eq(vt_classes_match(out, &x, &y, true), VITCL_EINVAL, "10 of 3");
    cr_assert_eq(vt_classes_match(out, &x, &z, true), VITCL_OK);
    cr_expect(out[0] == 10 && out[1] == 2 && out[2] == 3);
    cr_expect_eq(vt_classes_match(out, &x, &z, false), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "'0003'"), "%s", vt_message());
    cr_assert_eq(vt_classes_match(out, &y, &x, true), VITCL_EINVAL);
    cr_expect_eq(vt_classes_match(out, &y, &z, true), VITCL_EINVAL);
    strcpy(a.label[0], "cat"); /* not all names are numbers: positions */
    cr_assert_eq(vt_classes_match(out, &x, &y, true), VITCL_OK);
    cr_expect(out[0] == 0 && out[1] == 1 && out[2] == 2);
}

Test(classes, are_the_same)
{
    set a = {.label = {"p", "q", "r"}}, b = {.label = {"p", "r", "q"}};
    const vt_classes x = classes(&a, 3, "a"), y = classes(&b, 3, "b");
    const vt_classes few = classes(&a, 2, "few");

    cr_expect_eq(vt_classes_same(&x, &x), VITCL_OK);
    cr_expect_eq(vt_classes_same(&x, &y), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "another order"), "%s", vt_message());
    cr_expect_eq(vt_classes_same(&few, &x), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "'r'"), "%s", vt_message());
    cr_expect_eq(vt_classes_same(&x, &few), VITCL_EINVAL);
}
