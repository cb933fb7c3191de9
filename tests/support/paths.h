/*
 * paths.h - where tests find their data.
 *
 * VT_DATA  tests/data, always there
 *
 * Larger data (pictures, goldens, real weights) is in the folder that the
 * environment's VITCL_TEST_DATA names. It is no part of the repository.
 */
#ifndef VT_TESTS_PATHS_H
#define VT_TESTS_PATHS_H
#include <stdbool.h>
#include <unistd.h>

static inline bool vt_have(const char *path)
{
    return access(path, R_OK) == 0;
}

/* path: NAME below VITCL_TEST_DATA. The calling test is skipped if the variable
 * is not set or the folder has no NAME, and fails if the variable names no
 * folder. */
void vt_test_data(char path[static 512], const char *name);

#endif
