/*
 * test_layernorm_lanes.c - layer norm by a sub-group a row, with the lanes of
 * every vendor emulated: the columns that it takes, and those that stay with
 * layernorm.cl; rows that fill no work-group.
 */
#include "ref/ref.h"
#include "support/halves.h"
#include "support/layernorm.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void check(const char *unit, const char *note)
{
    const vt_case cases[] = {{.name = "3x3x256",
                              .in = {X(3, 3, 256), P(1, 256), P(1, 256)},
                              .note = note},
                             {.name = "first two of five, 768",
                              .in = {X(2, 5, 768), P(1, 768), P(1, 768)},
                              .arg = {2},
                              .note = note},
                             {.name = "no gamma, 1280",
                              .in = {X(1, 7, 1280), NONE, P(1, 1280)},
                              .note = note},
                             {.name = "rms, 2048",
                              .in = {X(2, 2, 2048), P(1, 2048), NONE},
                              .arg = {0, 1},
                              .note = note},
                             {.name = "columns that it does not take",
                              .in = {X(2, 2, 192), P(1, 192), P(1, 192)}},
                             {.name = "more than it takes",
                              .in = {X(1, 2, 2304), P(1, 2304), P(1, 2304)}},
                             {0}};

    setenv("VITCL_VARIANTS", "norm", 1);
    setenv("VITCL_MMA", unit, 1);
    vt_check_halves(cases, vt_test_layernorm, vt_test_layernorm_ref);
}

Test(layernorm_lanes, nvidia)
{
    check("emulate-mma16", "layernorm_lanes 32x4, emulated");
}

Test(layernorm_lanes, amd_32)
{
    check("emulate-wmma12", "layernorm_lanes 32x4, emulated");
}

Test(layernorm_lanes, amd_64)
{
    check("emulate-mfma942", "layernorm_lanes 64x2, emulated");
}

/* Without a unit of such lanes, and without the variable, nothing changes. */
Test(layernorm_lanes, others)
{
    static const vt_case cases[] = {{.name = "3x3x256",
                                     .in = {X(3, 3, 256), P(1, 256), P(1, 256)},
                                     .note = "layernorm"},
                                    {0}};

    setenv("VITCL_VARIANTS", "norm", 1);
    setenv("VITCL_MMA", "emulate-dpas8", 1);
    vt_check_halves(cases, vt_test_layernorm, vt_test_layernorm_ref);
    unsetenv("VITCL_VARIANTS");
    setenv("VITCL_MMA", "emulate-mma16", 1);
    vt_check_halves(cases, vt_test_layernorm, vt_test_layernorm_ref);
}
