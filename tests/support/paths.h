/*
 * paths.h - where tests find their data.
 *
 * VT_DATA    tests/data, always there
 * VT_SHARED  pictures, goldens and real weights beside the repository; a test
 *            that needs them asks vt_have() first
 */
#ifndef VT_TESTS_PATHS_H
#define VT_TESTS_PATHS_H
#include <stdbool.h>
#include <unistd.h>

static inline bool vt_have(const char *path)
{
    return access(path, R_OK) == 0;
}

#endif
