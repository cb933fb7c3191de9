/*
 * curve.c - draws the loss and accuracy of a training as a PNG.
 *
 * Blue: the loss (left axis, from 0). Orange: accuracy on the training
 * pictures; green, with dots: on held-out pictures (right axis, 0 to 1). With
 * more steps than columns, a column is the mean of its steps. The PNG is not
 * compressed, so that it needs no library.
 */
#include "curve.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { W = 760, H = 400, LEFT = 60, RIGHT = 700, TOP = 40, BOTTOM = 370 };

typedef struct point {
    double step, loss, accuracy, held; /* held < 0: not scored */
} point;

struct curve {
    point *at;
    size_t count, room;
    bool lost; /* out of memory for a point */
    uint8_t rgb[H][W][3];
};

curve *curve_new(void)
{
    return calloc(1, sizeof(curve));
}

void curve_free(curve *c)
{
    if (c)
        free(c->at);
    free(c);
}

void curve_add(curve *c, const vitcl_train_event *e)
{
    if (c->count == c->room) {
        const size_t room = c->room ? 2 * c->room : 1024;
        point *at = realloc(c->at, room * sizeof *at);

        c->lost = c->lost || !at;
        if (!at)
            return;
        c->at = at, c->room = room;
    }
    c->at[c->count++] = (point){(double)e->step, e->loss, e->accuracy,
                                e->scored ? e->held_out_accuracy : -1};
}

/* ---- drawing ---- */

static const uint8_t blue[3] = {31, 90, 180}, orange[3] = {235, 140, 40},
                     green[3] = {20, 140, 60}, grey[3] = {215, 215, 215},
                     black[3] = {40, 40, 40};

static void dot(curve *c, double x, double y, int size, const uint8_t *colour)
{
    for (int i = 0; i < size; i++)
        for (int k = 0; k < size; k++) {
            const int px = (int)(x + 0.5) + k - size / 2;
            const int py = (int)(y + 0.5) + i - size / 2;

            if (px >= 0 && px < W && py >= 0 && py < H)
                memcpy(c->rgb[py][px], colour, 3);
        }
}

static void line(curve *c, const double a[2], const double b[2],
                 const uint8_t *colour)
{
    const int n = (int)fmax(fabs(b[0] - a[0]), fabs(b[1] - a[1])) + 1;

    for (int i = 0; i <= n; i++)
        dot(c, a[0] + (b[0] - a[0]) * i / n, a[1] + (b[1] - a[1]) * i / n, 2,
            colour);
}

/* A letter has three by five dots: rows from the top, three bits each. */
static unsigned glyph(char letter)
{
    static const struct {
        char letter;
        unsigned rows;
    } font[] = {
        {'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071317},
        {'4', 055711}, {'5', 074717}, {'6', 074757}, {'7', 071122},
        {'8', 075757}, {'9', 075717}, {'.', 000002}, {'a', 003557},
        {'c', 003443}, {'d', 013553}, {'e', 025743}, {'h', 044755},
        {'i', 020222}, {'l', 022221}, {'n', 006555}, {'o', 002552},
        {'p', 065644}, {'r', 003444}, {'s', 003636}, {'t', 027223},
        {'u', 005557}, {'y', 055716},
    };

    for (size_t i = 0; i < sizeof font / sizeof *font; i++)
        if (font[i].letter == letter)
            return font[i].rows;
    return 0;
}

static void text(curve *c, int x, int y, const char *s, const uint8_t *colour)
{
    for (; *s; s++, x += 8)
        for (int bit = 0; bit < 15; bit++)
            if (glyph(*s) >> (14 - bit) & 1)
                dot(c, x + 2 * (bit % 3), y + 2 * (bit / 3), 2, colour);
}

static void frame(curve *c, double most)
{
    char label[32];

    memset(c->rgb, 255, sizeof c->rgb);
    for (int i = 0; i <= 4; i++) {
        const double y = (double)BOTTOM + (double)(TOP - BOTTOM) * i / 4.0;

        line(c, (double[]){LEFT, y}, (double[]){RIGHT, y}, grey);
        snprintf(label, sizeof label, "%.3g", most * i / 4);
        text(c, 8, (int)y - 4, label, blue);
        snprintf(label, sizeof label, "%.2f", i / 4.0);
        text(c, RIGHT + 10, (int)y - 4, label, orange);
    }
    text(c, LEFT, 12, "loss", blue);
    text(c, LEFT + 80, 12, "accuracy", orange);
    text(c, LEFT + 200, 12, "held out accuracy", green);
    snprintf(label, sizeof label, "%.0f", c->at[0].step);
    text(c, LEFT, BOTTOM + 12, label, black);
    snprintf(label, sizeof label, "step %.0f", c->at[c->count - 1].step);
    text(c, RIGHT - 8 * (int)strlen(label), BOTTOM + 12, label, black);
}

/* The mean of a column's finite points; false: there are none. */
static bool column(double *out, const curve *c, int x, bool loss)
{
    const size_t n = c->count, columns = RIGHT - LEFT;
    size_t first = n * (size_t)x / columns, end = n * (size_t)(x + 1) / columns;
    double sum = 0;
    size_t found = 0;

    for (size_t i = first; i < end; i++) {
        const double v = loss ? c->at[i].loss : c->at[i].accuracy;

        if (isfinite(v))
            sum += v, found++;
    }
    *out = found ? sum / (double)found : 0;
    return found > 0;
}

static void draw_means(curve *c, bool loss, double most, const uint8_t *colour)
{
    double before[2], now[2], v;
    bool first = true;

    for (int x = 0; x < RIGHT - LEFT; x++) {
        if (!column(&v, c, x, loss))
            continue;
        now[0] = LEFT + x;
        now[1] = (double)BOTTOM + (double)(TOP - BOTTOM) * fmin(v / most, 1);
        if (!first)
            line(c, before, now, colour);
        memcpy(before, now, sizeof now);
        first = false;
    }
}

static void draw(curve *c)
{
    double most = 0, v, before[2], now[2];
    bool first = true;

    for (int x = 0; x < RIGHT - LEFT; x++)
        if (column(&v, c, x, true))
            most = fmax(most, v);
    most = most > 0 ? most : 1;
    frame(c, most);
    draw_means(c, false, 1, orange);
    draw_means(c, true, most, blue);
    for (size_t i = 0; i < c->count; i++) {
        if (c->at[i].held < 0)
            continue;
        now[0] = (double)LEFT +
                 (double)(RIGHT - LEFT) * (double)i / (double)c->count;
        now[1] = (double)BOTTOM + (double)(TOP - BOTTOM) * c->at[i].held;
        dot(c, now[0], now[1], 6, green);
        if (!first)
            line(c, before, now, green);
        memcpy(before, now, sizeof now);
        first = false;
    }
}

/* ---- PNG ---- */

typedef struct sink {
    FILE *f;
    uint32_t crc, a, b; /* CRC-32 of a chunk, Adler-32 of the data */
} sink;

static void put(sink *s, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    fwrite(p, 1, n, s->f);
    for (size_t i = 0; i < n; i++) {
        s->crc ^= p[i];
        for (int k = 0; k < 8; k++)
            s->crc = s->crc >> 1 ^ (s->crc & 1 ? 0xedb88320u : 0);
    }
}

static void put_u32(sink *s, uint32_t v)
{
    put(s,
        (uint8_t[]){(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),
                    (uint8_t)v},
        4);
}

static void begin(sink *s, const char *type, uint32_t size)
{
    put_u32(s, size);
    s->crc = UINT32_MAX;
    put(s, type, 4);
}

/* One row as a stored block of deflate: filter 0, then its bytes. */
static void put_row(sink *s, const uint8_t *row, bool last)
{
    enum { N = 1 + 3 * W };
    uint8_t block[5 + N] = {last,
                            N & 255,
                            N >> 8,
                            (uint8_t)(~N & 255),
                            (uint8_t)((unsigned)~N >> 8 & 255),
                            0};

    memcpy(block + 6, row, N - 1);
    put(s, block, sizeof block);
    for (size_t i = 5; i < sizeof block; i++) {
        s->a = (s->a + block[i]) % 65521;
        s->b = (s->b + s->a) % 65521;
    }
}

static bool put_picture(curve *c, FILE *f)
{
    static const uint8_t head[5] = {8, 2, 0, 0, 0}; /* 8-bit RGB */
    sink s = {.f = f, .a = 1};

    put(&s, "\x89PNG\r\n\x1a\n", 8);
    begin(&s, "IHDR", 13);
    put_u32(&s, W);
    put_u32(&s, H);
    put(&s, head, sizeof head);
    put_u32(&s, ~s.crc);
    begin(&s, "IDAT", 2 + H * (6 + 3 * W) + 4);
    put(&s, "\x78\x01", 2);
    for (int y = 0; y < H; y++)
        put_row(&s, c->rgb[y][0], y == H - 1);
    put_u32(&s, s.b << 16 | s.a);
    put_u32(&s, ~s.crc);
    begin(&s, "IEND", 0);
    put_u32(&s, ~s.crc);
    return fflush(f) == 0 && !ferror(f);
}

int curve_write(curve *c, const char *path)
{
    char part[4096]; /* complete, it replaces the old file */
    struct stat st;
    const bool direct = lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
    const int n =
        snprintf(part, sizeof part, "%s%s", path, direct ? "" : ".part");
    int error;
    FILE *f;

    if (c->count == 0)
        return 1;
    errno = n < 0 || (size_t)n >= sizeof part ? ENAMETOOLONG : ENOMEM;
    f = errno == ENOMEM && !c->lost ? fopen(part, "wbe") : NULL;
    if (!f)
        return 0;
    draw(c);
    errno = 0;
    error = put_picture(c, f) ? 0 : errno ? errno : EIO;
    if (fclose(f) != 0 && !error)
        error = errno;
    if (!direct && !error && rename(part, path) != 0)
        error = errno;
    if (!direct && error)
        remove(part);
    errno = error;
    return !error;
}
