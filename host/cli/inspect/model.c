/*
 * model.c - what `vitcl inspect` shows of a model: the filters of its
 * patches, how alike its positions are, how far its heads look.
 */
#include "api/program.h"
#include "base/status.h"
#include "inspect.h"
#include "inspect/components.h"
#include "parts/partition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- filters ---- */

enum { FILTERS = 28, ACROSS = 7 }; /* as in the paper's figure 7 */

/* Each component is [3][p][p]; grey is 0, and the number farthest from 0 is as
 * far from grey as a colour can be. */
static void colour_filters(unsigned char *rgb, const double *axis, int k,
                           size_t p)
{
    const size_t n = 3 * p * p;

    for (int i = 0; i < k; i++) {
        const double *a = axis + (size_t)i * n;
        double most = 0;

        for (size_t j = 0; j < n; j++)
            most = fmax(most, fabs(a[j]));
        for (size_t j = 0; j < n; j++)
            rgb[(size_t)i * n + j % (p * p) * 3 + j / (p * p)] =
                (unsigned char)(127.5 + (most > 0 ? 127.5 * a[j] / most : 0));
    }
}

static int draw_filters(inspect_files *f, const unsigned char *rgb,
                        const double *axis, const double *variance, int k,
                        int p)
{
    const vitcl_shape shape = {
        .name = "filters",
        .rank = 4,
        .shape = {(uint64_t)k, 3, (uint64_t)p, (uint64_t)p}};
    const vt_contact_sheet sheet = {
        .rgb = rgb,
        .count = k,
        .rows = p,
        .columns = p,
        .across = k < ACROSS ? k : ACROSS,
        .label = "principal components of the patch filters"};
    char alt[INSPECT_TEXT];
    double sum = 0;

    for (int i = 0; i < k; i++)
        sum += variance[i];
    snprintf(alt, sizeof alt,
             "The first %d principal components of the patch embedding's "
             "filters, %d by %d pixels each, row by row. The first has %.1f %% "
             "of the filters' variance, all together %.1f %%.",
             k, p, p, 100 * variance[0], 100 * sum);
    return inspect_write(
        f, &(inspect_figure){
               .kind = "filters",
               .title = "Patch filters",
               .alt = alt,
               .caption =
                   "Principal components of the linear embedding's filters, "
                   "with the mean filter taken away (figure 7, left, of arXiv "
                   "2010.11929). Grey is 0; each tile has a scale of its own. "
                   "The sign is such that the number farthest from 0 is "
                   "positive.",
               .sheet = &sheet,
               .unit = "weight, of an axis of length 1",
               .shape = &shape,
               .value = axis});
}

static int show_filters(inspect_files *f, const vitcl_model *m,
                        const vitcl_model_info *info)
{
    static const char name[] = "patch_embed.proj.weight";
    vitcl_tensor_info t = {.size = sizeof t};
    const size_t p = info->patch, n = 3 * p * p;
    int k = FILTERS, code;
    unsigned char *rgb;
    double *axis, *variance;
    float *w;

    if (vt_model_read_weight(&t, NULL, 0, m, name) != VITCL_OK || t.rank != 2)
        return inspect_left_out(f, "filters", "the model embeds no patches");
    if (t.shape[1] != n)
        return inspect_left_out(f, "filters",
                                "the patches are not squares of colours: "
                                "convolutions come before them");
    k = (size_t)k > n ? (int)n : k;
    w = calloc((size_t)t.shape[0] * n, sizeof *w);
    axis = calloc((size_t)k * n, sizeof *axis);
    variance = calloc((size_t)k, sizeof *variance);
    rgb = calloc((size_t)k * n, 1);
    TRY(w && axis && variance && rgb ? EXIT_OK : fail("out of memory"));
    TRY(vt_model_read_weight(&t, w, (size_t)t.shape[0] * n, m, name));
    TRY(vt_components(axis, NULL, variance, k, w, (int)t.shape[0], (int)n));
    colour_filters(rgb, axis, k, p);
    TRY(draw_filters(f, rgb, axis, variance, k, (int)p));
done:
    free(w);
    free(axis);
    free(variance);
    free(rgb);
    return code;
}

/* ---- positions ---- */

/* How alike are neighbours, and patches far apart? */
static void describe_positions(char alt[INSPECT_TEXT], const double *s,
                               int rows, int columns)
{
    const int n = rows * columns;
    double near = 0, all = 0;
    long nears = 0, pairs = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const int away =
                abs(i / columns - j / columns) + abs(i % columns - j % columns);

            if (away)
                all += s[(size_t)i * (size_t)n + (size_t)j], pairs++;
            if (away == 1)
                near += s[(size_t)i * (size_t)n + (size_t)j], nears++;
        }
    snprintf(alt, INSPECT_TEXT,
             "A grid of %d by %d tiles, one for each position; each tile has "
             "the cosine similarity of that position's embedding to all "
             "others. Between neighbours it is %.2f in the mean, between any "
             "two %.2f.",
             rows, columns, nears ? near / (double)nears : 1,
             pairs ? all / (double)pairs : 1);
}

static int draw_positions(inspect_files *f, const double *s, int rows,
                          int columns, const char *how)
{
    const uint64_t r = (uint64_t)rows, c = (uint64_t)columns;
    const vitcl_shape shape = {
        .name = "positions", .rank = 4, .shape = {r, c, r, c}};
    const vt_contact_sheet sheet = {.value = s,
                                    .count = rows * columns,
                                    .rows = rows,
                                    .columns = columns,
                                    .across = columns,
                                    .least = -1,
                                    .most = 1,
                                    .columns_title = "column of the patch",
                                    .rows_title = "row of the patch",
                                    .label =
                                        "cosine similarity of the positions"};
    char alt[INSPECT_TEXT], caption[INSPECT_TEXT];

    snprintf(caption, sizeof caption,
             "Cosine similarity of position embeddings, %s (figure 7, centre, "
             "of arXiv 2010.11929). The tile at a row and column compares the "
             "position there with every position of the grid.",
             how);
    describe_positions(alt, s, rows, columns);
    return inspect_write(f, &(inspect_figure){.kind = "positions",
                                              .title = "Position similarity",
                                              .alt = alt,
                                              .caption = caption,
                                              .sheet = &sheet,
                                              .unit = "cosine",
                                              .shape = &shape,
                                              .value = s});
}

/* A weight [rows, width], or NULL. */
static float *read_rows(const vitcl_model *m, const char *name, size_t *rows,
                        size_t *width)
{
    vitcl_tensor_info t = {.size = sizeof t};
    float *w;

    if (vt_model_read_weight(&t, NULL, 0, m, name) != VITCL_OK || t.rank != 2)
        return NULL;
    *rows = t.shape[0], *width = t.shape[1];
    w = calloc(*rows * *width, sizeof *w);
    if (w && vt_model_read_weight(&t, w, *rows * *width, m, name) == VITCL_OK)
        return w;
    free(w);
    return NULL;
}

/* The paper's 2-D positions: half from the column, half from the row. */
static float *join_axes(const float *x, const float *y, size_t rows,
                        size_t columns, size_t half)
{
    float *w = calloc(rows * columns * 2 * half, sizeof *w);

    for (size_t i = 0; w && i < rows * columns; i++) {
        memcpy(w + 2 * i * half, x + i % columns * half, half * sizeof *w);
        memcpy(w + (2 * i + 1) * half, y + i / columns * half,
               half * sizeof *w);
    }
    return w;
}

static float *read_axes(const vitcl_model *m, const char *prefix, size_t *rows,
                        size_t *width)
{
    char name[64];
    size_t columns = 0, half = 0;
    float *x, *y, *w = NULL;

    snprintf(name, sizeof name, "%spos_embed_x", prefix);
    x = read_rows(m, name, &columns, &half);
    snprintf(name, sizeof name, "%spos_embed_y", prefix);
    y = read_rows(m, name, rows, &half);
    if (x && y) {
        w = join_axes(x, y, *rows, columns, half);
        *rows *= columns, *width = 2 * half;
    }
    free(x);
    free(y);
    return w;
}

static int show_positions(inspect_files *f, const vitcl_model *m,
                          const vitcl_model_info *info)
{
    static const char *const prefixes[] = {"", "blocks.0."};
    const size_t gh = info->patch ? info->trained_height / info->patch : 0,
                 gw = info->patch ? info->trained_width / info->patch : 0,
                 n = gh * gw;
    size_t rows = 0, width = 0;
    float *w = NULL;
    double *s;
    const char *how = "as trained";
    char name[64];
    int code;

    for (int i = 0; !w && i < 2; i++) {
        snprintf(name, sizeof name, "%spos_embed", prefixes[i]);
        w = read_rows(m, name, &rows, &width);
        if (!w)
            w = read_axes(m, prefixes[i], &rows, &width);
        if (!w) { /* NaFlex, YOLOS: those that a grid of this size gets */
            snprintf(name, sizeof name, "%spos_embed@%zux%zu", prefixes[i], gh,
                     gw);
            w = read_rows(m, name, &rows, &width);
            how = w ? "resized to this grid" : how;
        }
    }
    if (!w)
        return inspect_left_out(f, "positions",
                                "the model has no position embeddings (they "
                                "are relative or rotary, or there are none)");
    s = n && n <= 4096 && rows >= n ? calloc(n * n, sizeof *s) : NULL;
    if (!s) {
        code = inspect_left_out(f, "positions",
                                "the positions are not those of a grid of at "
                                "most 4096 patches");
    } else if (vt_cosines(s, w + (rows - n) * width, (int)n, (int)width) !=
               VITCL_OK) {
        code = failed();
    } else {
        code = draw_positions(f, s, (int)gh, (int)gw, how);
    }
    free(w);
    free(s);
    return code;
}

int inspect_weights(inspect_files *f, const vitcl_model *m,
                    const vitcl_model_info *info)
{
    RET(inspect_of_model(f));
    RET(show_filters(f, m, info));
    return show_positions(f, m, info);
}

/* ---- attention distance ---- */

/* A line a head, so that it can be sorted and plotted by other tools. */
static int write_table(const inspect_files *files, const double *mean,
                       uint32_t layers, uint32_t heads)
{
    char path[INSPECT_PATH];
    vt_part *part = NULL;
    FILE *f;
    int code;

    if (!inspect_path(path, files, "attention-distance", "tsv"))
        return EXIT_FAILED;
    RET(vt_part_open(&part, path));
    f = vt_part_stream(part);
    fprintf(f, "layer\thead\tpixels\n");
    for (uint32_t l = 0; l < layers; l++)
        for (uint32_t h = 0; h < heads; h++)
            fprintf(f, "%u\t%u\t%.6g\n", l, h, mean[(size_t)l * heads + h]);
    code = code_of(vt_part_commit(part));
    if (code == EXIT_OK)
        inspect_say(path);
    vt_part_free(part);
    return code;
}

enum { FAR, MEAN, NEAR, LINES }; /* the farthest is drawn at the top */

static int draw_distance(inspect_files *f, const vt_figure *chart,
                         const double *mean, const vitcl_shape *shape,
                         uint32_t pictures)
{
    const double *middle = chart->series[MEAN].y;
    const size_t layers = chart->series[MEAN].count;
    char alt[INSPECT_TEXT], caption[INSPECT_TEXT];

    snprintf(alt, sizeof alt,
             "Mean attention distance over depth: in the first layer the heads "
             "look %.0f to %.0f pixels far, in the last %.0f to %.0f; the mean "
             "of the heads goes from %.0f to %.0f.",
             chart->series[NEAR].y[0], chart->series[FAR].y[0],
             chart->series[NEAR].y[layers - 1],
             chart->series[FAR].y[layers - 1], middle[0], middle[layers - 1]);
    snprintf(caption, sizeof caption,
             "Distance between the centres of two patches, weighted by "
             "attention and averaged over querying patches and %u picture%s "
             "(figure 7, right, of arXiv 2010.11929). Prefix tokens do not "
             "count.",
             pictures, vt_plural(pictures));
    return inspect_write(f, &(inspect_figure){.kind = "attention-distance",
                                              .title = "Attention distance",
                                              .alt = alt,
                                              .caption = caption,
                                              .chart = chart,
                                              .unit = "pixels",
                                              .shape = shape,
                                              .value = mean});
}

int inspect_distance(inspect_files *f, const double *mean, uint32_t layers,
                     uint32_t heads, uint32_t pictures)
{
    static const char *const names[LINES] = {
        "farthest head", "mean of the heads", "nearest head"};
    const vitcl_shape shape = {
        .name = "attention_distance", .rank = 2, .shape = {layers, heads}};
    double *y = calloc((size_t)(LINES + 1) * layers, sizeof *y), *x = y;
    vt_series series[LINES];
    const vt_figure chart = {
        .x = {.label = "layer", .from = NAN, .to = NAN, .whole = true},
        .left = {.label = "mean attention distance (pixels)",
                 .from = 0,
                 .to = NAN},
        .right = {.from = NAN, .to = NAN},
        .series = series,
        .count = LINES};
    int code;

    TRY(y ? inspect_of_model(f) : fail("out of memory"));
    TRY(write_table(f, mean, layers, heads));
    for (int i = 0; i < LINES; i++)
        series[i] = (vt_series){.name = names[i],
                                .x = x,
                                .y = x + (size_t)(i + 1) * layers,
                                .count = layers,
                                .dots = true};
    for (uint32_t l = 0; l < layers; l++) {
        const double *d = mean + (size_t)l * heads;
        double near = d[0], far = d[0], sum = 0;

        for (uint32_t h = 0; h < heads; h++) {
            near = fmin(near, d[h]), far = fmax(far, d[h]);
            sum += d[h];
        }
        x[l] = l;
        x[(size_t)(NEAR + 1) * layers + l] = near;
        x[(size_t)(MEAN + 1) * layers + l] = sum / heads;
        x[(size_t)(FAR + 1) * layers + l] = far;
    }
    TRY(draw_distance(f, &chart, mean, &shape, pictures));
done:
    free(y);
    return code;
}
