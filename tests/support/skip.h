/*
 * skip.h - to skip a test, and to say so where tools/test counts it: Criterion
 * itself says nothing, and a suite with skipped tests has passed.
 */
#ifndef VT_TESTS_SKIP_H
#define VT_TESTS_SKIP_H
#include <criterion/criterion.h>
#include <stdio.h>

/* Ends the calling test. The reason is a format and its arguments. */
#define vt_skip(...)                                                           \
    do {                                                                       \
        fputs("skipped: ", stderr);                                            \
        fprintf(stderr, __VA_ARGS__);                                          \
        fputc('\n', stderr);                                                   \
        cr_skip_test(__VA_ARGS__);                                             \
    } while (0)

#endif
