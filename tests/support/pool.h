/*
 * pool.h - pools of decoder processes in tests.
 */
#ifndef VT_TESTS_POOL_H
#define VT_TESTS_POOL_H
#include "image/image.h"

#include <sys/types.h>

#if defined(__SANITIZE_ADDRESS__)
#define VT_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VT_TEST_SANITIZED 1
#endif
#endif
#ifndef VT_TEST_SANITIZED
#define VT_TEST_SANITIZED 0
#endif

/* Prepared pictures have VT_TEST_SIDE pixels a side. */
enum {
    VT_TEST_SIDE = 40,
    VT_TEST_BYTES = VT_TEST_SIDE * VT_TEST_SIDE * 3,
    VT_TEST_CHILDREN = 64
};
vt_preprocess vt_test_how(void);
/* Our decoder processes, as the kernel lists them: at most VT_TEST_CHILDREN. */
int vt_test_children(pid_t *out);

#endif
