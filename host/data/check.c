/*
 * check.c - decode all files of a dataset once.
 *
 * The cache has a file for each folder of data: the sorted 64-bit keys of the
 * pictures that were good. Broken ones are decoded each time.
 */
#include "data/check.h"

#include "base/environment.h"
#include "base/kept.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "data/thumbs.h"

#include <string.h>
#include <sys/stat.h>

typedef struct check {
    const vt_dataset *d;
    bool keeps; /* under this key: */
    vt_kept_key cache;
    uint64_t *key;   /* [pictures]; 0: the file cannot be looked at */
    uint64_t *known; /* [known_count], ascending */
    size_t known_count;
    uint32_t *todo;
    size_t todo_count, done;
    vt_broken broken;
    size_t picture_cap, why_cap;
    vitcl_progress progress;
    void *context;
} check;

void vt_broken_free(vt_broken *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->why[i]);
    free(b->why);
    free(b->picture);
    *b = (vt_broken){0};
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* ---- cache ---- */

static uint64_t key_of(const vt_dataset *d, uint32_t picture)
{
    const char *name = vt_dataset_name(d, picture);
    vt_sha256_state s;
    uint8_t hash[32];
    uint64_t key, about[4];
    struct stat file;

    if (stat(vt_dataset_path(d, picture), &file) != 0)
        return 0;
    about[0] = (uint64_t)file.st_size;
    about[1] = (uint64_t)file.st_mtim.tv_sec;
    about[2] = (uint64_t)file.st_mtim.tv_nsec;
    about[3] = (uint64_t)file.st_ino;
    vt_sha256_begin(&s);
    vt_sha256_add(&s, about, sizeof about);
    vt_sha256_add(&s, name, strlen(name));
    vt_sha256_end(&s, hash);
    memcpy(&key, hash, sizeof key);
    return key;
}

/* The cache's key: the folder, by the program, which may decode other
 * formats in its next version, and by what says how pictures are decoded. */
static void find_cache(check *c)
{
    static const char *const variables[] = {
        "VITCL_DECODE_PIXELS", "VITCL_DECODE_MEMORY", "VITCL_DECODE_SECONDS",
        "VITCL_DECODE", "VITCL_DECODE_ALL"};
    const char *path = vt_dataset_path(c->d, 0);
    const size_t n = strlen(path) - strlen(vt_dataset_name(c->d, 0));
    vt_sha256_state s;
    char *root = NULL, *real = NULL;

    if (vt_format(&root, "%.*s", (int)n, path) == VITCL_OK)
        real = realpath(root, NULL);
    vt_sha256_begin(&s);
    vt_sha256_text(&s, VITCL_VERSION);
    for (size_t i = 0; i < VT_COUNT(variables); i++) {
        const char *value = vt_getenv(variables[i]);

        vt_sha256_text(&s, value ? value : "");
    }
    if (real)
        vt_sha256_add(&s, real, strlen(real));
    vt_sha256_end(&s, c->cache.hash);
    c->keeps = real != NULL;
    free(root);
    free(real);
}

/* Leaves known_count 0 where there is nothing to trust. */
static void read_cache(check *c)
{
    void *keys;
    size_t size;

    free(c->known);
    c->known = NULL, c->known_count = 0;
    if (c->keeps && vt_kept_get(&keys, &size, VT_KEPT_PICTURES, &c->cache))
        c->known = keys, c->known_count = size / sizeof *c->known;
}

static size_t sort_once(uint64_t *key, size_t n)
{
    size_t count = 0;

    qsort(key, n, sizeof *key, by_value);
    for (size_t i = 0; i < n; i++)
        if (count == 0 || key[count - 1] != key[i])
            key[count++] = key[i];
    return count;
}

/* Keeps the keys of the pictures that were looked at and are not broken, and
 * those in the cache now: of the folder's other pictures, by whomever. */
static void write_cache(check *c, size_t looked_at)
{
    const uint32_t n = vt_dataset_count(c->d);
    uint64_t *good = NULL;
    size_t at = 0, todo = 0, count = 0;

    if (!c->keeps || looked_at == 0)
        return;
    read_cache(c);
    if (VT_NEW(&good, n + c->known_count) != VITCL_OK)
        return;
    for (uint32_t i = 0; i < n; i++) {
        bool keep = c->key[i] != 0;

        if (todo < c->todo_count && c->todo[todo] == i) {
            keep = keep && todo < looked_at;
            todo++;
        }
        if (at < c->broken.count && c->broken.picture[at] == i)
            keep = false, at++;
        if (keep)
            good[count++] = c->key[i];
    }
    if (c->known_count > 0) {
        memcpy(good + count, c->known, c->known_count * sizeof *good);
        count += c->known_count;
    }
    count = sort_once(good, count);
    vt_kept_put(VT_KEPT_PICTURES, &c->cache,
                &(vt_user_part){good, count * sizeof *good}, 1);
    free(good);
}

/* ---- decoding ---- */

static vitcl_status add_broken(check *c, uint32_t picture)
{
    vt_broken *b = &c->broken;

    VT_RET(vt_grow(&b->picture, &c->picture_cap, b->count + 1,
                   sizeof *b->picture));
    VT_RET(vt_grow(&b->why, &c->why_cap, b->count + 1, sizeof *b->why));
    VT_RET(vt_strdup(&b->why[b->count], vt_message()));
    b->picture[b->count++] = picture;
    return VITCL_OK;
}

static vitcl_status take(void *context, uint32_t picture, const uint8_t *rgb)
{
    check *c = context;

    if (!rgb)
        VT_RET(add_broken(c, picture));
    c->done++;
    if (c->progress && c->progress(c->context, c->done, c->todo_count))
        return vt_fail(VITCL_ESTOPPED, "stopped by the caller");
    return VITCL_OK;
}

vitcl_status vt_dataset_check(vt_broken *out, const vt_dataset *d,
                              vitcl_progress progress, void *context)
{
    vitcl_status st = VITCL_OK;
    const uint32_t n = vt_dataset_count(d);
    check c = {.d = d, .progress = progress, .context = context};

    *out = (vt_broken){0};
    if (n == 0 || !vt_dataset_path(d, 0))
        return VITCL_OK;
    VT_TRY(VT_NEW(&c.key, n));
    VT_TRY(VT_NEW(&c.todo, n));
    find_cache(&c);
    read_cache(&c);
    for (uint32_t i = 0; i < n; i++) {
        c.key[i] = key_of(d, i);
        if (c.known_count == 0 || !bsearch(&c.key[i], c.known, c.known_count,
                                           sizeof *c.known, by_value))
            c.todo[c.todo_count++] = i;
    }
    st = vt_thumbs(d, c.todo, c.todo_count, take, &c);
    write_cache(&c, c.done); /* what was done is kept even if it was stopped */
    VT_TRY(st);
    *out = c.broken, c.broken = (vt_broken){0};
done:
    vt_broken_free(&c.broken);
    free(c.key);
    free(c.known);
    free(c.todo);
    return st;
}
