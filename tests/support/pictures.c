/*
 * pictures.c - a small CIFAR-10 folder for tests of training.
 */
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *vt_test_folder(void)
{
    const char *root = getenv("TMPDIR");
    static char name[256]; /* one a test: each is a process of its own */

    snprintf(name, sizeof name, "%s/vitcl-test-XXXXXX", root ? root : "/tmp");
    cr_assert(mkdtemp(name), "%s", name);
    return name;
}

void vt_test_remove(const char *folder)
{
    char command[512];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
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
