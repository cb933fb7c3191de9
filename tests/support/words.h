/*
 * words.h - bf16 by AVX-512's dot products on any processor.
 */
#ifndef VT_TESTS_WORDS_H
#define VT_TESTS_WORDS_H

/* From now on this process compiles a copy of cl/ in `folder`, in which the
 * instructions of bf16 are written in C. */
void vt_test_words_in_c(const char *folder);

#endif
