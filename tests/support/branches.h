/*
 * branches.h - does the driver take each work-item's own branch?
 */
#ifndef VT_TESTS_BRANCHES_H
#define VT_TESTS_BRANCHES_H
#include <stdbool.h>

/* PoCL takes the first work-item's for all, in a loop with a barrier where a
 * branch that differs has branches in it that do not; PoCL 6 even without
 * optimisation. The kernels of matrix units, where they are emulated, are made
 * of such loops. */
bool vt_test_own_branches(void);

#endif
