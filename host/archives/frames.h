/*
 * frames.h - what vitcl-unpack writes to its parent: frames of a head and
 * `size` bytes.
 *
 *   NAME    the next picture's name, or the archive's own ("") for an error of
 *           the whole
 *   DATA    bytes of that picture
 *   ERROR   ends the picture: why it cannot be read
 *   PICTURE ends the picture: it is complete
 *   OTHER   ends the picture: another worker's, without bytes
 *   LEFT    before the end: two counts of 64 bits, of members that are no
 *           pictures and of hidden ones
 *   UNLOCKED  the filter of system calls was refused
 *   END     nothing follows
 */
#ifndef VT_ARCHIVES_FRAMES_H
#define VT_ARCHIVES_FRAMES_H
#include <stdint.h>

typedef enum {
    VT_FRAME_NAME = 1,
    VT_FRAME_DATA,
    VT_FRAME_ERROR,
    VT_FRAME_PICTURE,
    VT_FRAME_OTHER,
    VT_FRAME_UNLOCKED,
    VT_FRAME_END,
    VT_FRAME_LEFT
} vt_frame_kind;
typedef struct vt_frame {
    uint32_t kind, size;
} vt_frame;
enum {
    VT_FRAME_MAX = 1 << 16,
    VT_MEMBER_NAME = 4096,
    VT_MEMBER_MIB = 256 /* of a picture */
};

#endif
