/*
 * fuzz_spm.c - any bytes as a SentencePiece model.
 */
#include "support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_text(vt_read_spm, data, size);
    return 0;
}
