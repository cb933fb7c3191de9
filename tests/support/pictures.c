/*
 * pictures.c - temporary folders and a small CIFAR-10 for tests of training.
 */
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folders that this process made last: each test is a process of its
 * own. */
enum { MADE = 32 };
static char made[MADE][256];
static size_t count;

char *vt_test_folder(void)
{
    const char *root = getenv("TMPDIR");
    char *name = made[count++ % MADE];

    snprintf(name, sizeof *made, "%s/vitcl-test-XXXXXX", root ? root : "/tmp");
    cr_assert(mkdtemp(name), "%s", name);
    return name;
}

void vt_test_remove(const char *folder)
{
    char command[512];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

void vt_test_tidy(void)
{
    for (size_t i = 0; i < MADE && i < count; i++)
        vt_test_remove(made[i]);
}

/* ---- what is left of all tests ---- */

static char root[256];

/* All tests of a program have a folder of their own for temporary files. */
ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    const char *given = getenv("TMPDIR");

    (void)tests;
    snprintf(root, sizeof root, "%s/vitcl-tests-XXXXXX",
             given ? given : "/tmp");
    if (!mkdtemp(root) || setenv("TMPDIR", root, 1) != 0)
        abort();
}

static size_t left(void)
{
    DIR *d = opendir(root);
    size_t n = 0;

    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            fprintf(stderr, "left behind: %s/%s\n", root, e->d_name);
            n++;
        }
    if (d)
        closedir(d);
    return n;
}

/* A failed test may leave files behind, one that passed may not. */
ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    const bool clean = stats->tests_failed + stats->tests_crashed == 0;

    if (clean && left() > 0)
        stats->tests_failed++;
    vt_test_remove(root);
}

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

void vt_test_cifar(const char *folder, size_t n, unsigned state)
{
    unsigned x = state * 2654435761u + 1;
    FILE *f = NULL;
    char name[32];
    size_t at = 0;

    for (int part = 1; part <= 5; part++) {
        snprintf(name, sizeof name, "data_batch_%d.bin", part);
        f = open_in(folder, name, "wb");
        cr_assert(f);
        for (; at < n * (size_t)part / 5; at++) {
            const int label = (int)(at % 10);

            fputc(label, f);
            for (int i = 0; i < 3072; i++) {
                x = x * 1664525u + 1013904223u;
                fputc((int)(x >> 25) + (i % 10 == label ? 100 : 20), f);
            }
        }
        fclose(f);
    }
}

unsigned char *vt_test_bytes(size_t *size, const char *folder, const char *name)
{
    FILE *f = open_in(folder, name, "rb");
    unsigned char *bytes;

    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*size + 1);
    cr_assert(bytes && fread(bytes, 1, *size, f) == *size);
    fclose(f);
    return bytes;
}

void vt_test_text(const char *folder, const char *name, const char *text)
{
    FILE *f = open_in(folder, name, "wb");

    cr_assert(f);
    fputs(text, f);
    fclose(f);
}

void vt_test_user_folder(char folder[256])
{
    snprintf(folder, 256, "%s", vt_test_folder());
    setenv("XDG_CONFIG_HOME", folder, 1);
    cr_assert_eq(mkdir(vt_test_path(folder, "vitcl"), 0700), 0);
}

void vt_test_user_text(const char *folder, const char *name, const char *text)
{
    vt_test_text(folder, name, text);
    cr_assert_eq(chmod(vt_test_path(folder, name), 0600), 0);
}

char *vt_test_path(const char *folder, const char *name)
{
    static char paths[64][512];
    static size_t next;
    char *path = paths[next++ % 64];

    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

char *vt_test_config(const char *folder, const char *more)
{
    char text[512];

    snprintf(text, sizeof text,
             "{\"architecture\": \"vit_tiny_patch16_224\", \"model_args\": "
             "{\"img_size\": 32, \"patch_size\": 8, \"embed_dim\": 32, "
             "\"depth\": 2, \"num_heads\": 2, \"mlp_ratio\": 2%s}}",
             more);
    vt_test_text(folder, "config.json", text);
    return vt_test_path(folder, "config.json");
}

int vt_test_look(void *watch, const vitcl_train_event *e)
{
    vt_test_watch *w = watch;

    if (w->events++ == 0)
        w->first = e->loss;
    return w->stop && e->step >= w->stop;
}

void vt_test_same(const char *a, const char *b, const char *file)
{
    size_t n = 0, m = 0;
    unsigned char *x = vt_test_bytes(&n, a, file);
    unsigned char *y = vt_test_bytes(&m, b, file);

    cr_assert(x && y && n == m, "%s: %zu and %zu bytes", file, n, m);
    cr_expect(memcmp(x, y, n) == 0, "%s differs after resuming", file);
    free(x);
    free(y);
}
