/*
 * records.c - CIFAR's and MNIST's own files: labelled pictures in records of a
 * fixed size.
 *
 * Such files are read whole (CIFAR-10's training part is 150 MB).
 */
#include "base/memory.h"
#include "data/dataset_private.h"

#include <stdio.h>
#include <string.h>

/* Limit for a file of records; even Infinite MNIST is smaller. */
#define FILE_MAX_BYTES ((size_t)2 << 30)
#define CIFAR_SIDE 32
#define CIFAR_PIXELS (3 * CIFAR_SIDE * CIFAR_SIDE)

/* ---- CIFAR ---- */

static vitcl_status add_part(vt_dataset *d, const char *path, const char *file)
{
    vitcl_status st = VITCL_OK;
    vt_dataset_part *p = &d->parts[d->part_count];
    char *full = NULL;

    VT_TRY(vt_format(&full, "%s/%s", path, file));
    VT_TRY(vt_file_read(&p->file, full, FILE_MAX_BYTES));
    d->part_count++;
    if (p->file.size == 0 || p->file.size % d->record != 0)
        VT_TRY(
            vt_fail(VITCL_ECORRUPT,
                    "%s: %zu bytes is not a multiple of the record size %zu; "
                    "is the file complete?",
                    full, p->file.size, d->record));
    p->records = p->file.size / d->record;
    for (size_t i = 0; i < p->records; i++) {
        /* CIFAR-100's first label is the coarse one. */
        uint8_t label = p->file.data[i * d->record + d->header - 1];

        if (label >= d->classes)
            VT_TRY(vt_fail(VITCL_ECORRUPT,
                           "%s: record %zu has label %u, but labels end at %zu",
                           full, i, label, d->classes - 1));
        VT_TRY(vt_dataset_add_label(d, label));
    }
done:
    free(full);
    return st;
}

/* Class names come from a text file in the same folder, one a line; without it
 * they are numbers. */
static vitcl_status read_names(vt_dataset *d, const char *path,
                               const char *file, size_t classes)
{
    vitcl_status st = VITCL_OK;
    vt_file f = {0};
    char *full = NULL;
    size_t at = 0;

    VT_TRY(vt_format(&full, "%s/%s", path, file));
    if (vt_path_exists(full))
        VT_TRY(vt_file_read(&f, full, 1 << 16));
    while (d->classes < classes) {
        char word[64] = "";
        size_t n = 0;

        snprintf(word, sizeof word, "%zu", d->classes);
        for (; f.data && at < f.size && f.data[at] != '\n'; at++)
            if (n + 1 < sizeof word && f.data[at] >= ' ')
                word[n++] = (char)f.data[at], word[n] = 0;
        at++;
        if (f.data && !n)
            break;
        VT_TRY(vt_dataset_add_class(d, word));
    }
    while (f.data && at < f.size && f.data[at] <= ' ')
        at++;
    if (d->classes < classes || at < f.size)
        st = vt_fail(VITCL_ECORRUPT, "%s: must name %zu classes, but names %s",
                     full, classes, d->classes < classes ? "fewer" : "more");
done:
    vt_file_close(&f);
    free(full);
    return st;
}

static bool has(const char *path, const char *file)
{
    char *full = NULL;
    bool yes = vt_format(&full, "%s/%s", path, file) == VITCL_OK &&
               vt_path_exists(full);

    free(full);
    return yes;
}

static vitcl_status wrong_split(const char *path, const char *split)
{
    return vt_fail(VITCL_EINVAL,
                   "%s: its splits are 'train' and 'test', not '%s'", path,
                   split);
}

static vitcl_status open_cifar(vt_dataset *d, const char *path,
                               const char *split, bool hundred)
{
    bool train = split && strcmp(split, "train") == 0;
    char file[32];

    if (split && !train && strcmp(split, "test") != 0)
        return wrong_split(path, split);
    d->header = hundred ? 2 : 1;
    d->record = d->header + CIFAR_PIXELS;
    d->side_h = d->side_w = CIFAR_SIDE;
    snprintf(d->kind, sizeof d->kind, hundred ? "cifar100" : "cifar10");
    VT_RET(read_names(d, path,
                      hundred ? "fine_label_names.txt" : "batches.meta.txt",
                      hundred ? 100 : 10));
    if (hundred)
        return add_part(d, path, train ? "train.bin" : "test.bin");
    for (int i = 1; train && i <= 5; i++) {
        snprintf(file, sizeof file, "data_batch_%d.bin", i);
        VT_RET(add_part(d, path, file));
    }
    if (!train)
        VT_RET(add_part(d, path, "test_batch.bin"));
    return VITCL_OK;
}

/* ---- MNIST ---- */

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static vitcl_status check_idx(const vt_file *f, const char *path, uint32_t rank)
{
    size_t need = 4 + 4 * (size_t)rank, count = 1;

    if (f->size < need || big_endian(f->data) != 0x800 + rank)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: not an idx file of bytes with rank %u", path, rank);
    for (uint32_t i = 0; i < rank; i++)
        if (!vt_mul(&count, count, big_endian(f->data + 4 + 4 * i)))
            return vt_fail(VITCL_ECORRUPT, "%s: its dimensions are too large",
                           path);
    if (f->size - need != count)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: has %zu bytes of data, but its header says %zu",
                       path, f->size - need, count);
    return VITCL_OK;
}

static vitcl_status open_mnist(vt_dataset *d, const char *path,
                               const char *split)
{
    vitcl_status st = VITCL_OK;
    bool train = split && strcmp(split, "train") == 0;
    const char *stem = train ? "train" : "t10k";
    char *images = NULL, *labels = NULL, number[16];
    vt_dataset_part *p = &d->parts[0];
    vt_file f = {0};
    size_t count;

    if (split && !train && strcmp(split, "test") != 0)
        return wrong_split(path, split);
    snprintf(d->kind, sizeof d->kind, "mnist");
    VT_TRY(vt_format(&images, "%s/%s-images-idx3-ubyte", path, stem));
    VT_TRY(vt_format(&labels, "%s/%s-labels-idx1-ubyte", path, stem));
    VT_TRY(vt_file_read(&p->file, images, FILE_MAX_BYTES));
    d->part_count = 1;
    VT_TRY(check_idx(&p->file, images, 3));
    VT_TRY(vt_file_read(&f, labels, FILE_MAX_BYTES));
    VT_TRY(check_idx(&f, labels, 1));
    count = big_endian(f.data + 4);
    d->side_h = big_endian(p->file.data + 8);
    d->side_w = big_endian(p->file.data + 12);
    if (count != big_endian(p->file.data + 4) || d->side_h == 0 ||
        d->side_w == 0 || d->side_h > 4096 || d->side_w > 4096)
        VT_TRY(
            vt_fail(VITCL_ECORRUPT,
                    "%s: picture count differs from the labels', or a side is "
                    "not 1 to 4096",
                    images));
    if (count == 0)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: contains no pictures", images));
    d->record = (size_t)d->side_h * d->side_w;
    p->first = 16;
    p->records = count;
    for (size_t i = 0; i < count; i++) {
        while (d->classes <= f.data[8 + i]) {
            snprintf(number, sizeof number, "%zu", d->classes);
            VT_TRY(vt_dataset_add_class(d, number));
        }
        VT_TRY(vt_dataset_add_label(d, f.data[8 + i]));
    }
done:
    vt_file_close(&f);
    free(images);
    free(labels);
    return st;
}

/* ---- both ---- */

static bool is_cifar10(const char *path)
{
    return has(path, "test_batch.bin") || has(path, "data_batch_1.bin");
}

static bool is_cifar100(const char *path)
{
    return has(path, "train.bin") || has(path, "test.bin");
}

static bool is_mnist(const char *path)
{
    return has(path, "t10k-images-idx3-ubyte") ||
           has(path, "train-images-idx3-ubyte");
}

vitcl_status vt_records_open(bool *records, vt_dataset *d, const char *path,
                             const char *split)
{
    *records = true;
    if (is_cifar10(path))
        return open_cifar(d, path, split, false);
    if (is_cifar100(path))
        return open_cifar(d, path, split, true);
    if (is_mnist(path))
        return open_mnist(d, path, split);
    *records = false;
    return VITCL_OK;
}

vitcl_status vt_dataset_picture(vt_picture *out, const vt_dataset *d,
                                uint32_t index)
{
    vt_picture p = {d->side_w, d->side_h, NULL};
    size_t at = index, k = 0, plane;
    const uint8_t *from;
    int colours;

    if (index >= d->count)
        return vt_fail(VITCL_EINVAL, "no picture %u: the data has %zu", index,
                       d->count);
    if (d->path)
        return vt_fail(VITCL_EINVAL,
                       "%s: files must be decoded by the decoder process",
                       d->path[index]);
    while (at >= d->parts[k].records)
        at -= d->parts[k++].records;
    from =
        d->parts[k].file.data + d->parts[k].first + at * d->record + d->header;
    plane = (size_t)p.width * p.height;
    colours = d->header ? 3 : 1; /* CIFAR: planes; MNIST: grey */
    VT_RET(vt_new(&p.rgb, plane, 3));
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            p.rgb[i * 3 + c] = from[colours == 3 ? c * plane + i : i];
    *out = p;
    return VITCL_OK;
}
