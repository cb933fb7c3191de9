/*
 * cmd_models.c - lists the models at hand: the built-in one, and those in the
 * local cache of Hugging Face. Needs no device.
 */
#include "cli/setup/model_names.h"
#include "cli/setup/options.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct models {
    bool json;
} models;

static const opt options[] = {OPT_ROW(models, 0, "json", OPT_FLAG, NULL,
                                      "one JSON object per line", json),
                              OPT_DONE};

enum { REPOSITORIES_MAX = 10000, FAMILY = 32, SHORT = 7 };

typedef struct row {
    char name[VT_HUB_NAME], commit[VT_HUB_COMMIT], family[FAMILY];
    char *path;     /* NULL: built in */
    uint64_t bytes; /* of its files */
} row;
typedef struct rows {
    row *item;
    size_t count, others;
} rows;

/* What the library makes of it. Only headers are read. */
static vitcl_status recognise(row *r, const char *path)
{
    vitcl_model_info info = {.size = sizeof info};
    vitcl_model *model = NULL;
    vitcl_status st = vitcl_model_load(&model, NULL, path);

    if (st == VITCL_OK)
        st = vitcl_model_describe(&info, model, 0, 0, 1);
    if (st == VITCL_OK)
        snprintf(r->family, FAMILY, "%s", info.family);
    vitcl_model_free(model);
    return st;
}

static int add(rows *all, const row *r, const char *path)
{
    row *more = realloc(all->item, (all->count + 1) * sizeof *more);
    char *copy = path ? strdup(path) : NULL;

    if (more)
        all->item = more;
    if (!more || (path && !copy)) {
        free(copy);
        return fail("out of memory");
    }
    more[all->count] = *r;
    more[all->count++].path = copy;
    return EXIT_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const row *)a)->name, ((const row *)b)->name);
}

static int add_named(rows *all, row *r, const char *cache)
{
    static vt_hub_snapshot at;
    static char why[VT_HUB_WHY];
    vitcl_status st = VITCL_EINVAL;

    if (vt_hub_find(&at, why, cache, r->name))
        st = recognise(r, at.path);
    if (st == VITCL_ENOMEM)
        return failed();
    if (st != VITCL_OK) {
        all->others++;
        return EXIT_OK;
    }
    memcpy(r->commit, at.commit, sizeof r->commit);
    r->bytes = at.bytes;
    return add(all, r, at.path);
}

static int add_cached(rows *all, const char *cache)
{
    DIR *dir = opendir(cache);
    const struct dirent *e = NULL;
    const size_t first = all->count;
    int code = EXIT_OK;

    if (!dir)
        return errno == ENOENT ? EXIT_OK
                               : fail("%s: %s", cache, strerror(errno));
    for (int i = 0; i < REPOSITORIES_MAX; i++) {
        row r = {.path = NULL};

        errno = 0;
        e = readdir(dir);
        if (!e && errno)
            code = fail("%s: %s", cache, strerror(errno));
        if (!e)
            break;
        if (vt_hub_name(r.name, e->d_name))
            TRY(add_named(all, &r, cache));
    }
done:
    closedir(dir);
    if (all->count > first)
        qsort(all->item + first, all->count - first, sizeof *all->item,
              by_name);
    return code;
}

static void print_json(const row *r)
{
    json_put("{model:%s family:%s revision:%s bytes:", r->name, r->family,
             r->commit[0] ? r->commit : NULL);
    if (r->path)
        json_put("%llu", (unsigned long long)r->bytes);
    else
        json_put("null");
    json_put("path:%s}\n", r->path);
}

/* A name is never cut, because it is what -m takes: on a terminal, one that
 * leaves no room for the rest has a line of its own. */
static void print_table(const rows *all)
{
    const char *const titles[] = {"revision", "size", "family"};
    int wide = 5, family = (int)strlen(titles[2]);

    for (size_t i = 0; i < all->count; i++) {
        const int n = (int)strlen(all->item[i].family);

        family = n > family ? n : family;
    }
    const int room = terminal_columns() - (2 + 8 + 2 + 8 + 2 + family);

    for (size_t i = 0; i < all->count; i++) {
        const int n = (int)strlen(all->item[i].name);

        if (n > wide && n <= room)
            wide = n;
    }
    printf("%-*s  %-8s  %8s  %s\n", wide, "model", titles[0], titles[1],
           titles[2]);
    for (size_t i = 0; i < all->count; i++) {
        const row *r = &all->item[i];
        char size[BYTES_TEXT] = "-"; /* built in */

        if (r->path)
            bytes_text(size, (double)r->bytes);
        if ((int)strlen(r->name) > wide)
            printf("%s\n%-*s", r->name, wide, "");
        else
            printf("%-*s", wide, r->name);
        printf("  %-8.*s  %8s  %s\n", SHORT, r->commit[0] ? r->commit : "-",
               size, r->family);
    }
}

static int run(void *into, const words *operands)
{
    const models *o = into;
    static char cache[VT_HUB_PATH];
    row own = {.name = VITCL_MODEL_BUILTIN};
    rows all = {.item = NULL};
    int code;

    (void)operands;
    TRY(recognise(&own, own.name));
    TRY(add(&all, &own, NULL));
    if (vt_hub_cache(cache))
        TRY(add_cached(&all, cache));
    if (!o->json)
        print_table(&all);
    for (size_t i = 0; o->json && i < all.count; i++)
        print_json(&all.item[i]);
    if (all.others)
        note("%zu more in %s %s not among the models that vitcl reads; `vitcl "
             "info -m OWNER/NAME` says why",
             all.others, cache, all.others == 1 ? "is" : "are");
done:
    for (size_t i = 0; i < all.count; i++)
        free(all.item[i].path);
    free(all.item);
    return code;
}

const command cmd_models = {
    "models",
    "",
    "List the models that -m takes by name",
    "The built-in model, and those that the local cache of Hugging Face holds "
    "and vitcl reads. The cache is HF_HUB_CACHE, HF_HOME/hub or "
    "~/.cache/huggingface/hub; nothing is downloaded. No device is needed.",
    options,
    sizeof(models),
    run};
