/*
 * thumbs.h - decode pictures of a dataset to small squares.
 */
#ifndef VT_DATA_THUMBS_H
#define VT_DATA_THUMBS_H
#include "data/dataset.h"

enum { VT_THUMB_SIDE = 16 };

/* rgb: VT_THUMB_SIDE squared; NULL: the picture cannot be decoded, vt_message()
 * says why. Another result than VITCL_OK ends vt_thumbs(). */
typedef vitcl_status (*vt_thumb)(void *context, uint32_t picture,
                                 const uint8_t *rgb);

/* Decodes these pictures completely, as files in the decoder processes, and
 * calls `take` for each, in order. */
vitcl_status vt_thumbs(const vt_dataset *d, const uint32_t *picture, size_t n,
                       vt_thumb take, void *context);

#endif
