/*
 * fuzz_words.c - any bytes as a vocabulary in the cache, with a checksum and a
 * key that are right.
 */
#include "base/checksum.h"
#include "support/fuzz_file.h"
#include "text/kept.h"

#include <fcntl.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SUM = 56, REST = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[VT_KEPT_KEY];
    static const char text[] = "ab abcba c";
    vt_tokenizer *t = calloc(1, sizeof *t);
    uint8_t *file = calloc(1, size + 1);
    vt_chars rest = {0};
    vt_ids ids = {0};
    uint64_t sum;
    int fd;

    if (!t || !file)
        abort();
    memcpy(file, data, size);
    if (size >= REST) {
        sum = vt_checksum(file + REST, size - REST);
        memcpy(file + SUM - VT_KEPT_KEY, key, sizeof key);
        memcpy(file + SUM, &sum, sizeof sum);
    }
    if ((fd = open(fuzz_file(file, size), O_RDONLY | O_CLOEXEC)) < 0)
        abort();
    if (vt_kept_read(&rest, t, fd, key)) {
        t->bpe.vocab = t->unigram.vocab = &t->vocab;
        t->bpe.unknown = -1;
        t->unigram.scores = t->scores;
        if (t->scores)
            vt_unigram_encode(&ids, &t->unigram, text, sizeof text - 1);
        else
            vt_bpe_encode(&ids, &t->bpe, text, sizeof text - 1);
    }
    close(fd);
    free(ids.id);
    free(rest.s);
    free(file);
    vt_tokenizer_free(t);
    return 0;
}
