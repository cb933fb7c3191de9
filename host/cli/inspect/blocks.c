/*
 * blocks.c - draws with characters. A half block is two square pixels, one
 * above the other: one is the letter's colour, one the background's.
 */
#include "blocks.h"

#include "plot/viridis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 40, GAP = 2 }; /* columns: of a picture at most, between them */
static const char ramp[] = " .:-=+*#%@";

typedef enum { PLAIN, XTERM, TRUE_COLOUR } colours;

static bool says(const char *variable, const char *word)
{
    const char *value = getenv(variable);

    return value && strstr(value, word);
}

static colours colours_of_terminal(void)
{
    const char *none = getenv("NO_COLOR");

    if (!is_screen(stdout) || (none && *none))
        return PLAIN;
    return says("COLORTERM", "truecolor") || says("COLORTERM", "24bit") ||
                   says("TERM", "direct")
               ? TRUE_COLOUR
               : XTERM;
}

/* ---- bars ---- */

/* Eighths of a column. */
static void put_bar(double share, int columns, colours how)
{
    static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int eighths = (int)(share * columns * 8 + 0.5);

    if (how == PLAIN) {
        for (int i = 0; i < (eighths + 4) / 8; i++)
            putchar('#');
        return;
    }
    fputs("\033[36m", stdout);
    for (int i = 0; i < eighths / 8; i++)
        fputs("█", stdout);
    printf("%s\033[0m", part[eighths % 8]);
}

void blocks_classes(const naming *n, const answer *a)
{
    enum { INDENT = 2, NUMBER = 8 };
    const colours how = colours_of_terminal();
    const int columns = columns_of(stdout), most = columns / 3;
    int widest = 0, used;
    char room[CLASS_ROOM];

    fputs(how == PLAIN ? "" : "\033[1m", stdout);
    tsv_text(a->path);
    printf("%s%s\n", how == PLAIN ? "" : "\033[0m",
           naming_sure(n) ? "" : "  not sure");
    for (uint32_t i = 0; i < n->k && naming_shown(n, i); i++) {
        const char *name = naming_class(n, n->top[i].label, room);

        fitting(name, naming_first(n, name), most, &used);
        widest = used > widest ? used : widest;
    }
    for (uint32_t i = 0; i < n->k && naming_shown(n, i); i++) {
        const double p = (double)n->top[i].probability;
        const char *name = naming_class(n, n->top[i].label, room);
        const size_t bytes = fitting(name, naming_first(n, name), most, &used);
        const int bar = columns - INDENT - widest - 2 - NUMBER;

        if (i && naming_holds(n, i - 1) && !naming_holds(n, i))
            printf("%*snot sure:\n", INDENT, "");
        printf("%*s", INDENT, "");
        put_text(name, bytes);
        printf("%*s", widest - used + 1, "");
        if (n->answer == VITCL_NUMBERS) {
            printf("%7.4g\n", p);
            continue;
        }
        printf(p < 0.0095 ? "%5.1f %%" : "%5.0f %%", 100 * p);
        putchar(' ');
        put_bar(p, bar > 1 ? bar : 1, how);
        putchar('\n');
    }
}

/* ---- pictures ---- */

/* The mean colour of pixel x, y of a picture of columns x rows. */
static void photo(uint8_t out[3], const blocks_map *m, uint32_t x, uint32_t y,
                  uint32_t columns, uint32_t rows)
{
    const uint64_t left = (uint64_t)x * m->width / columns,
                   top = (uint64_t)y * m->height / rows;
    uint64_t right = (uint64_t)(x + 1) * m->width / columns,
             end = (uint64_t)(y + 1) * m->height / rows, sum[3] = {0, 0, 0}, n;

    right = right > left ? right : left + 1;
    end = end > top ? end : top + 1;
    n = (right - left) * (end - top);
    for (uint64_t v = top; v < end; v++)
        for (uint64_t u = left; u < right; u++)
            for (int c = 0; c < 3; c++)
                sum[c] += m->rgb[(v * m->width + u) * 3 + (uint64_t)c];
    for (int c = 0; c < 3; c++)
        out[c] = (uint8_t)(sum[c] / n);
}

/* The value at a place from 0 to 1, between the middles of four cells. */
static double value_at(const blocks_map *m, double x, double y)
{
    const double u = fmin(fmax(x * m->columns - 0.5, 0), m->columns - 1),
                 v = fmin(fmax(y * m->rows - 0.5, 0), m->rows - 1);
    const uint32_t i = (uint32_t)u, j = (uint32_t)v,
                   k = i + 1 < m->columns ? i + 1 : i,
                   l = j + 1 < m->rows ? j + 1 : j;
    const double *a = m->value + (size_t)j * m->columns,
                 *b = m->value + (size_t)l * m->columns;
    const double above = a[i] + (u - i) * (a[k] - a[i]),
                 below = b[i] + (u - i) * (b[k] - b[i]);

    return above + (v - j) * (below - above);
}

typedef struct scale {
    double least, most;
} scale;

static double on(const scale *s, double v)
{
    return s->most > s->least ? (v - s->least) / (s->most - s->least) : 0;
}

/* As in the files of `vitcl inspect`: most of the colour is the map's. */
static void cover(uint8_t rgb[3], double v)
{
    const uint32_t colour = vt_viridis(v);

    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)(0.35 * rgb[c] +
                           0.65 * (double)(colour >> (16 - 8 * c) & 255) + 0.5);
}

/* The nearest of the cube of 6 x 6 x 6 and the 24 greys. */
static int xterm(const uint8_t rgb[3])
{
    static const int level[] = {0, 95, 135, 175, 215, 255};
    const int mean = (rgb[0] + rgb[1] + rgb[2]) / 3;
    const int grey = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    int at[3], far = 0, far_grey = 0;

    for (int c = 0; c < 3; c++) {
        const int v = rgb[c];
        int d;

        at[c] = v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40;
        d = v - level[at[c]];
        far += d * d;
        d = v - (8 + 10 * grey);
        far_grey += d * d;
    }
    return far_grey < far ? 232 + grey : 16 + 36 * at[0] + 6 * at[1] + at[2];
}

static void put_colour(int ground, const uint8_t rgb[3], colours how)
{
    if (how == TRUE_COLOUR)
        printf("\033[%d;2;%d;%d;%dm", ground, rgb[0], rgb[1], rgb[2]);
    else
        printf("\033[%d;5;%dm", ground, xterm(rgb));
}

/* A row of half blocks: pixels of rows y and y + 1. */
static void put_row(const blocks_map *m, uint32_t y, uint32_t columns,
                    uint32_t rows, const scale *over, colours how)
{
    for (uint32_t x = 0; x < columns; x++) {
        uint8_t half[2][3];

        for (uint32_t i = 0; i < 2; i++) {
            photo(half[i], m, x, y + i, columns, rows);
            if (over)
                cover(half[i], on(over, value_at(m, (x + 0.5) / columns,
                                                 (y + i + 0.5) / rows)));
        }
        put_colour(38, half[0], how);
        put_colour(48, half[1], how);
        fputs("▀", stdout);
    }
    fputs("\033[0m", stdout);
}

static void put_legend(const scale *s, colours how)
{
    char line[64];

    snprintf(line, sizeof line, "%.2g %% ", 100 * s->least);
    printf("  %s", line);
    for (int i = 0; i < 10; i++) {
        uint8_t rgb[3] = {0, 0, 0};
        const uint32_t colour = vt_viridis(i / 9.0);

        for (int c = 0; c < 3; c++)
            rgb[c] = (uint8_t)(colour >> (16 - 8 * c) & 255);
        if (how == PLAIN) {
            putchar(ramp[i]);
            continue;
        }
        put_colour(48, rgb, how);
        putchar(' ');
    }
    printf("%s %.2g %% of the attention, a patch\n",
           how == PLAIN ? "" : "\033[0m", 100 * s->most);
}

static scale range(const blocks_map *m)
{
    scale s = {INFINITY, -INFINITY};

    for (size_t i = 0; i < (size_t)m->rows * m->columns; i++) {
        s.least = fmin(s.least, m->value[i]);
        s.most = fmax(s.most, m->value[i]);
    }
    return s;
}

/* How many columns of square pixels a picture of this shape has, of at most
 * `most`, and how many rows, an even number. */
static uint32_t rows_for(const blocks_map *m, uint32_t *columns, uint32_t most)
{
    const uint32_t longest = 3 * most; /* of a tall picture */
    double rows;

    *columns = most;
    rows = (double)most * m->height / m->width;
    if (rows > longest) {
        *columns = (uint32_t)fmax(1, (double)longest * m->width / m->height);
        rows = longest;
    }
    return 2 * (uint32_t)fmax(1, rows / 2 + 0.5);
}

static void show_plain(const blocks_map *m, const scale *s, uint32_t most)
{
    uint32_t columns;
    const uint32_t rows = rows_for(m, &columns, most);

    for (uint32_t y = 0; y < rows; y += 2) {
        fputs("  ", stdout);
        for (uint32_t x = 0; x < columns; x++) {
            const double v = value_at(m, (x + 0.5) / columns, (y + 1.0) / rows);

            putchar(ramp[(int)fmin(9, fmax(0, on(s, v) * 9 + 0.5))]);
        }
        putchar('\n');
    }
}

int blocks_show(const blocks_map *m)
{
    const colours how = colours_of_terminal();
    const int room = columns_of(stdout) - 2; /* the indent */
    const bool two = how != PLAIN && room >= 2 * 20 + GAP;
    const int each = two ? (room - GAP) / 2 : room;
    const uint32_t most = (uint32_t)(each > SIDE ? SIDE : each > 1 ? each : 1);
    const scale s = range(m);
    uint32_t columns, rows = rows_for(m, &columns, most);

    if (how == PLAIN) {
        show_plain(m, &s, most);
    } else {
        for (uint32_t y = 0; y < rows; y += 2) {
            fputs("  ", stdout);
            if (two) {
                put_row(m, y, columns, rows, NULL, how);
                printf("%*s", GAP, "");
            }
            put_row(m, y, columns, rows, &s, how);
            putchar('\n');
        }
    }
    put_legend(&s, how);
    return flush_results();
}
