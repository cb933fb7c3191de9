/*
 * arrangement.h - pictures whose class is where things are, not what there is.
 *
 * Pictures come in groups of four, one of each class. Those of a group consist
 * of the same 16 tiles of 8x8 pixels: four bright ones, which fill the quarter
 * of the picture that is the class, and twelve dark ones. So all classes have
 * the same patches, and a model without positions, to which a picture is a set
 * of patches, answers the same for all four: one in four is right.
 */
#ifndef VT_STUDY_ARRANGEMENT_H
#define VT_STUDY_ARRANGEMENT_H
#include "study/study.h"

enum {
    VT_ARRANGED_SIDE = 32,
    VT_ARRANGED_TILE = 8,
    VT_ARRANGED_CLASSES = 4,
    VT_ARRANGED_BYTES = 3 * VT_ARRANGED_SIDE * VT_ARRANGED_SIDE
};
/* out: planes of red, green and blue. The class is index % 4; `state` tells
 * training pictures from test pictures. */
void vt_arrangement_picture(uint8_t out[VT_ARRANGED_BYTES], uint64_t state,
                            uint32_t index);
/* As CIFAR-10's files; the labels are 0 to 3 of the ten. */
extern const vt_made vt_made_arrangement;

#endif
