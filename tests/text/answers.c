/*
 * answers.c - how long words take to an answer in a process that holds a text
 * tower and an index, for tools/measure_words.py.
 *
 *   answers MODEL INDEX ROUNDS
 *   answers make ONE INDEX ROWS
 *
 * Prints, for each round, milliseconds of the text's vector and of the search,
 * and processor milliseconds of the text, of the search, and of a copy of as
 * many bytes. The first round also reads what is not in the page cache, and
 * checks checksums. With `make`, writes an index of random vectors in 16 bits
 * that is like the index ONE.
 */
#include "base/clock.h"
#include "base/random.h"
#include "index/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vitcl_text.h>

enum { K = 10 };

static double used_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Processor milliseconds. Copies 64 MB as often as it takes. */
static double copy_ms(size_t bytes)
{
    enum { PART = 64 << 20 };
    static char from[PART], to[PART];
    double begin;

    memset(from, 1, PART);
    memset(to, 2, PART);
    begin = used_ms();
    for (size_t at = 0; at < bytes; at += PART) {
        from[at % 7]++;
        memcpy(to, from, PART);
    }
    return (used_ms() - begin) * (double)bytes /
           (double)((bytes + PART - 1) / PART * PART);
}

static int answer(vitcl_text *text, const vt_index *x, float *vector, int round)
{
    char words[64];
    const char *all = words;
    vitcl_hit hits[K];
    uint32_t found;
    const double begin = vt_now_ms(), before = used_ms();
    double embedded, between, found_at, after;

    snprintf(words, sizeof words, "%d dogs on a beach", round);
    if (vitcl_text_embed(vector, text, &all, 1) != VITCL_OK)
        return 1;
    embedded = vt_now_ms(), between = used_ms();
    if (vt_index_nearest(hits, &found, x, vector, 1, K, -2, NULL, NULL) !=
        VITCL_OK)
        return 1;
    found_at = vt_now_ms(), after = used_ms();
    printf("%.2f %.2f %.2f %.2f %.2f\n", embedded - begin, found_at - embedded,
           between - before, after - between,
           copy_ms((size_t)vt_index_count(x) * vt_index_width(x) * 2));
    fflush(stdout);
    return 0;
}

static int make(const char *one, const char *path, int rows)
{
    vt_random random = vt_random_new(1, 0, 0);
    vt_vectors *v = NULL;
    vt_index *x = NULL;
    float *numbers = NULL;
    char name[32];
    vt_vectors_row row = {.path = name, .stamp = {-1, -1}};
    uint32_t width;
    int failed = vt_index_open(&x, one) != VITCL_OK;

    width = failed ? 1 : vt_index_width(x);
    row.numbers = numbers = calloc(width, sizeof *numbers);
    failed = failed || !numbers ||
             vt_vectors_open(&v, path, vt_index_about(x), vt_index_shape(x),
                             true) != VITCL_OK;
    for (int i = 0; i < rows && !failed; i++) {
        for (uint32_t j = 0; j < width; j++)
            numbers[j] = (float)vt_random_uniform(&random) - 0.5f;
        snprintf(name, sizeof name, "%d.jpg", i);
        failed = vt_vectors_add(v, &row) != VITCL_OK;
    }
    failed = failed || vt_vectors_finish(v) != VITCL_OK;
    if (failed)
        fprintf(stderr, "answers: %s\n", vitcl_last_error());
    vt_vectors_free(v);
    vt_index_free(x);
    free(numbers);
    return failed;
}

int main(int argc, char **argv)
{
    vitcl_device *device = NULL;
    vitcl_text *text = NULL;
    vitcl_text_info info = {.size = sizeof info};
    vt_index *x = NULL;
    float *vector = NULL;
    int failed;

    if (argc == 5 && strcmp(argv[1], "make") == 0)
        return make(argv[2], argv[3], atoi(argv[4]));
    if (argc != 4)
        return fprintf(stderr, "usage: answers MODEL INDEX ROUNDS\n"), 2;
    failed = vitcl_device_open(&device, NULL) != VITCL_OK ||
             vitcl_text_new(&text, device, argv[1], NULL) != VITCL_OK ||
             vitcl_text_describe(&info, text) != VITCL_OK ||
             vt_index_open(&x, argv[2]) != VITCL_OK;
    if (!failed && vt_index_width(x) != info.features)
        return fprintf(stderr, "answers: vectors of other widths\n"), 1;
    if (!failed)
        vector = calloc(info.features, sizeof *vector);
    failed = failed || !vector;
    for (int i = 0; i < atoi(argv[3]) && !failed; i++)
        failed = answer(text, x, vector, i);
    if (failed)
        fprintf(stderr, "answers: %s\n", vitcl_last_error());
    free(vector);
    vt_index_free(x);
    vitcl_text_free(text);
    vitcl_device_free(device);
    return failed;
}
