/*
 * archive.h - a zip file, read defensively: for host/weights only. .npz and
 * PyTorch files are zip files.
 *
 * libzip reads; this layer adds what a hostile file needs: limits on the number
 * of entries, on the compression ratio of each entry and on the total, no
 * encryption, no method but stored and deflate, no ".." in names, and the CRC
 * is always checked.
 */
#ifndef VT_WEIGHTS_ARCHIVE_H
#define VT_WEIGHTS_ARCHIVE_H
#include "weights/reader.h"

typedef struct vt_archive vt_archive;

/* The input's bytes or file are borrowed. */
vitcl_status vt_archive_open(vt_archive **out, const vt_reader_input *in);
size_t vt_archive_count(const vt_archive *a);
const char *vt_archive_name(const vt_archive *a, size_t index);
/* false: no such entry. */
bool vt_archive_find(size_t *index, const vt_archive *a, const char *name);
/* Reads the whole entry into new memory, freed by the caller. */
vitcl_status vt_archive_read(uint8_t **out, size_t *size, vt_archive *a,
                             size_t index);
void vt_archive_free(vt_archive *a);

/* Are these bytes a zip file, and does its first entry's name end so? */
bool vt_is_zip(const uint8_t *bytes, size_t size);
bool vt_zip_starts_with(const uint8_t *bytes, size_t size, const char *ending);

#endif
