/*
 * test_later.c - work that a thread does part by part while its owner goes on.
 */
#include "train/later.h"

#include <criterion/criterion.h>

enum { PARTS = 1000 };

typedef struct made {
    size_t part[PARTS], count, fails; /* fails: the part that does */
} made;

static vitcl_status make(void *context, size_t part)
{
    made *m = context;

    if (part == m->fails)
        return vt_fail(VITCL_EIO, "part %zu", part);
    m->part[m->count++] = part;
    return VITCL_OK;
}

static void check_order(bool thread)
{
    made m = {.fails = PARTS};
    vt_later *l = NULL;

    cr_assert_eq(vt_later_new(&l, thread, make, &m), VITCL_OK);
    for (int batch = 0; batch < 3; batch++) {
        m.count = 0;
        for (size_t i = 0; i < PARTS; i++)
            cr_assert_eq(vt_later_give(l), VITCL_OK);
        cr_assert_eq(vt_later_wait(l, PARTS), VITCL_OK);
        cr_expect_eq(m.count, PARTS);
        for (size_t i = 0; i < PARTS; i++)
            cr_assert_eq(m.part[i], i);
        vt_later_again(l);
    }
    vt_later_free(l);
}

Test(later, does_all_parts_in_order)
{
    check_order(true);
    check_order(false);
}

static void check_failure(bool thread)
{
    made m = {.fails = 3};
    vt_later *l = NULL;

    cr_assert_eq(vt_later_new(&l, thread, make, &m), VITCL_OK);
    for (size_t i = 0; i < 6; i++)
        vt_later_give(l); /* may fail from the fourth on */
    cr_expect_eq(vt_later_wait(l, 4), VITCL_EIO); /* parts 0 to 3 */
    cr_expect_str_eq(vt_message(), "part 3");
    cr_expect_eq(vt_later_wait(l, 6), VITCL_EIO);
    cr_expect_eq(vt_later_give(l), VITCL_EIO);
    cr_expect_eq(m.count, 3, "nothing is done after a failure");
    vt_later_free(l);
}

Test(later, stops_at_a_failure)
{
    check_failure(true);
    check_failure(false);
}

/* What was given is done before the owner's memory goes. */
Test(later, ends_with_what_was_given)
{
    made m = {.fails = PARTS};
    vt_later *l = NULL;

    cr_assert_eq(vt_later_new(&l, true, make, &m), VITCL_OK);
    for (size_t i = 0; i < PARTS; i++)
        cr_assert_eq(vt_later_give(l), VITCL_OK);
    vt_later_free(l);
    cr_expect_eq(m.count, PARTS);
}
