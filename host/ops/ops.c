/*
 * ops.c - the table of all ops.
 */
#include "ops/common.h"

const vt_op *const vt_ops[] = {
#define X(name) &vt_op_##name,
    VT_OPS(X)
#undef X
        NULL};
