/*
 * subset.c - folders with a part of the data, as many pictures of each class as
 * possible, evenly spaced. Records are written as such files again, and of
 * picture files there are links, of a table's with a table beside them.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "study/private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 32, LEAST_FILES = 5 };
#define TABLE "pictures.csv"

/* Data without test pictures of its own: one in five of each class. */
typedef enum { ALL, ALL_BUT_A_FIFTH, A_FIFTH } share;

typedef struct part {
    vt_dataset *d;
    uint32_t *index; /* chosen */
    uint32_t count;
} part;

static bool in_share(share s, uint32_t nth)
{
    return s == ALL || (nth % 5 == 4) == (s == A_FIFTH);
}

/* The pictures of each class in this share. */
static vitcl_status count_classes(uint32_t **out, const vt_dataset *d, share s)
{
    vitcl_status st = VITCL_OK;
    const size_t classes = (size_t)vt_dataset_classes(d) + 1;
    uint32_t *seen = NULL, *count = NULL;

    VT_TRY(VT_NEW(&count, classes));
    VT_TRY(VT_NEW(&seen, classes));
    for (uint32_t i = 0; i < vt_dataset_count(d); i++) {
        const uint32_t label = vt_dataset_label(d, i);

        count[label] += in_share(s, seen[label]++);
    }
    *out = count;
done:
    free(seen);
    if (st != VITCL_OK)
        free(count);
    return st;
}

/* `of`: the classes from..to-1. */
typedef struct span {
    uint32_t from, to;
} span;

static span span_of(const vt_experiment *e, const vt_dataset *d,
                    vt_class_part of)
{
    const uint32_t first = vt_study_part_classes(e, VT_CLASSES_FIRST);
    span s = {0, vt_dataset_classes(d)};

    if (of == VT_CLASSES_FIRST)
        s.to = first;
    else if (of == VT_CLASSES_REST)
        s.from = first;
    return s;
}

static vitcl_status count_part(uint32_t *out, const vt_dataset *d, share s,
                               span of)
{
    vitcl_status st;
    uint32_t *count = NULL;

    VT_TRY(count_classes(&count, d, s));
    *out = 0;
    for (uint32_t c = of.from; c < of.to; c++)
        *out += count[c];
done:
    free(count);
    return st;
}

/* Classes with more than `each` pictures give so many, the first `more` of them
 * one more, and the others all that they have. */
typedef struct quotas {
    uint32_t each, more;
} quotas;

/* What small classes lack comes from the larger ones. */
static quotas quotas_of(const uint32_t *count, span of, uint32_t wanted)
{
    quotas q = {.more = wanted};

    for (;;) {
        uint32_t larger = 0, step = UINT32_MAX;

        for (uint32_t c = of.from; c < of.to; c++)
            if (count[c] > q.each)
                larger++, step = VT_MIN(step, count[c] - q.each);
        if (q.more < larger || larger == 0)
            return q;
        step = VT_MIN(step, q.more / larger);
        q.each += step, q.more -= step * larger;
    }
}

static void fill_quotas(uint32_t *quota, const uint32_t *count, span of,
                        uint32_t wanted)
{
    quotas q = quotas_of(count, of, wanted);

    for (uint32_t c = of.from; c < of.to; c++) {
        quota[c] = VT_MIN(count[c], q.each);
        if (count[c] > q.each && q.more > 0)
            quota[c]++, q.more--;
    }
}

static vitcl_status choose(part *p, uint32_t wanted, share s, span of)
{
    vitcl_status st = VITCL_OK;
    const uint32_t classes = vt_dataset_classes(p->d);
    uint32_t *count = NULL, *seen = NULL, *used = NULL, *quota = NULL;

    VT_TRY(count_classes(&count, p->d, s));
    VT_TRY(VT_NEW(&seen, (size_t)classes + 1));
    VT_TRY(VT_NEW(&used, (size_t)classes + 1));
    VT_TRY(VT_NEW(&quota, (size_t)classes + 1));
    fill_quotas(quota, count, of, wanted);
    VT_TRY(VT_NEW(&p->index, (size_t)vt_dataset_count(p->d) + 1));
    for (uint32_t i = 0; i < vt_dataset_count(p->d); i++) {
        const uint32_t c = vt_dataset_label(p->d, i);
        const uint64_t nth = used[c];

        if (c < of.from || c >= of.to || !in_share(s, seen[c]++))
            continue;
        used[c]++;
        if ((nth + 1) * quota[c] / count[c] > nth * quota[c] / count[c])
            p->index[p->count++] = i;
    }
done:
    free(count);
    free(seen);
    free(used);
    free(quota);
    return st;
}

/* ---- records ---- */

static vitcl_status open_file(vt_newfile *out, const char *folder,
                              const char *name)
{
    char path[VT_STUDY_PATH + 64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return vt_newfile_open(out, path);
}

/* Pixels of one colour, or all of a grey picture. */
static void put_plane(FILE *f, const vt_picture *p, size_t colour)
{
    for (size_t i = 0; i < (size_t)p->width * p->height; i++)
        fputc(p->rgb[3 * i + colour], f);
}

/* Pictures from..to-1 of the part, as CIFAR has them. */
static vitcl_status put_cifar(const part *p, const char *folder,
                              const char *name, uint32_t from, uint32_t to,
                              bool hundred)
{
    vitcl_status st = VITCL_OK;
    vt_picture picture = {0};
    vt_newfile n = {0};

    VT_TRY(open_file(&n, folder, name));
    for (uint32_t i = from; i < to; i++) {
        VT_TRY(vt_dataset_picture(&picture, p->d, p->index[i]));
        if (hundred)
            fputc(0, n.f); /* the coarse label */
        fputc((int)vt_dataset_label(p->d, p->index[i]), n.f);
        for (size_t c = 0; c < 3; c++)
            put_plane(n.f, &picture, c);
        free(picture.rgb);
        picture.rgb = NULL;
    }
    st = vt_newfile_commit(&n);
done:
    vt_newfile_discard(&n);
    free(picture.rgb);
    return st;
}

static vitcl_status put_names(const vt_dataset *d, const char *folder,
                              const char *name)
{
    vt_newfile n = {0};

    VT_RET(open_file(&n, folder, name));
    for (uint32_t i = 0; i < vt_dataset_classes(d); i++)
        fprintf(n.f, "%s\n", vt_dataset_class(d, i));
    return vt_newfile_commit(&n);
}

static void put_number(FILE *f, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        fputc((int)(v >> shift & 255), f);
}

static vitcl_status put_mnist(const part *p, const char *folder,
                              const char *stem)
{
    vitcl_status st = VITCL_OK;
    vt_picture picture = {0};
    vt_newfile n = {0};
    char name[64];

    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", stem);
    VT_TRY(open_file(&n, folder, name));
    put_number(n.f, 0x801);
    put_number(n.f, p->count);
    for (uint32_t i = 0; i < p->count; i++)
        fputc((int)vt_dataset_label(p->d, p->index[i]), n.f);
    VT_TRY(vt_newfile_commit(&n));
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", stem);
    VT_TRY(open_file(&n, folder, name));
    for (uint32_t i = 0; i < p->count; i++) {
        VT_TRY(vt_dataset_picture(&picture, p->d, p->index[i]));
        if (i == 0) {
            put_number(n.f, 0x803);
            put_number(n.f, p->count);
            put_number(n.f, (uint32_t)picture.height);
            put_number(n.f, (uint32_t)picture.width);
        }
        put_plane(n.f, &picture, 0);
        free(picture.rgb);
        picture.rgb = NULL;
    }
    st = vt_newfile_commit(&n);
done:
    vt_newfile_discard(&n);
    free(picture.rgb);
    return st;
}

/* ---- picture files ---- */

/* table: NULL, or where the labels are written: any text, not fit to be the
 * name of a folder. */
static vitcl_status put_links(const part *p, const char *folder,
                              const char *split, FILE *table)
{
    vitcl_status st = VITCL_OK;
    char *into = NULL, *path = NULL;

    VT_TRY(vt_format(&into, "%s/%s", folder, split));
    VT_TRY(vt_study_folder(into));
    for (uint32_t i = 0; i < p->count; i++) {
        const char *from = vt_dataset_path(p->d, p->index[i]);
        const char *class =
            vt_dataset_class(p->d, vt_dataset_label(p->d, p->index[i]));

        free(into), into = NULL;
        free(path), path = NULL;
        VT_TRY(vt_format(&into, "%s/%s%s%s", folder, split, table ? "" : "/",
                         table ? "" : class));
        VT_TRY(vt_study_folder(into));
        VT_TRY(vt_format(&path, "%s/%06u-%s", into, p->index[i],
                         vt_path_name(from)));
        if (symlink(from, path) != 0 && errno != EEXIST)
            VT_TRY(vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno)));
        if (!table)
            continue;
        vt_csv_put(table, path + strlen(folder) + 1, VT_CSV_PATH, false);
        fputc(',', table);
        vt_csv_put(table, class, VT_CSV_TEXT, false);
        fprintf(table, ",%s\n", split);
    }
done:
    free(into);
    free(path);
    return st;
}

static vitcl_status put_table(const part *train, const part *test,
                              const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_newfile n = {0};

    VT_TRY(open_file(&n, folder, TABLE));
    fputs("path,label,split\n", n.f);
    VT_TRY(put_links(train, folder, "train", n.f));
    VT_TRY(put_links(test, folder, "test", n.f));
    VT_TRY(vt_newfile_commit(&n));
done:
    vt_newfile_discard(&n);
    return st;
}

/* ---- a folder ---- */

static vitcl_status write_parts(const part *train, const part *test,
                                const char *folder)
{
    const char *kind = vt_dataset_kind(train->d);
    const bool hundred = strcmp(kind, "cifar100") == 0;

    if (strcmp(kind, "table") == 0)
        return put_table(train, test, folder);
    if (strcmp(kind, "folders") == 0) {
        VT_RET(put_links(train, folder, "train", NULL));
        return put_links(test, folder, "test", NULL);
    }
    if (strcmp(kind, "mnist") == 0) {
        VT_RET(put_mnist(train, folder, "train"));
        return put_mnist(test, folder, "t10k");
    }
    VT_RET(put_names(train->d, folder,
                     hundred ? "fine_label_names.txt" : "batches.meta.txt"));
    VT_RET(put_cifar(test, folder, hundred ? "test.bin" : "test_batch.bin", 0,
                     test->count, hundred));
    if (hundred)
        return put_cifar(train, folder, "train.bin", 0, train->count, true);
    for (uint32_t i = 0; i < LEAST_FILES; i++) {
        char name[32];

        snprintf(name, sizeof name, "data_batch_%u.bin", i + 1);
        VT_RET(put_cifar(train, folder, name, train->count * i / LEAST_FILES,
                         train->count * (i + 1) / LEAST_FILES, false));
    }
    return VITCL_OK;
}

/* Opens the data; without test pictures of its own both are the same. */
static vitcl_status open_both(part *train, part *test, bool *own,
                              const vt_experiment *e)
{
    vt_dataset_options how = {.training = true,
                              .follow = e->options.follow,
                              .columns = e->options.columns};
    const char *a, *b;

    VT_RET(vt_dataset_open_as(&train->d, e->data, &how));
    how.training = false;
    VT_RET(vt_dataset_open_as(&test->d, e->data, &how));
    *own = true;
    if (vt_dataset_count(train->d) && vt_dataset_count(test->d)) {
        a = vt_dataset_path(train->d, 0), b = vt_dataset_path(test->d, 0);
        *own = !a || !b || strcmp(a, b) != 0;
    }
    return VITCL_OK;
}

static void close_part(part *p)
{
    vt_dataset_free(p->d);
    free(p->index);
}

static void say_left(const vt_experiment *e, const vt_dataset *d)
{
    if (vt_dataset_remark(d) && e->options.say)
        e->options.say(e->options.context, vt_dataset_remark(d));
}

/* As many as anybody trains with. */
static void look_at_drawn(vt_experiment *e)
{
    e->classes = 4, e->all_pictures = 50000, e->all_tests = 10000;
    e->side = SIDE, e->own_tests = true;
    snprintf(e->kind, sizeof e->kind, "drawn");
}

vitcl_status vt_subset_look(vt_experiment *e)
{
    vitcl_status st = VITCL_OK;
    part train = {0}, test = {0};
    vt_picture picture = {0};

    if (e->study->drawn) {
        look_at_drawn(e);
        return VITCL_OK;
    }
    VT_TRY(open_both(&train, &test, &e->own_tests, e));
    say_left(e, train.d);
    if (e->own_tests)
        say_left(e, test.d);
    e->classes = vt_dataset_classes(train.d);
    e->all_pictures = vt_dataset_count(train.d);
    e->all_tests = vt_dataset_count(test.d);
    if (!e->own_tests) {
        VT_TRY(count_part(&e->all_pictures, train.d, ALL_BUT_A_FIFTH,
                          span_of(e, train.d, VT_CLASSES_ALL)));
        e->all_tests -= e->all_pictures;
    }
    VT_TRY(count_part(&e->rest_pictures, train.d,
                      e->own_tests ? ALL : ALL_BUT_A_FIFTH,
                      span_of(e, train.d, VT_CLASSES_REST)));
    snprintf(e->kind, sizeof e->kind, "%s", vt_dataset_kind(train.d));
    e->side = SIDE;
    if (e->classes < 2 || e->all_tests < 1 || e->all_pictures < 5 * e->classes)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: a study needs two classes or more, five training "
                       "pictures of each, and test pictures; here are %u "
                       "class%s, %u training and %u test pictures",
                       e->data, e->classes, e->classes == 1 ? "" : "es",
                       e->all_pictures, e->all_tests));
    if (!vt_dataset_path(train.d, 0)) {
        VT_TRY(vt_dataset_picture(&picture, train.d, 0));
        e->side = picture.width / 4 * 4;
        if (e->side < 8 || picture.width != picture.height)
            e->side = SIDE;
    }
done:
    free(picture.rgb);
    close_part(&train);
    close_part(&test);
    return st;
}

/* Fills a new folder. */
static vitcl_status fill(const char *folder, const vt_experiment *e,
                         vt_class_part of, uint32_t pictures, uint32_t tests)
{
    vitcl_status st;
    part train = {0}, test = {0};
    bool own;

    VT_TRY(open_both(&train, &test, &own, e));
    VT_TRY(choose(&train, pictures, own ? ALL : ALL_BUT_A_FIFTH,
                  span_of(e, train.d, of)));
    VT_TRY(choose(&test, tests, own ? ALL : A_FIFTH, span_of(e, test.d, of)));
    VT_TRY(write_parts(&train, &test, folder));
done:
    close_part(&train);
    close_part(&test);
    return st;
}

vitcl_status vt_subset_make(vt_subset *out, const vt_experiment *e,
                            const vt_run *run, uint32_t pictures,
                            uint32_t tests)
{
    static const char *const parts[] = {"", "-first", "-rest"};
    char name[VT_RUN_NAME], whole[VT_STUDY_PATH];

    *out = (vt_subset){.pictures = pictures, .tests = tests};
    snprintf(name, sizeof name, "%s%s%u-%u%s", run->made ? run->made->name : "",
             run->made ? "-" : "", pictures, tests, parts[run->part]);
    VT_RET(vt_study_path(out->path, e, "data"));
    VT_RET(vt_study_folder(out->path));
    VT_RET(vt_study_path(out->path, e, "data/%s", name));
    VT_RET(vt_study_path(whole, e, "data/%s.whole", name));
    if (!vt_path_exists(whole)) {
        VT_RET(vt_study_folder(out->path));
        if (run->made)
            VT_RET(run->made->write(out->path, pictures, tests));
        else
            VT_RET(fill(out->path, e, run->part, pictures, tests));
        VT_RET(vt_study_write(whole, ""));
    }
    if (!run->made && strcmp(e->kind, "table") == 0)
        VT_RET(vt_study_path(out->path, e, "data/%s/" TABLE, name));
    return VITCL_OK;
}
