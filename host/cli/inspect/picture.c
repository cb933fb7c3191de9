/*
 * picture.c - what `vitcl inspect` shows of a picture.
 */
#include "base/status.h"
#include "base/utf8.h"
#include "inspect.h"
#include "inspect/components.h"
#include "together.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The place of the largest number. */
static int largest(const double *value, int n)
{
    int at = 0;

    for (int i = 1; i < n; i++)
        at = value[i] > value[at] ? i : at;
    return at;
}

/* ---- one map: rollout, relevance ---- */

/* Writes `g` with its sheet, shape and alternative text. */
static int write_map(inspect_files *f, const inspect_picture *p,
                     const inspect_figure *g, const char *label)
{
    const vitcl_shape shape = {
        .name = g->kind,
        .rank = 2,
        .shape = {(uint64_t)p->rows, (uint64_t)p->columns}};
    const vt_contact_sheet sheet = {.photo = p->rgb,
                                    .photo_width = p->width,
                                    .photo_height = p->height,
                                    .beside = true,
                                    .value = g->value,
                                    .count = 1,
                                    .rows = p->rows,
                                    .columns = p->columns,
                                    .across = 2,
                                    .label = label};
    const int at = largest(g->value, p->rows * p->columns);
    inspect_figure whole = *g;
    char alt[INSPECT_TEXT];

    snprintf(alt, sizeof alt,
             "%.*s, and beside it the same under its %.*s: the largest, "
             "%.3g, has the patch in row %d of %d, column %d of %d.",
             (int)vt_utf8_cut(p->name, 150), p->name,
             (int)vt_utf8_cut(label, 150), label, g->value[at],
             at / p->columns + 1, p->rows, at % p->columns + 1, p->columns);
    whole.alt = alt, whole.sheet = &sheet, whole.shape = &shape;
    return inspect_write(f, &whole);
}

int inspect_rollout(inspect_files *f, const inspect_picture *p,
                    const double *value, const char *how,
                    const vt_patch_grid *grid)
{
    char caption[INSPECT_TEXT];
    inspect_figure g = {.kind = "rollout",
                        .title = "Attention rollout",
                        .caption = caption,
                        .unit = "share",
                        .value = value};

    snprintf(caption, sizeof caption,
             "How much of each patch reaches %s%s through all layers (Abnar "
             "and Zuidema, arXiv 2005.00928; %s). Bright is much.",
             grid->read_count > 1 ? "the mean of " : "", inspect_read(grid),
             how);
    return write_map(f, p, &g, "attention rollout: share of each patch");
}

int inspect_relevance(inspect_files *f, const inspect_picture *p,
                      const double *value, const char *label, const char *name,
                      uint32_t index)
{
    char number[32], title[INSPECT_TEXT], text[INSPECT_TEXT];
    inspect_figure g = {.kind = "relevance",
                        .title = title,
                        .caption =
                            "Attention times the gradient of this class' "
                            "logit, its positive part averaged over heads and "
                            "followed through all layers (Chefer, Gur and "
                            "Wolf, arXiv 2103.15679). Bright is much.",
                        .unit = "relevance",
                        .value = value};
    int most;

    snprintf(number, sizeof number, "class %u", index);
    name = name ? name : label ? label : number;
    most = (int)vt_utf8_cut(name, 200);
    snprintf(title, sizeof title, "Relevance for %.*s", most, name);
    snprintf(text, sizeof text, "relevance for %.*s", most, name);
    return write_map(f, p, &g, text);
}

/* ---- attention of a layer ---- */

enum { ACROSS = 4, NAME = 24 };

static int draw_heads(inspect_files *f, const inspect_picture *p,
                      const vt_contact_sheet *sheet, const double *value,
                      uint32_t layer, uint32_t first, const char *from)
{
    const vitcl_shape shape = {.name = "attention",
                               .rank = 3,
                               .shape = {(uint64_t)sheet->count,
                                         (uint64_t)p->rows,
                                         (uint64_t)p->columns}};
    const int n = p->rows * p->columns, at = largest(value, sheet->count * n);
    char alt[INSPECT_TEXT], title[INSPECT_TEXT], caption[INSPECT_TEXT];

    if (sheet->count == 1)
        snprintf(title, sizeof title, "Attention of layer %u, head %u", layer,
                 first);
    else
        snprintf(title, sizeof title, "Attention of layer %u", layer);
    snprintf(alt, sizeof alt,
             "%.*s under the attention of %d head%s of layer %u, from %s: "
             "the largest, %.3g, is of head %u to the patch in row %d of %d, "
             "column %d of %d.",
             (int)vt_utf8_cut(p->name, 200), p->name, sheet->count,
             vt_plural((uint64_t)sheet->count), layer, from, value[at],
             first + (uint32_t)(at / n), at % n / p->columns + 1, p->rows,
             at % n % p->columns + 1, p->columns);
    snprintf(caption, sizeof caption,
             "Attention probabilities from %s to each patch in layer %u "
             "(layers and heads count from 0). Bright is much; all heads have "
             "one scale.%s",
             from, layer, sheet->mark ? " The frame is the patch asked." : "");
    return inspect_write(f, &(inspect_figure){.kind = "attention",
                                              .title = title,
                                              .alt = alt,
                                              .caption = caption,
                                              .sheet = sheet,
                                              .unit = "probability",
                                              .shape = &shape,
                                              .value = value});
}

int inspect_attention(inspect_files *f, const inspect_picture *p,
                      const double *value, uint32_t layer, uint32_t first,
                      uint32_t count, const char *from, int query)
{
    const bool beside = count < ACROSS;
    char label[INSPECT_TEXT];
    char(*text)[NAME] = calloc(count, sizeof *text);
    const char **name = calloc(count, sizeof *name);
    const vt_contact_sheet sheet = {.photo = p->rgb,
                                    .photo_width = p->width,
                                    .photo_height = p->height,
                                    .beside = beside,
                                    .value = value,
                                    .count = (int)count,
                                    .rows = p->rows,
                                    .columns = p->columns,
                                    .across = beside ? (int)count + 1 : ACROSS,
                                    .mark = query,
                                    .name = name,
                                    .label = label};
    int code;

    snprintf(label, sizeof label, "attention of layer %u from %s", layer, from);
    for (uint32_t i = 0; text && name && i < count; i++) {
        snprintf(text[i], NAME, "head %u", first + i);
        name[i] = text[i];
    }
    code = text && name ? draw_heads(f, p, &sheet, value, layer, first, from)
                        : fail("out of memory");
    free(text);
    free(name);
    return code;
}

/* ---- tokens ---- */

enum { COLOURS = INSPECT_COLOURS };
static const double spreads = 2; /* that colours reach on each side */

/* Each component from its smallest score, dark, to its largest; or, of several
 * pictures, with one scale for all. */
static void colour_tokens(unsigned char *rgb, const double *score, int n,
                          const inspect_together *all)
{
    for (int k = 0; k < COLOURS; k++) {
        const double *s = score + (size_t)k * (size_t)n;
        double least = s[0], most = s[0];

        for (int i = 1; i < n; i++)
            least = fmin(least, s[i]), most = fmax(most, s[i]);
        if (all)
            most = spreads * all->spread[k], least = -most;
        for (int i = 0; i < n; i++) {
            const double part =
                most > least ? (s[i] - least) / (most - least) : 0.5;

            rgb[3 * i + k] =
                (unsigned char)(255 * fmin(fmax(part, 0), 1) + 0.5);
        }
    }
}

static int draw_tokens(inspect_files *f, const inspect_picture *p,
                       const unsigned char *rgb, const double *score,
                       const double *variance, const char *of,
                       const inspect_together *all)
{
    const vitcl_shape shape = {
        .name = "pca",
        .rank = 3,
        .shape = {COLOURS, (uint64_t)p->rows, (uint64_t)p->columns}};
    const vt_contact_sheet sheet = {
        .photo = p->rgb,
        .photo_width = p->width,
        .photo_height = p->height,
        .beside = true,
        .rgb = rgb,
        .count = 1,
        .rows = p->rows,
        .columns = p->columns,
        .across = 2,
        .label = "patch tokens: components 1, 2, 3 as red, "
                 "green, blue"};
    char alt[INSPECT_TEXT], caption[INSPECT_TEXT], whose[64], scale[96];

    if (all)
        snprintf(whose, sizeof whose, "the patch tokens of %llu picture%s",
                 (unsigned long long)all->pictures, vt_plural(all->pictures));
    else
        snprintf(whose, sizeof whose, "this picture's patch tokens");
    snprintf(scale, sizeof scale,
             all ? "%g standard deviations below its mean to as many above"
                 : "its smallest number to its largest",
             spreads);
    snprintf(alt, sizeof alt,
             "%.*s, and beside it its patch tokens as colours: patches of "
             "like colour have like tokens. The three components have %.1f, "
             "%.1f and %.1f %% of the variance.",
             (int)vt_utf8_cut(p->name, 200), p->name, 100 * variance[0],
             100 * variance[1], 100 * variance[2]);
    snprintf(caption, sizeof caption,
             "The first three principal components of %s (tensor %s) as red, "
             "green and blue, each from %s. The sign is such that the axis' "
             "number farthest from 0 is positive.",
             whose, of, scale);
    return inspect_write(f, &(inspect_figure){.kind = "pca",
                                              .title = "Patch tokens",
                                              .alt = alt,
                                              .caption = caption,
                                              .sheet = &sheet,
                                              .unit = "score",
                                              .shape = &shape,
                                              .value = score});
}

int inspect_tokens(inspect_files *f, const inspect_picture *p,
                   const float *tokens, uint32_t width, const char *of,
                   const inspect_together *all)
{
    const int n = p->rows * p->columns;
    double *axis = calloc((size_t)COLOURS * width, sizeof *axis),
           *score = calloc((size_t)COLOURS * (size_t)n, sizeof *score);
    unsigned char *rgb = calloc((size_t)COLOURS * (size_t)n, 1);
    double variance[COLOURS];
    int code;

    all = all && all->pictures ? all : NULL;
    TRY(axis && score && rgb ? EXIT_OK : fail("out of memory"));
    if (all)
        vt_scores(score, all->axis, all->mean, COLOURS, tokens, n, (int)width);
    else
        TRY(vt_components(axis, score, variance, COLOURS, tokens, n,
                          (int)width));
    colour_tokens(rgb, score, n, all);
    TRY(draw_tokens(f, p, rgb, score, all ? all->variance : variance, of, all));
done:
    free(axis);
    free(score);
    free(rgb);
    return code;
}
