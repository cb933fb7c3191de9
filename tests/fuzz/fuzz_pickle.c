/*
 * fuzz_pickle.c - any bytes as the pickle of a PyTorch file with one storage
 * of 24 bytes.
 */
#include "support/fuzz_weights.h"
#include "support/made_zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float six[6] = {1, 2, 3, 4, 5, 6};
    static made_zip z;

    if (size > 60000)
        return 0;
    z.size = z.central_size = z.count = 0;
    made_add(&z, "x/data.pkl", data, size, (made_lie){0});
    made_add(&z, "x/data/0", six, sizeof six, (made_lie){0});
    made_end(&z);
    fuzz_weights(z.bytes, z.size);
    return 0;
}
