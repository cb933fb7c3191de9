/*
 * words.h - lists of words such as "a|b|c".
 */
#ifndef VT_BASE_WORDS_H
#define VT_BASE_WORDS_H
#include <stdbool.h>

/* The place of the word in the list, from 0; -1: it is none of them. */
int vt_word_place(const char *words, const char *word);
bool vt_one_of(const char *words, const char *word);

#endif
