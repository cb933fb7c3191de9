/*
 * words.c - compares a word with those between the bars, without a copy.
 */
#include "base/words.h"

#include <string.h>

int vt_word_place(const char *words, const char *word)
{
    const size_t n = strlen(word);

    for (int i = 0;; i++) {
        const size_t m = strcspn(words, "|");

        if (n == m && memcmp(words, word, n) == 0)
            return i;
        if (!words[m])
            return -1;
        words += m + 1;
    }
}

bool vt_one_of(const char *words, const char *word)
{
    return vt_word_place(words, word) >= 0;
}
