/*
 * fuzz_words.c - any bytes as a vocabulary in the cache, behind a head that is
 * right.
 */
#include "support/fuzz_file.h"
#include "text/vocab_cache.h"

#include <fcntl.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "ab abcba c";
    vt_tokenizer *t = calloc(1, sizeof *t);
    vt_kept_file f = {.left = size};
    vt_chars rest = {0};
    vt_ids ids = {0};

    if (!t || (f.fd = open(fuzz_file(data, size), O_RDONLY | O_CLOEXEC)) < 0)
        abort();
    if (vt_vocab_cache_read(&rest, t, &f)) {
        t->bpe.vocab = t->unigram.vocab = &t->vocab;
        t->bpe.unknown = -1;
        t->unigram.scores = t->scores;
        if (t->scores)
            vt_unigram_encode(&ids, &t->unigram, text, sizeof text - 1);
        else
            vt_bpe_encode(&ids, &t->bpe, text, sizeof text - 1);
    }
    close(f.fd);
    free(ids.id);
    free(rest.s);
    vt_tokenizer_free(t);
    return 0;
}
