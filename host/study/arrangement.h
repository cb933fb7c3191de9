/*
 * arrangement.h - pictures whose class is where things are, not what there is.
 *
 * Pictures come in groups of ten, one of each class. Those of a group consist
 * of the same 64 tiles of 4x4 pixels. Four tiles are marked and lie together at
 * the place of the class; the others lie anywhere. So the classes have the same
 * histogram of patches, and a model without positions, to which a picture is a
 * set of patches, answers the same for all ten: one in ten is right.
 */
#ifndef VT_STUDY_ARRANGEMENT_H
#define VT_STUDY_ARRANGEMENT_H
#include "base/status.h"

#include <stdint.h>

enum {
    VT_ARRANGED_SIDE = 32,
    VT_ARRANGED_TILE = 4,
    VT_ARRANGED_CLASSES = 10,
    VT_ARRANGED_BYTES = 3 * VT_ARRANGED_SIDE * VT_ARRANGED_SIDE
};
/* out: planes of red, green and blue. The class is index % 10; `state` tells
 * training pictures from test pictures. */
void vt_arrangement_picture(uint8_t out[VT_ARRANGED_BYTES], uint64_t state,
                            uint32_t index);
/* Writes CIFAR-10's files with such pictures; counts are rounded up to tens. */
vitcl_status vt_arrangement_write(const char *folder, uint32_t pictures,
                                  uint32_t tests);

#endif
