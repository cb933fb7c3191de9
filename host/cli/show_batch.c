/*
 * show_batch.c - draws a batch as training sees it.
 */
#include "show_batch.h"

#include "cmd.h"
#include "plot/tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 60, ACROSS = 6, LABEL = 96 };

/* Back to 8 bits: what the model gets is a scaled and shifted pixel. */
static uint8_t pixel(const vitcl_train_batch *b, size_t i, uint32_t c,
                     size_t at)
{
    const size_t plane = (size_t)b->height * b->width;
    const double v =
        ((double)b->pixels[(i * 3 + c) * plane + at] * (double)b->std[c] +
         (double)b->mean[c]) /
        (double)b->scale;

    return (uint8_t)(fmin(fmax(v, 0), 255) + 0.5);
}

/* "cat 0.7, dog 0.3": the two largest targets, or one if all others have equal
 * parts, as from smoothing. */
static void name_labels(char out[LABEL], const vitcl_train_batch *b, size_t i)
{
    const float *t = b->targets + i * b->classes;
    uint32_t best = 0, next = 0;
    float least = t[0];

    for (uint32_t c = 1; c < b->classes; c++) {
        best = t[c] > t[best] ? c : best;
        least = t[c] < least ? t[c] : least;
    }
    next = best == 0 && b->classes > 1;
    for (uint32_t c = 0; c < b->classes; c++)
        if (c != best && t[c] > t[next])
            next = c;
    if (t[next] - (b->classes > 2 ? least : 0) > 1e-4f && next != best)
        snprintf(out, LABEL, "%.30s %.2f, %.30s %.2f", b->label[best],
                 (double)t[best], b->label[next], (double)t[next]);
    else
        snprintf(out, LABEL, "%.60s %.2f", b->label[best], (double)t[best]);
}

int show_batch(const vitcl_train_batch *b, const char *path)
{
    const size_t n = b->pictures < MOST ? b->pictures : MOST,
                 plane = (size_t)b->height * b->width;
    uint8_t *rgb = malloc(n * plane * 3);
    char(*text)[LABEL] = calloc(n, sizeof *text);
    const char **name = calloc(n, sizeof *name);
    char label[96];
    vt_tiles sheet = {.rgb = rgb,
                      .count = (int)n,
                      .rows = (int)b->height,
                      .columns = (int)b->width,
                      .across = n < ACROSS ? (int)n : ACROSS,
                      .name = b->targets ? name : NULL,
                      .label = label};
    int code = EXIT_OK;

    snprintf(label, sizeof label,
             "step %llu: %zu of %u pictures as training sees them",
             (unsigned long long)b->step, n, b->pictures);
    if (!rgb || !text || !name) {
        code = fail("out of memory");
    } else {
        for (size_t i = 0; i < n; i++) {
            for (size_t at = 0; at < plane; at++)
                for (uint32_t c = 0; c < 3; c++)
                    rgb[(i * plane + at) * 3 + c] = pixel(b, i, c, at);
            if (b->targets)
                name_labels(text[i], b, i);
            name[i] = text[i];
        }
        if (vt_tiles_write(&sheet, path) != VITCL_OK)
            code = failed();
    }
    free(rgb);
    free(text);
    free(name);
    return code;
}
