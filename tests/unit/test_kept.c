/*
 * test_kept.c - a large tokenizer.json in the cache: the second start is as the
 * first, and whatever is wrong with the file, it is made again.
 */
#include "support/pictures.h"
#include "text/vocab_cache.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the file: where the checksum, the counts and the arrays are. */
enum { SUM = 79, REST = 96, SCORED = 112, PIECES = 116, DATA = 136 };

static const char *const models[] = {
    "{\"model\":{\"vocab\":{\"a\":7,\"b\":1,\"ab\":2,\"c\":3},"
    "\"merges\":[[\"a\",\"b\"]@]}}",
    "{\"model\":{\"vocab\":[[\"a\",-1.5],[\"b\",-2],[\"ab\",-1],[\"c\",-3]],"
    "\"unk_id\":3,\"merges\":[@]}}",
};

static char folder[4200], cached[8400];

/* "@": spaces, in what is not kept. */
static void make(const char *model)
{
    static char spaces[1 << 20];
    char path[4300];
    FILE *f;

    snprintf(folder, sizeof folder, "%s", vt_test_folder());
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    cr_assert((f = fopen(path, "wb")));
    memset(spaces, ' ', sizeof spaces);
    for (const char *s = model; *s; s++)
        if (*s != '@')
            fputc(*s, f);
        else
            for (size_t i = 0; i < VT_VOCAB_CACHED; i += sizeof spaces)
                fwrite(spaces, 1, sizeof spaces, f);
    cr_assert_eq(fclose(f), 0);
}

/* Opens it, and compares ids and identity with those of the first time. */
static void start(void)
{
    static int32_t first[8];
    static char identity[65];
    int32_t ids[8];
    char id[65];
    uint32_t count;
    vt_tokenizer *t = NULL;

    cr_assert_eq(vt_tokenizer_open(&t, folder, true, false), VITCL_OK, "%s",
                 vt_message());
    cr_expect_eq(vt_tokenizer_vocabulary(t), t->scores ? 4 : 8);
    cr_assert_eq(vt_tokenizer_encode(ids, &count, t, 8, "abcba", 5), VITCL_OK);
    vt_tokenizer_identity(id, t);
    vt_tokenizer_free(t);
    if (!identity[0]) {
        memcpy(identity, id, sizeof id);
        memcpy(first, ids, sizeof ids);
        cr_expect_eq(ids[0], 2);
        cr_expect_eq(ids[1], 3);
    }
    cr_expect_str_eq(id, identity);
    cr_expect_arr_eq(ids, first, sizeof ids);
}

static int find(void)
{
    char path[4300];
    int n = 0;
    struct dirent *e;
    DIR *d;

    snprintf(path, sizeof path, "%s/vitcl", folder);
    if (!(d = opendir(path)))
        return 0;
    while ((e = readdir(d)))
        if (strstr(e->d_name, ".words")) {
            snprintf(cached, sizeof cached, "%s/%s", path, e->d_name);
            n++;
        }
    closedir(d);
    return n;
}

static size_t load(uint8_t out[4096])
{
    FILE *f = fopen(cached, "rb");
    size_t n;

    cr_assert(f);
    n = fread(out, 1, 4096, f);
    fclose(f);
    return n;
}

static void store(const uint8_t *bytes, size_t n)
{
    const struct timespec old[2] = {{1000000, 0}, {1000000, 0}};
    const int fd = open(cached, O_WRONLY | O_TRUNC);

    cr_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n &&
              futimens(fd, old) == 0);
    close(fd);
}

/* Was the file of store() used? Else another took its place. */
static bool used(const uint8_t *bytes, size_t n)
{
    uint8_t now[4096];
    struct stat before, after;
    const int fd = open(cached, O_RDONLY); /* so its number is not used again */

    cr_assert_eq(fstat(fd, &before), 0);
    start();
    close(fd);
    cr_assert_eq(stat(cached, &after), 0);
    cr_expect(after.st_mtime > 1000000);
    cr_expect_eq(load(now), n);
    cr_expect_arr_eq(now, bytes, n);
    return before.st_ino == after.st_ino;
}

static void sign(uint8_t *bytes, size_t n)
{
    const uint32_t order = 0x01020304;
    vt_summing *sum = NULL;

    cr_assert_eq(vt_summing_new(&sum), VITCL_OK);
    vt_summing_add(sum, &order, sizeof order);
    vt_summing_add(sum, bytes + REST, n - REST);
    vt_checksum_print((char *)bytes + SUM, vt_summing_take(sum));
    vt_summing_free(sum);
}

/* Each number of the file in turn is another one, under the right checksum.
 * What is still used is no harm. */
static void change(const uint8_t *good, size_t n, bool signs)
{
    static const uint32_t values[] = {UINT32_MAX, 0x7fffffff, 5, 0};
    uint8_t bytes[4096];
    int taken = 0;

    for (size_t at = signs ? REST : 0, step; at + 4 <= n; at += step) {
        step = !signs ? 26 : at < DATA + 100 ? 4 : 28;
        for (size_t i = 0; i < 4; i += signs ? 1 : 4) {
            struct stat st;

            memcpy(bytes, good, n);
            memcpy(bytes + at, &values[i], sizeof values[i]);
            if (memcmp(bytes, good, n) == 0)
                continue;
            if (signs)
                sign(bytes, n);
            store(bytes, n);
            if (signs) {
                vt_tokenizer *t = calloc(1, sizeof *t);
                vt_chars rest = {0};
                vt_kept_file f = {
                    .fd = open(cached, O_RDONLY), .at = REST, .left = n - REST};
                int32_t ids[8];

                if (vt_vocab_cache_read(&rest, t, &f)) {
                    taken++;
                    for (size_t k = 0; k < t->vocab.count; k++)
                        ids[k % 8] = vt_vocab_find(
                            &t->vocab, t->vocab.bytes.s + t->vocab.pieces[k].at,
                            t->vocab.pieces[k].size);
                    cr_expect(ids[0] < VT_PIECES_MAX);
                }
                close(f.fd);
                free(rest.s);
                vt_tokenizer_free(t);
                continue;
            }
            cr_assert_eq(stat(cached, &st), 0);
            cr_expect_not(used(good, n), "%zu, %zu", at, i);
        }
    }
    if (signs)
        cr_expect(taken > 0);
}

static void try_all(const char *model)
{
    uint8_t good[4096], bytes[4096];
    size_t n;

    make(model);
    setenv("VITCL_CACHE", "off", 1);
    start();
    cr_expect_eq(find(), 0);
    unsetenv("VITCL_CACHE");
    start();
    cr_assert_eq(find(), 1);
    n = load(good);
    cr_assert(n > DATA && n < sizeof good - 1);
    store(good, n);
    cr_expect(used(good, n));
    memcpy(bytes, good, n);
    bytes[n] = 0;
    store(bytes, n + 1);
    cr_expect_not(used(good, n));
    store(good, n - 1);
    cr_expect_not(used(good, n));
    store(good, 0);
    cr_expect_not(used(good, n));
    store(good, n);
    cr_assert_eq(chmod(cached, 0666), 0);
    cr_expect_not(used(good, n));
    change(good, n, false);
    change(good, n, true);
    vt_test_tidy();
}

Test(kept, merges)
{
    try_all(models[0]);
}

Test(kept, scores)
{
    try_all(models[1]);
}

/* Counts that lie, and what a lookup would never end in. */
Test(kept, lies)
{
    static const struct {
        size_t at;
        uint32_t value;
    } lies[] = {
        {SCORED, 2},              /**/
        {REST, 0},                /* the rest of the text */
        {REST + 4, UINT32_MAX},   /* its upper half */
        {REST + 12, UINT32_MAX},  /* bytes of pieces */
        {PIECES, 0},              /* pieces */
        {PIECES, UINT32_MAX},     /**/
        {PIECES + 4, 63},         /* slots */
        {PIECES + 4, 0},          /**/
        {PIECES + 8, UINT32_MAX}, /* merges */
        {PIECES + 12, 0},         /* their slots */
        {DATA, 0x7b7b7b7b},       /* the text is no JSON */
    };
    uint8_t good[4096], bytes[4096];
    size_t n;

    make(models[0]);
    start();
    cr_assert_eq(find(), 1);
    n = load(good);
    for (size_t i = 0; i < VT_COUNT(lies); i++) {
        memcpy(bytes, good, n);
        memcpy(bytes + lies[i].at, &lies[i].value, sizeof lies[i].value);
        sign(bytes, n);
        store(bytes, n);
        cr_expect_not(used(good, n), "%zu", i);
    }
    vt_test_tidy();
}
