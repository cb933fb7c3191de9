/*
 * fuzz_image.c - any bytes as a picture: they are decoded or refused, and a
 * decoded picture can be preprocessed for a small model.
 */
#include "image/image.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vt_picture in = {0}, out = {0};
    vt_own own;
    vt_preprocess how;

    vt_preprocess_default(&how, 16, 16);
    how.fit = VT_FIT_BORDER;
    if (vt_image_decode_own(&in, &own, data, size, "fuzz") == VITCL_OK) {
        if ((uint64_t)in.width * in.height < 1000000)
            (void)vt_prepare_own(&out, &in, &own, &how);
        vt_picture_free(&in);
        vt_picture_free(&out);
        vt_own_free(&own);
    }
    if (vt_image_decode_on_white(&in, data, size, "fuzz") == VITCL_OK)
        vt_picture_free(&in);
    if (vt_image_decode(&in, data, size, "fuzz") != VITCL_OK)
        return 0;
    if (!in.rgb || in.width == 0 || in.height == 0 ||
        (uint64_t)in.width * in.height > VT_PIXELS_MAX)
        abort();
    vt_preprocess_default(&how, 16, 16);
    how.fit = VT_FIT_SHORTEST;
    how.crop = VT_CROP_TORCHVISION;
    if ((uint64_t)in.width * in.height < 1000000)
        (void)vt_prepare(&out, &in, &how);
    vt_picture_free(&in);
    vt_picture_free(&out);
    return 0;
}
