/*
 * dataset_hash.c - whether two folders have the same pictures.
 */
#include "base/memory.h"
#include "data/dataset_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES 64 /* whose contents are read */
#define FILE_MOST ((size_t)1 << 30)

/* Adds the kind, the classes, and each picture's label and name. */
static void hash_names(vt_sha256_state *s, const vt_dataset *d)
{
    char number[16];

    vt_sha256_text(s, d->kind);
    for (size_t i = 0; i < d->classes; i++)
        vt_sha256_text(s, d->name[i]);
    for (uint32_t i = 0; i < d->count; i++) {
        const char *name = vt_dataset_name(d, i);

        snprintf(number, sizeof number, "%" PRIu32, d->label[i]);
        vt_sha256_text(s, number);
        if (name)
            vt_sha256_text(s, name);
    }
}

void vt_dataset_hash_sizes(vt_sha256_state *s, const vt_dataset *d)
{
    struct stat file;

    hash_names(s, d);
    for (uint32_t i = 0; d->path && i < d->count; i++) {
        const uint64_t size =
            stat(d->path[i], &file) == 0 ? (uint64_t)file.st_size : 0;

        vt_sha256_add(s, &size, sizeof size);
    }
}

static vitcl_status hash_files(vt_sha256_state *s, const vt_dataset *d)
{
    const size_t n = VT_MIN(d->count, FILES);
    vt_file f = {0};

    for (size_t i = 0; i < n; i++) {
        VT_RET(vt_file_read(&f, d->path[i * d->count / n], FILE_MOST));
        vt_sha256_add(s, &f.size, sizeof f.size);
        vt_sha256_add(s, f.data, f.size);
        vt_file_close(&f);
    }
    return VITCL_OK;
}

vitcl_status vt_dataset_hash(char out[65], const vt_dataset *d)
{
    vt_sha256_state s;

    vt_sha256_begin(&s);
    hash_names(&s, d);
    for (size_t i = 0; i < d->part_count; i++)
        vt_sha256_add(&s, d->parts[i].file.data, d->parts[i].file.size);
    if (d->path)
        VT_RET(hash_files(&s, d));
    vt_sha256_end_hex(&s, out);
    return VITCL_OK;
}
