/*
 * fuzz_npz.c - any bytes as a zip file, and as an array inside a valid one,
 * because its checksum would reject every mutation.
 */
#include "support/fuzz_weights.h"
#include "support/made_zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static made_zip z;

    fuzz_weights(data, size);
    if (size > 60000)
        return 0;
    z.size = z.central_size = z.count = 0;
    made_add(&z, "embedding/kernel.npy", data, size, (made_lie){0});
    made_add(&z, "params/Transformer/encoderblock/LayerNorm_0/scale.npy", data,
             size, (made_lie){.deflate = 1});
    made_end(&z);
    fuzz_weights(z.bytes, z.size);
    return 0;
}
