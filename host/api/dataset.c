/*
 * dataset.c - public datasets: labelled pictures, and what is said of them.
 */
#include "api/dataset.h"

#include "api/handles.h"
#include "api/program.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "data/shared.h"

#include <string.h>

vitcl_status vitcl_dataset_open(vitcl_dataset **out, const char *path,
                                const vitcl_dataset_options *options)
{
    vitcl_status st = VITCL_OK;
    vitcl_dataset_options o;
    vitcl_dataset *d = NULL;

    if (!out || !path)
        return vt_fail(VITCL_EINVAL, "a dataset needs a path");
    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_dataset_options"));
    VT_TRY(VT_NEW(&d, 1));
    VT_TRY(vt_dataset_open(&d->d, path,
                           &(vt_dataset_options){.split = o.split,
                                                 .columns = o.columns,
                                                 .follow = o.follow != 0}));
    *out = d, d = NULL;
done:
    vitcl_dataset_free(d);
    return st;
}

const char *vt_dataset_note(const vitcl_dataset *dataset)
{
    return vt_dataset_remark(dataset->d);
}

static void put_field(FILE *f, const char *text)
{
    fprintf(f, "%s%c", text ? text : "", 0);
}

vitcl_status vt_dataset_list(FILE *f, const char *path, bool training,
                             bool follow, const char *columns)
{
    vitcl_status st;
    vt_dataset *d = NULL;

    VT_TRY(vt_dataset_open(&d, path,
                           &(vt_dataset_options){.training = training,
                                                 .follow = follow,
                                                 .columns = columns}));
    put_field(f, vt_dataset_kind(d));
    put_field(f, vt_dataset_remark(d));
    fprintf(f, "%u%c", vt_dataset_classes(d), 0);
    for (uint32_t i = 0; i < vt_dataset_classes(d); i++)
        put_field(f, vt_dataset_class(d, i));
    fprintf(f, "%u%c", vt_dataset_count(d), 0);
    for (uint32_t i = 0; i < vt_dataset_count(d); i++) {
        fprintf(f, "%u%c", vt_dataset_label(d, i), 0);
        put_field(f, vt_dataset_path(d, i));
    }
done:
    vt_dataset_free(d);
    return st;
}

void vitcl_dataset_free(vitcl_dataset *dataset)
{
    if (!dataset)
        return;
    vt_dataset_free(dataset->d);
    vt_labels_free(dataset->labels);
    free(dataset);
}

/* const is cast away for the counter only. */
vitcl_status vt_dataset_enter(const vitcl_dataset *dataset, bool change)
{
    atomic_int *calls = &((vitcl_dataset *)(uintptr_t)dataset)->calls;
    int n = atomic_load(calls);

    do
        if (n < 0 || (change && n > 0))
            return vt_in_use("vitcl_dataset", "dataset");
    while (!atomic_compare_exchange_weak(calls, &n, change ? -1 : n + 1));
    return VITCL_OK;
}

void vt_dataset_leave(const vitcl_dataset *dataset, bool change)
{
    atomic_fetch_add(&((vitcl_dataset *)(uintptr_t)dataset)->calls,
                     change ? 1 : -1);
}

static vitcl_status hash_file(char out[65], const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_file file = {0};
    uint8_t hash[32];

    VT_TRY(vt_file_read(&file, path, (size_t)1 << 30));
    vt_sha256(file.data, file.size, hash);
    vt_sha256_hex(out, hash);
done:
    vt_file_close(&file);
    return st;
}

vitcl_status vt_dataset_add_labels(vitcl_dataset *dataset, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_labels *labels = NULL;

    if (vt_dataset_enter(dataset, true) != VITCL_OK)
        return VITCL_EBUSY;
    VT_TRY(vt_labels_load(&labels, path, dataset->d));
    VT_TRY(hash_file(dataset->labels_hash, path));
    vt_labels_free(dataset->labels);
    dataset->labels = labels, labels = NULL;
done:
    vt_dataset_leave(dataset, true);
    vt_labels_free(labels);
    return st;
}

vitcl_status vt_dataset_use_numbers(vitcl_dataset *dataset)
{
    if (vt_dataset_enter(dataset, true) != VITCL_OK)
        return VITCL_EBUSY;
    dataset->by_number = true;
    vt_dataset_leave(dataset, true);
    return VITCL_OK;
}

vitcl_status vt_dataset_set_strict(vitcl_dataset *dataset, bool strict,
                                   vitcl_log report, void *context)
{
    if (vt_dataset_enter(dataset, true) != VITCL_OK)
        return VITCL_EBUSY;
    dataset->strict = strict;
    dataset->broken = report;
    dataset->broken_context = context;
    vt_dataset_leave(dataset, true);
    return VITCL_OK;
}

uint32_t vitcl_dataset_pictures(const vitcl_dataset *dataset)
{
    return dataset ? vt_dataset_count(dataset->d) : 0;
}

uint32_t vitcl_dataset_classes(const vitcl_dataset *dataset)
{
    return dataset ? vt_dataset_classes(dataset->d) : 0;
}

const char *vitcl_dataset_class(const vitcl_dataset *dataset, uint32_t index)
{
    return dataset ? vt_dataset_class(dataset->d, index) : NULL;
}

vitcl_status vt_dataset_overlap(uint32_t *out, const char **name,
                                const vitcl_dataset *dataset,
                                const vitcl_dataset *other)
{
    vt_shared s = {0};
    vitcl_status st;

    if (vt_dataset_enter(dataset, false) != VITCL_OK)
        return VITCL_EBUSY;
    if ((st = vt_dataset_enter(other, false)) == VITCL_OK) {
        st = vt_dataset_shared(&s, other->d, dataset->d, VT_SHARED_MOST);
        vt_dataset_leave(other, false);
    }
    vt_dataset_leave(dataset, false);
    if (st == VITCL_OK)
        *out = s.count, *name = s.name;
    return st;
}

vitcl_status vt_dataset_identity(char out[65], const vitcl_dataset *dataset)
{
    const char *labels;
    vt_sha256_state s;

    if (vt_dataset_enter(dataset, false) != VITCL_OK)
        return VITCL_EBUSY;
    labels = dataset->labels ? dataset->labels_hash : "";
    vt_sha256_begin(&s);
    vt_dataset_hash_sizes(&s, dataset->d);
    vt_sha256_text(&s, labels);
    vt_dataset_leave(dataset, false);
    vt_sha256_end_hex(&s, out);
    return VITCL_OK;
}

const char *vt_dataset_format(const vitcl_dataset *dataset)
{
    return vt_dataset_kind(dataset->d);
}
