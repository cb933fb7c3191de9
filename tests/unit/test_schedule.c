/*
 * test_schedule.c - the learning rate at chosen steps, from its formula.
 */
#include "train/schedule.h"

#include <criterion/criterion.h>
#include <math.h>

Test(schedule, learning_rate)
{
    vt_schedule s = {VT_COSINE, 2.0, 0.0, 10, 111};

    cr_expect_float_eq(vt_learning_rate(&s, 0), 0.2, 1e-12);
    cr_expect_float_eq(vt_learning_rate(&s, 9), 2.0, 1e-12);
    cr_expect_float_eq(vt_learning_rate(&s, 10), 2.0, 1e-12);
    cr_expect_float_eq(vt_learning_rate(&s, 60), 1.0, 1e-12);
    cr_expect_float_eq(vt_learning_rate(&s, 35), 1 + sqrt(0.5), 1e-12);
    cr_expect_float_eq(vt_learning_rate(&s, 110), 0.0, 1e-12);
    s.decay = VT_LINEAR, s.floor = 1.0;
    cr_expect_float_eq(vt_learning_rate(&s, 60), 1.5, 1e-12);
    cr_expect_float_eq(vt_learning_rate(&s, 5000), 1.0, 1e-12);
    s.decay = VT_CONSTANT;
    cr_expect_float_eq(vt_learning_rate(&s, 60), 2.0, 1e-12);
}
