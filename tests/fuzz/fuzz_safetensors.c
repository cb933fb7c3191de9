/*
 * fuzz_safetensors.c - any bytes as a safetensors file.
 */
#include "support/fuzz_weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_weights(data, size);
    return 0;
}
