/*
 * input.h - the pictures of a run: those that paths name, or those in archives,
 * and of them one worker's share.
 */
#ifndef VT_CLI_INPUT_H
#define VT_CLI_INPUT_H
#include "pictures.h"

typedef struct input input;
typedef struct input_picture {
    const char *path; /* until the next call; NULL: the end */
    const char *error;
    uint64_t position;    /* in the whole input */
    const void *borrowed; /* bytes that came on stdin, until input_close() */
    void *bytes;          /* bytes of an archive's member; the caller's */
    size_t size;          /* of either */
} input_picture;

/* Prints why not. */
input *input_open(const words *operands, const picture_options *how);
/* Waits as paths_ready() does. */
bool input_ready(input *s, int ms);
/* The next picture of this worker. At the end error says why it is early. */
input_picture input_next(input *s);
/* What was left out so far. */
void input_left(vt_left *out, const input *s);
/* At the end: how many pictures all workers have, a hash of their names, and a
 * sample of this worker's, or of the archives. */
void input_whole(struct vt_manifest *into, const input *s);
void input_close(input *s);

#endif
