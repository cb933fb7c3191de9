/*
 * labels.c - read sets of classes and say whose they are.
 */
#include "train/labels.h"

#include "base/json.h"
#include "base/memory.h"

#include <string.h>

#define FILE_MAX ((size_t)64 << 20)

struct vt_labels {
    char *path;
    uint32_t pictures;
    size_t *first; /* [pictures + 1], of index */
    uint32_t *index;
    size_t count, cap;
};

void vt_labels_free(vt_labels *l)
{
    if (!l)
        return;
    free(l->path);
    free(l->first);
    free(l->index);
    free(l);
}

/* ---- whose set ---- */

typedef struct entry {
    const char *key; /* NULL in a list */
    const vt_json *set;
} entry;

typedef struct book {
    entry *entry;
    size_t count;
    bool list;
    const char *path;
} book;

static int by_key(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->key, ((const entry *)b)->key);
}

static vitcl_status open_book(book *out, const vt_json *json, const char *path)
{
    vitcl_status st = VITCL_OK;
    book b = {.list = vt_json_is_array(json), .path = path};

    if (!b.list && !vt_json_is_object(json))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: neither a list of lists of classes nor an object "
                       "of them",
                       path);
    VT_TRY(VT_NEW(&b.entry, vt_json_count(json) + 1));
    for (const vt_json *m = vt_json_first(json); m; m = vt_json_next(m))
        b.entry[b.count++] = (entry){b.list ? NULL : vt_json_key(m), m};
    if (!b.list)
        qsort(b.entry, b.count, sizeof *b.entry, by_key);
    *out = b, b = (book){0};
done:
    free(b.entry);
    return st;
}

static const vt_json *look_up(const book *b, const char *key, size_t size)
{
    char name[512];
    entry wanted = {name, NULL};
    const entry *found;

    if (size >= sizeof name)
        return NULL;
    memcpy(name, key, size);
    name[size] = 0;
    found = bsearch(&wanted, b->entry, b->count, sizeof *b->entry, by_key);
    return found ? found->set : NULL;
}

static const char *behind_slash(const char *path, const char *end)
{
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

static vitcl_status find_named(const vt_json **out, const book *b,
                               const char *path)
{
    const char *end = path + strlen(path), *name = behind_slash(path, end);
    const char *dot = strrchr(name, '.');
    const char *folder =
        name > path ? behind_slash(path, name - 1) : name; /* class/name */
    const vt_json *set = look_up(b, folder, (size_t)(end - folder));

    if (!set)
        set = look_up(b, name, (size_t)(end - name));
    if (!set && dot)
        set = look_up(b, name, (size_t)(dot - name));
    if (!set)
        return vt_fail(VITCL_EINVAL, "%s: no classes for %s", b->path, path);
    *out = set;
    return VITCL_OK;
}

/* ILSVRC2012_val_00000001.JPEG, or with _n01440764 behind the number. */
static vitcl_status find_numbered(const vt_json **out, const book *b,
                                  const char *path)
{
    static const char mark[] = "ILSVRC2012_val_";
    const char *name = behind_slash(path, path + strlen(path));
    unsigned long n = 0;

    if (strncmp(name, mark, sizeof mark - 1) == 0 &&
        strspn(name + sizeof mark - 1, "0123456789") == 8)
        n = strtoul(name + sizeof mark - 1, NULL, 10);
    if (n < 1 || n > b->count)
        return vt_fail(VITCL_EINVAL,
                       "%s: a list of %zu, but %s is not named as the number "
                       "%s00000001 or another of them; name pictures in an "
                       "object instead",
                       b->path, b->count, path, mark);
    *out = b->entry[n - 1].set;
    return VITCL_OK;
}

static vitcl_status find_set(const vt_json **out, const book *b,
                             const vt_dataset *d, uint32_t picture)
{
    const char *path = vt_dataset_path(d, picture);

    if (path)
        return b->list ? find_numbered(out, b, path) : find_named(out, b, path);
    if (!b->list || b->count != vt_dataset_count(d))
        return vt_fail(VITCL_EINVAL,
                       "%s: pictures of this data have no names: give a list "
                       "for all %u",
                       b->path, vt_dataset_count(d));
    *out = b->entry[picture].set;
    return VITCL_OK;
}

/* ---- sets ---- */

static vitcl_status add_set(vt_labels *l, const vt_json *set, uint32_t picture)
{
    vitcl_status st = VITCL_OK;

    if (!vt_json_is_array(set))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the classes of picture %u are no "
                       "list",
                       l->path, picture);
    for (const vt_json *m = vt_json_first(set); m; m = vt_json_next(m)) {
        uint64_t n = 0;

        if (!vt_json_uint(&n, m) || n > INT32_MAX)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: a class of picture %u is no number of a class",
                           l->path, picture);
        VT_TRY(vt_grow(&l->index, &l->cap, l->count + 1, sizeof *l->index));
        l->index[l->count++] = (uint32_t)n;
    }
done:
    return st;
}

vitcl_status vt_labels_load(vt_labels **out, const char *path,
                            const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    vt_json *json = NULL;
    vt_labels *l = NULL;
    book b = {0};

    VT_TRY(vt_json_load(&json, path, FILE_MAX, 3));
    VT_TRY(open_book(&b, json, path));
    VT_TRY(VT_NEW(&l, 1));
    VT_TRY(vt_strdup(&l->path, path));
    l->pictures = vt_dataset_count(d);
    VT_TRY(VT_NEW(&l->first, (size_t)l->pictures + 1));
    for (uint32_t i = 0; i < l->pictures; i++) {
        const vt_json *set = NULL;

        VT_TRY(find_set(&set, &b, d, i));
        VT_TRY(add_set(l, set, i));
        l->first[i + 1] = l->count;
    }
    *out = l, l = NULL;
done:
    free(b.entry);
    vt_labels_free(l);
    vt_json_free(json);
    return st;
}

const uint32_t *vt_labels_of(uint32_t *count, const vt_labels *l,
                             uint32_t picture)
{
    *count = (uint32_t)(l->first[picture + 1] - l->first[picture]);
    return *count ? l->index + l->first[picture] : NULL;
}

vitcl_status vt_labels_check(const vt_labels *l, uint32_t classes)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->index[i] >= classes)
            return vt_fail(VITCL_ECORRUPT, "%s: class %u, but the model has %u",
                           l->path, l->index[i], classes);
    return VITCL_OK;
}
