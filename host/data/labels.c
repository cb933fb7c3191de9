/*
 * labels.c - read lists of classes and assign them to pictures.
 */
#include "data/labels.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/order.h"

#include <math.h>
#include <string.h>

#define FILE_MAX ((size_t)64 << 20)

typedef struct label {
    char *name;    /* NULL: a number */
    double number; /* the model's class, or a right answer */
} label;

struct vt_labels {
    char *path;
    uint32_t pictures;
    size_t *first; /* [pictures + 1], indices into entry */
    label *entry;
    size_t count, cap;
    uint32_t names; /* how many entries are names */
};

void vt_labels_free(vt_labels *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        free(l->entry[i].name);
    free(l->path);
    free(l->first);
    free(l->entry);
    free(l);
}

/* ---- finding a picture's list ---- */

typedef struct entry {
    const char *key; /* NULL if the file is a list */
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
                       "%s: must be a JSON list of lists of classes, or an "
                       "object of such lists",
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
        return vt_fail(VITCL_EINVAL, "%s: no entry for picture %s", b->path,
                       path);
    *out = set;
    return VITCL_OK;
}

/* ILSVRC2012_val_00000001.JPEG, or with _n01440764 after the number. */
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
                       "%s: a list of %zu entries, but the name of %s does not "
                       "give a number as %s00000001 does; use an object with "
                       "picture names as keys instead",
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
                       "%s: pictures of this data have no names; give a list "
                       "with an entry for each (%u)",
                       b->path, vt_dataset_count(d));
    *out = b->entry[picture].set;
    return VITCL_OK;
}

/* ---- the lists ---- */

static vitcl_status add_set(vt_labels *l, const vt_json *set, uint32_t picture)
{
    if (!vt_json_is_array(set))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the classes of picture %u must be a "
                       "list",
                       l->path, picture);
    for (const vt_json *m = vt_json_first(set); m; m = vt_json_next(m)) {
        const char *name = NULL;
        double n = 0;
        label *e;

        if (!vt_json_string(&name, m) && !vt_json_number(&n, m))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: a class of picture %u is neither a name nor a "
                           "number",
                           l->path, picture);
        VT_RET(vt_grow(&l->entry, &l->cap, l->count + 1, sizeof *l->entry));
        e = &l->entry[l->count++];
        e->number = n;
        l->names += name != NULL;
        if (name)
            VT_RET(vt_strdup(&e->name, name));
    }
    return VITCL_OK;
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

size_t vt_labels_of(uint32_t *count, const vt_labels *l, uint32_t picture)
{
    *count = (uint32_t)(l->first[picture + 1] - l->first[picture]);
    return l->first[picture];
}

bool vt_labels_numbered(const vt_labels *l)
{
    return l->count > l->names;
}

static const char *name_at(const void *of, uint32_t index)
{
    return ((const char *const *)of)[index];
}

/* The names in the file, sorted and without duplicates. */
static uint32_t names_of(const char **out, const vt_labels *l)
{
    uint32_t n = 0, kept = 0;

    for (size_t i = 0; i < l->count; i++)
        if (l->entry[i].name)
            out[n++] = l->entry[i].name;
    qsort((void *)out, n, sizeof *out, vt_by_text);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || strcmp(out[i], out[kept - 1]) != 0)
            out[kept++] = out[i];
    return kept;
}

vitcl_status vt_labels_resolve(uint32_t **out, const vt_labels *l,
                               const vt_classes *model)
{
    vitcl_status st = VITCL_OK;
    uint32_t *wanted = NULL, *found = NULL, n;
    const char **name = NULL, **at;

    VT_TRY(vt_new(&wanted, l->count + 1, sizeof *wanted));
    VT_TRY(vt_new(&found, (size_t)l->names + 1, sizeof *found));
    VT_TRY(vt_new(&name, (size_t)l->names + 1, sizeof *name));
    n = names_of(name, l);
    VT_TRY(vt_classes_match(
        found, &(vt_classes){n, l->path, (const void *)name, name_at, NULL},
        model, false));
    for (size_t i = 0; i < l->count; i++) {
        const label *e = &l->entry[i];

        if (e->name) {
            at = bsearch(&e->name, (void *)name, n, sizeof *name, vt_by_text);
            wanted[i] = found[at - name];
            continue;
        }
        if (!(e->number >= 0 && e->number < model->count) ||
            e->number != floor(e->number))
            VT_TRY(vt_fail(
                VITCL_ECORRUPT,
                "%s: class %.16g is out of range; the model has %u class%s",
                l->path, e->number, model->count,
                model->count == 1 ? "" : "es"));
        wanted[i] = (uint32_t)e->number;
    }
    *out = wanted, wanted = NULL;
done:
    free(wanted);
    free(found);
    free((void *)name);
    return st;
}

vitcl_status vt_labels_numbers(double **out, const vt_labels *l, uint32_t width)
{
    vitcl_status st = VITCL_OK;
    double *value = NULL;

    for (uint32_t i = 0; i < l->pictures; i++)
        if (l->first[i + 1] - l->first[i] != width)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: picture %u has %zu number%s, but the model "
                           "answers with %u",
                           l->path, i, l->first[i + 1] - l->first[i],
                           vt_plural(l->first[i + 1] - l->first[i]), width);
    VT_TRY(vt_new(&value, l->count + 1, sizeof *value));
    for (size_t i = 0; i < l->count; i++) {
        if (l->entry[i].name)
            VT_TRY(vt_fail(VITCL_ECORRUPT,
                           "%s: \"%.60s\" is not a number, but the model "
                           "answers with numbers",
                           l->path, l->entry[i].name));
        value[i] = l->entry[i].number;
    }
    *out = value, value = NULL;
done:
    free(value);
    return st;
}
