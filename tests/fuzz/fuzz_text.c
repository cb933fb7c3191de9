/*
 * fuzz_text.c - any bytes as a tokenizer.json or, if they begin like gzip, as a
 * list of merges.
 */
#include "support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_text(size && *data == 0x1f ? vt_read_clip_gz : vt_read_tokenizer_json,
              data, size);
    return 0;
}
