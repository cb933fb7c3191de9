/*
 * commit.h - tests that try a sample, another one at each commit.
 */
#ifndef VT_TESTS_COMMIT_H
#define VT_TESTS_COMMIT_H

/* A number that each commit changes; 1 without git. */
unsigned long vt_test_commit(void);

#endif
