/*
 * dataset.c - detect a folder's format and read its labelled pictures.
 *
 * Files of fixed-size records are read whole (CIFAR-10's training part is 150
 * MB). Of class folders only the paths are read.
 */
#include "data/dataset.h"

#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Limit for a file of records; even Infinite MNIST is smaller. */
#define FILE_MAX_BYTES ((size_t)2 << 30)
#define CIFAR_SIDE 32
#define CIFAR_PIXELS (3 * CIFAR_SIDE * CIFAR_SIDE)

typedef struct part {
    vt_file file;
    size_t first, records; /* first: its offset in bytes */
} part;

struct vt_dataset {
    char kind[16];
    char **path; /* class folders: [count] */
    uint32_t *label;
    size_t count, path_cap, label_cap;
    char **name; /* classes */
    size_t classes, name_cap;
    part parts[8];
    size_t part_count;
    size_t record, header; /* bytes a record, and of its labels */
    uint32_t side_h, side_w;
};

void vt_dataset_free(vt_dataset *d)
{
    if (!d)
        return;
    for (size_t i = 0; d->path && i < d->count; i++)
        free(d->path[i]);
    for (size_t i = 0; i < d->classes; i++)
        free(d->name[i]);
    for (size_t i = 0; i < d->part_count; i++)
        vt_file_close(&d->parts[i].file);
    free(d->path);
    free(d->label);
    free(d->name);
    free(d);
}

uint32_t vt_dataset_count(const vt_dataset *d)
{
    return (uint32_t)d->count;
}

uint32_t vt_dataset_classes(const vt_dataset *d)
{
    return (uint32_t)d->classes;
}

const char *vt_dataset_class(const vt_dataset *d, uint32_t index)
{
    return index < d->classes ? d->name[index] : NULL;
}

const char *vt_dataset_kind(const vt_dataset *d)
{
    return d->kind;
}

uint32_t vt_dataset_label(const vt_dataset *d, uint32_t index)
{
    return d->label[index];
}

const char *vt_dataset_path(const vt_dataset *d, uint32_t index)
{
    return d->path ? d->path[index] : NULL;
}

static vitcl_status add_class(vt_dataset *d, const char *name)
{
    vitcl_status st;

    VT_TRY(vt_grow(&d->name, &d->name_cap, d->classes + 1, sizeof *d->name));
    VT_TRY(vt_strdup(&d->name[d->classes], name));
    d->classes++;
done:
    return st;
}

static vitcl_status add_label(vt_dataset *d, uint32_t label)
{
    vitcl_status st;

    VT_TRY(vt_grow(&d->label, &d->label_cap, d->count + 1, sizeof *d->label));
    d->label[d->count++] = label;
done:
    return st;
}

/* ---- class folders ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct names {
    char **name;
    size_t count, cap;
} names;

static void free_names(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

/* Sorted entries of a folder; hidden ones are left out. */
static vitcl_status list(names *out, const char *path, bool folders)
{
    vitcl_status st = VITCL_OK;
    DIR *dir = opendir(path);
    char *full = NULL;

    if (!dir)
        return vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        VT_TRY(vt_format(&full, "%s/%s", path, e->d_name));
        bool keep = vt_path_is_folder(full) == folders;
        free(full), full = NULL;
        if (!keep)
            continue;
        VT_TRY(
            vt_grow(&out->name, &out->cap, out->count + 1, sizeof *out->name));
        VT_TRY(vt_strdup(&out->name[out->count], e->d_name));
        out->count++;
    }
    if (out->count > 1)
        qsort(out->name, out->count, sizeof *out->name, by_name);
done:
    closedir(dir);
    return st;
}

static vitcl_status add_folder(vt_dataset *d, const char *root,
                               const char *class_name)
{
    vitcl_status st = VITCL_OK;
    names files = {0};
    char *folder = NULL;

    VT_TRY(add_class(d, class_name));
    VT_TRY(vt_format(&folder, "%s/%s", root, class_name));
    VT_TRY(list(&files, folder, false));
    for (size_t i = 0; i < files.count; i++) {
        VT_TRY(vt_grow(&d->path, &d->path_cap, d->count + 1, sizeof *d->path));
        VT_TRY(vt_format(&d->path[d->count], "%s/%s", folder, files.name[i]));
        st = add_label(d, (uint32_t)d->classes - 1);
        if (st != VITCL_OK)
            free(d->path[d->count]);
        VT_TRY(st);
    }
done:
    free_names(&files);
    free(folder);
    return st;
}

static vitcl_status open_folders(vt_dataset *d, const char *path,
                                 const char *split)
{
    vitcl_status st = VITCL_OK;
    names classes = {0};
    char *root = NULL;

    VT_TRY(
        vt_format(&root, "%s%s%s", path, split ? "/" : "", split ? split : ""));
    if (split && !vt_path_is_folder(root)) {
        st = vt_fail(VITCL_EIO, "%s: no folder '%s' in it", path, split);
        goto done;
    }
    VT_TRY(list(&classes, root, true));
    for (size_t i = 0; i < classes.count; i++)
        VT_TRY(add_folder(d, root, classes.name[i]));
    if (d->count == 0)
        st = vt_fail(VITCL_EIO,
                     "%s: contains neither class folders with pictures nor "
                     "CIFAR or MNIST files",
                     root);
    snprintf(d->kind, sizeof d->kind, "folders");
done:
    free_names(&classes);
    free(root);
    return st;
}

/* ---- CIFAR ---- */

static vitcl_status add_part(vt_dataset *d, const char *path, const char *file)
{
    vitcl_status st = VITCL_OK;
    part *p = &d->parts[d->part_count];
    char *full = NULL;

    VT_TRY(vt_format(&full, "%s/%s", path, file));
    VT_TRY(vt_file_read(&p->file, full, FILE_MAX_BYTES));
    d->part_count++;
    if (p->file.size == 0 || p->file.size % d->record != 0) {
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: %zu bytes is not a multiple of the record size %zu; "
                     "is the file complete?",
                     full, p->file.size, d->record);
        goto done;
    }
    p->records = p->file.size / d->record;
    for (size_t i = 0; i < p->records; i++) {
        /* CIFAR-100's first label is the coarse one. */
        uint8_t label = p->file.data[i * d->record + d->header - 1];

        if (label >= d->classes) {
            st = vt_fail(VITCL_ECORRUPT,
                         "%s: record %zu has label %u, but labels end at %zu",
                         full, i, label, d->classes - 1);
            goto done;
        }
        VT_TRY(add_label(d, label));
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
        VT_TRY(add_class(d, word));
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
    vitcl_status st = VITCL_OK;
    bool train = split && strcmp(split, "train") == 0;
    char file[32];

    if (split && !train && strcmp(split, "test") != 0)
        return wrong_split(path, split);
    d->header = hundred ? 2 : 1;
    d->record = d->header + CIFAR_PIXELS;
    d->side_h = d->side_w = CIFAR_SIDE;
    snprintf(d->kind, sizeof d->kind, hundred ? "cifar100" : "cifar10");
    VT_TRY(read_names(d, path,
                      hundred ? "fine_label_names.txt" : "batches.meta.txt",
                      hundred ? 100 : 10));
    if (hundred)
        return add_part(d, path, train ? "train.bin" : "test.bin");
    for (int i = 1; train && i <= 5; i++) {
        snprintf(file, sizeof file, "data_batch_%d.bin", i);
        VT_TRY(add_part(d, path, file));
    }
    if (!train)
        VT_TRY(add_part(d, path, "test_batch.bin"));
done:
    return st;
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
    part *p = &d->parts[0];
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
        d->side_w == 0 || d->side_h > 4096 || d->side_w > 4096) {
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: picture count differs from the labels', or a side is "
                     "not 1 to 4096",
                     images);
        goto done;
    }
    d->record = (size_t)d->side_h * d->side_w;
    p->first = 16;
    p->records = count;
    for (size_t i = 0; i < count; i++) {
        while (d->classes <= f.data[8 + i]) {
            snprintf(number, sizeof number, "%zu", d->classes);
            VT_TRY(add_class(d, number));
        }
        VT_TRY(add_label(d, f.data[8 + i]));
    }
done:
    vt_file_close(&f);
    free(images);
    free(labels);
    return st;
}

/* ---- all formats ---- */

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

vitcl_status vt_dataset_open(vt_dataset **out, const char *path,
                             const char *split)
{
    vitcl_status st = VITCL_OK;
    vt_dataset *d = NULL;

    if (!vt_path_is_folder(path))
        return vt_fail(VITCL_EIO, "%s: no such folder", path);
    VT_TRY(VT_NEW(&d, 1));
    if (is_cifar10(path))
        st = open_cifar(d, path, split, false);
    else if (is_cifar100(path))
        st = open_cifar(d, path, split, true);
    else if (is_mnist(path))
        st = open_mnist(d, path, split);
    else
        st = open_folders(d, path, split);
    VT_TRY(st);
    if (d->count > UINT32_MAX / 2) {
        st = vt_fail(VITCL_EUNSUPPORTED, "%s: too many pictures", path);
        goto done;
    }
    *out = d, d = NULL;
done:
    vt_dataset_free(d);
    return st;
}

vitcl_status vt_dataset_open_training(vt_dataset **out, const char *path)
{
    vitcl_status st = VITCL_OK;
    char *train = NULL;
    bool parts;

    VT_TRY(vt_format(&train, "%s/train", path));
    parts = is_cifar10(path) || is_cifar100(path) || is_mnist(path) ||
            vt_path_is_folder(train);
    VT_TRY(vt_dataset_open(out, path, parts ? "train" : NULL));
done:
    free(train);
    return st;
}

vitcl_status vt_dataset_picture(vt_picture *out, const vt_dataset *d,
                                uint32_t index)
{
    vitcl_status st = VITCL_OK;
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
    VT_TRY(vt_new(&p.rgb, plane, 3));
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            p.rgb[i * 3 + c] = from[colours == 3 ? c * plane + i : i];
    *out = p;
done:
    return st;
}
