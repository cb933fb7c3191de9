/*
 * archive.h - a zip file, read with suspicion: for host/weights
 * alone. .npz and PyTorch files are zip files.
 *
 * libzip reads; this adds what a hostile file needs: ceilings on the number
 * of entries, on each entry's ratio and on the total, no encryption, no
 * method but stored and deflate, no ".." in names, CRC always checked.
 */
#ifndef VT_WEIGHTS_ARCHIVE_H
#define VT_WEIGHTS_ARCHIVE_H
#include "weights/reader.h"

typedef struct vt_archive vt_archive;

/* The input's bytes or file stay borrowed. */
vitcl_status vt_archive_open(vt_archive **out, const vt_input *in);
size_t vt_archive_count(const vt_archive *a);
const char *vt_archive_name(const vt_archive *a, size_t index);
/* false: no such entry. */
bool vt_archive_find(size_t *index, const vt_archive *a, const char *name);
/* The whole entry in memory of the caller's (free()). */
vitcl_status vt_archive_read(uint8_t **out, size_t *size, vt_archive *a,
                             size_t index);
void vt_archive_free(vt_archive *a);

/* Whether bytes are a zip file, and whether its first entry's name ends so. */
bool vt_is_zip(const uint8_t *bytes, size_t size);
bool vt_zip_starts_with(const uint8_t *bytes, size_t size, const char *ending);

#endif
