/*
 * replay.c - replaces libFuzzer: runs a fuzz target over its corpus.
 *
 * For ctest with any compiler. Each file is passed whole, truncated at 16
 * positions, and with 64 single bytes changed, the same on every run. Inputs
 * are exact heap copies, so that a sanitizer sees a read past the end.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t state;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Gives the target its own copy of size bytes, with one of them changed. */
static void give(const uint8_t *bytes, size_t size, size_t at, uint8_t flip)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, bytes, size);
    if (at < size)
        copy[at] ^= flip;
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);
    size_t size = 0;

    if (!file || !bytes) {
        perror(path);
        free(bytes);
        if (file)
            fclose(file);
        return 1;
    }
    size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    give(bytes, size, size, 0);
    for (size_t i = 0; i < 16; i++)
        give(bytes, size * i / 16, size, 0);
    state = 1;
    for (size_t i = 0; size && i < 64; i++) {
        size_t at = next() % size;

        give(bytes, size, at, (uint8_t)(1 + next() % 255));
    }
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    int files = 0, failed = 0;

    if (!dir) {
        fprintf(stderr, "usage: replay CORPUS-FOLDER\n");
        return 2;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        char path[4096];

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
        failed += replay(path);
        files++;
    }
    closedir(dir);
    printf("%d files\n", files);
    return failed || files == 0;
}
