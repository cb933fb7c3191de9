/*
 * show_batch.c - draws a batch as training sees it, RandAugment's operations,
 * and the patches that a model predicts.
 */
#include "show_batch.h"

#include "base/utf8.h"
#include "cli/terminal/terminal.h"
#include "plot/contact_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 60, ACROSS = 6, LABEL = 96, PREDICTED = 8 };

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
        snprintf(out, LABEL, "%.*s %.2f, %.*s %.2f",
                 (int)vt_utf8_cut(b->label[best], 30), b->label[best],
                 (double)t[best], (int)vt_utf8_cut(b->label[next], 30),
                 b->label[next], (double)t[next]);
    else
        snprintf(out, LABEL, "%.*s %.2f", (int)vt_utf8_cut(b->label[best], 60),
                 b->label[best], (double)t[best]);
}

/* The first n pictures; NULL: out of memory. */
static uint8_t *pictures_of(const vitcl_train_batch *b, size_t n)
{
    const size_t plane = (size_t)b->height * b->width;
    uint8_t *rgb = malloc(n * plane * 3);

    for (size_t i = 0; rgb && i < n; i++)
        for (size_t at = 0; at < plane; at++)
            for (uint32_t c = 0; c < 3; c++)
                rgb[(i * plane + at) * 3 + c] = pixel(b, i, c, at);
    return rgb;
}

static int draw(const vitcl_train_batch *b, const uint8_t *rgb, size_t n,
                size_t across, const char *const *name, const char *label,
                const char *path)
{
    const vt_contact_sheet sheet = {.rgb = rgb,
                                    .count = (int)n,
                                    .rows = (int)b->height,
                                    .columns = (int)b->width,
                                    .across = (int)(n < across ? n : across),
                                    .name = name,
                                    .label = label};

    return code_of(vt_contact_sheet_write(&sheet, path));
}

int show_batch(const vitcl_train_batch *b, const char *path)
{
    const size_t n = b->pictures < MOST ? b->pictures : MOST;
    uint8_t *rgb = pictures_of(b, n);
    char(*text)[LABEL] = calloc(n, sizeof *text);
    const char **name = calloc(n, sizeof *name);
    char label[96];
    int code;

    snprintf(label, sizeof label,
             "step %llu: %zu of %u pictures as training sees them",
             (unsigned long long)b->step, n, b->pictures);
    for (size_t i = 0; text && name && i < n; i++) {
        if (b->targets)
            name_labels(text[i], b, i);
        name[i] = text[i];
    }
    code = rgb && text && name
               ? draw(b, rgb, n, ACROSS, b->targets ? name : NULL, label, path)
               : fail("out of memory");
    free(rgb);
    free(text);
    free(name);
    return code;
}

int show_preview(const vitcl_train_batch *b, const char *path)
{
    uint8_t *rgb = pictures_of(b, b->pictures);
    const int code =
        rgb ? draw(b, rgb, b->pictures, ACROSS, b->label,
                   "RandAugment's operations at this training's magnitude, "
                   "each alone",
                   path)
            : fail("out of memory");

    free(rgb);
    return code;
}

/* ---- masked patches ---- */

/* Grey: as far from all colours as can be. */
static const uint8_t mask[3] = {128, 128, 128};

/* The middle of the colours of a class. */
static void colour_of(uint8_t out[3], int32_t class)
{
    for (int c = 0; c < 3; c++)
        out[c] = (uint8_t)((class >> (6 - 3 * c) & 7) * 32 + 16);
}

typedef enum { ORIGINAL, MASKED, MEANS, GUESSES, ROWS } row;

/* Patch n of picture i in this row of the figure, over `out`, that picture. */
static void put_patch(uint8_t *out, const vitcl_train_batch *b, row what,
                      size_t i, size_t n)
{
    const size_t across = b->width / b->patch_width;
    const size_t patches = across * (b->height / b->patch_height);
    const size_t top = n / across * b->patch_height,
                 left = n % across * b->patch_width;
    const int32_t source = b->source[i * patches + n];
    const size_t from = source < 0 ? n : (size_t)source;
    const int32_t colour = b->colour[i * patches + n];
    uint8_t flat[3];

    memcpy(flat, mask, sizeof flat);
    if (what == MEANS || what == GUESSES) {
        if (colour < 0)
            return;
        colour_of(flat, what == MEANS ? colour : b->predicted[i * patches + n]);
    }
    for (size_t y = 0; y < b->patch_height; y++)
        for (size_t x = 0; x < b->patch_width; x++)
            for (uint32_t c = 0; c < 3; c++) {
                const size_t at =
                    (from / across * b->patch_height + y) * b->width +
                    from % across * b->patch_width + x;

                out[((top + y) * b->width + left + x) * 3 + c] =
                    what == MASKED && source >= 0 ? pixel(b, i, c, at)
                                                  : flat[c];
            }
}

int show_predicted(const vitcl_train_batch *b, const char *path)
{
    static const char *const names[ROWS] = {"original", "masked",
                                            "mean colours", "predicted"};
    const size_t n = b->pictures < PREDICTED ? b->pictures : PREDICTED;
    const size_t bytes = (size_t)b->height * b->width * 3;
    const size_t patches =
        (size_t)(b->height / b->patch_height) * (b->width / b->patch_width);
    uint8_t *first = pictures_of(b, n), *rgb = malloc(ROWS * n * bytes);
    const char *name[ROWS * PREDICTED];
    size_t right = 0, asked = 0;
    char label[96];
    int code;

    for (size_t i = 0; i < b->pictures * patches; i++) {
        asked += b->colour[i] >= 0;
        right += b->colour[i] >= 0 && b->colour[i] == b->predicted[i];
    }
    snprintf(label, sizeof label,
             "step %llu: %zu of %zu masked patches of %u pictures right",
             (unsigned long long)b->step, right, asked, b->pictures);
    for (size_t i = 0; first && rgb && i < ROWS * n; i++) {
        uint8_t *tile = rgb + i * bytes;

        name[i] = names[i / n];
        memcpy(tile, first + i % n * bytes, bytes);
        for (size_t k = 0; i / n != ORIGINAL && k < patches; k++)
            put_patch(tile, b, (row)(i / n), i % n, k);
    }
    code = first && rgb ? draw(b, rgb, ROWS * n, n, name, label, path)
                        : fail("out of memory");
    free(first);
    free(rgb);
    return code;
}
