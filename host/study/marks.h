/*
 * marks.h - two tasks of square marks on a grey ground, of 96 x 96 pixels.
 *
 * A mark has 12 x 12 pixels and lies in the middle of a patch of 16, at least
 * 18 pixels from the border. Pictures come in groups, one of each class, which
 * consist of the same marks; the state tells training pictures from test
 * pictures.
 *
 * apart: a mark at the left and one at the right, at least 20 pixels from each
 * other in both directions; the class is whether the left one is the higher
 * one. What is seen within 19 pixels is the same in both classes, but for the
 * place. So a convolutional network whose features look no farther has the same
 * features in both classes, in another order; after a mean over the picture it
 * can only guess. A model without positions can only guess, too.
 *
 * shift: a square of four marks, of which one is missing; the class is which.
 * The square lies at the left of the training pictures and at the right of the
 * test pictures. A convolutional network whose stride divides 16 has the
 * same features in another place. A model without positions can only guess.
 */
#ifndef VT_STUDY_MARKS_H
#define VT_STUDY_MARKS_H
#include "study/study.h"

enum {
    VT_MARKS_SIDE = 96,
    VT_MARKS_PATCH = 16,
    VT_MARKS_MARK = 12,
    VT_MARKS_BYTES = 3 * VT_MARKS_SIDE * VT_MARKS_SIDE,
    VT_APART_CLASSES = 2,
    VT_SHIFT_CLASSES = 4
};
/* out: red, green and blue of each pixel. The class is index % 2. */
void vt_apart_picture(uint8_t out[VT_MARKS_BYTES], uint64_t state,
                      uint32_t index);
/* The class is index % 4. */
void vt_shift_picture(uint8_t out[VT_MARKS_BYTES], uint64_t state,
                      uint32_t index, bool right);
extern const vt_made vt_made_apart, vt_made_shift;

#endif
