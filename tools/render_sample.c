/*
 * render_sample.c - draws tests/data/sample.jpg, a ship at sea.
 *
 *     build/tests/render_sample tests/data/sample.jpg
 *
 * The repository contains a picture so that a first run needs no download; a
 * drawn one has the repository's license. A ray is marched to the ship (a
 * distance function); waves and clouds are noise. small.png is its middle,
 * 480 pixels wide, at 32x32.
 */
#include <stdio.h> /* before jpeglib.h, which needs FILE */

#include <jpeglib.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { SAMPLES = 3 };
#define WIDTH 640
#define HEIGHT 480

typedef struct {
    double x, y, z;
} vec;

static const vec sun = {-0.5, 0.62, -0.6};
static const vec eye = {0, 1.5, 0};
static const vec ship = {0, 0, 7.5}; /* amidships, at the waterline */

static vec vec_at(double x, double y, double z)
{
    return (vec){x, y, z};
}

static vec add(vec a, vec b)
{
    return vec_at(a.x + b.x, a.y + b.y, a.z + b.z);
}

static vec scale(vec a, double f)
{
    return vec_at(a.x * f, a.y * f, a.z * f);
}

static double dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vec unit(vec a)
{
    return scale(a, 1 / sqrt(dot(a, a)));
}

static vec mix(vec a, vec b, double t)
{
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return add(scale(a, 1 - t), scale(b, t));
}

static double step_between(double low, double high, double x)
{
    double t = (x - low) / (high - low);

    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

/* A number in [0,1) that depends on a grid point alone. */
static double hash(int x, int y)
{
    uint32_t h = (uint32_t)x * 374761393u + (uint32_t)y * 668265263u;

    h = (h ^ (h >> 13)) * 1274126177u;
    return (h ^ (h >> 16)) / 4294967296.0;
}

static double noise(double x, double y)
{
    int i = (int)floor(x), j = (int)floor(y);
    double u = step_between(0, 1, x - i), v = step_between(0, 1, y - j);
    double low = hash(i, j) * (1 - u) + hash(i + 1, j) * u;
    double high = hash(i, j + 1) * (1 - u) + hash(i + 1, j + 1) * u;

    return low * (1 - v) + high * v;
}

static double clouds(double x, double y, int octaves)
{
    double sum = 0, weight = 0.5;

    for (int i = 0; i < octaves; i++, weight /= 2) {
        sum += weight * noise(x, y);
        x = 2.03 * x + 17;
        y = 2.03 * y + 5;
    }
    return sum;
}

static double box(vec p, vec centre, vec half)
{
    vec q = add(p, scale(centre, -1));
    double x = fabs(q.x) - half.x, y = fabs(q.y) - half.y,
           z = fabs(q.z) - half.z;
    double inside = fmin(fmax(x, fmax(y, z)), 0);

    x = fmax(x, 0), y = fmax(y, 0), z = fmax(z, 0);
    return sqrt(x * x + y * y + z * z) + inside;
}

/* A point in the ship's own frame: x towards the bow, which is to the right and
 * a little nearer than the stern. */
static vec aboard(vec p)
{
    const double c = cos(0.28), s = sin(0.28);
    vec q = add(p, scale(ship, -1));

    return vec_at(c * q.x - s * q.z, q.y, s * q.x + c * q.z);
}

/* The deck rises towards the bow; the sides meet there in a stem that leans
 * forward. 0.6 keeps the march inside bounds. */
static double hull(vec q)
{
    double along = q.x - 0.3 * (q.y - 0.3);
    double bow = step_between(0.9, 2.75, along);
    double stern = step_between(-2.0, -2.7, along);
    double half = 0.52 * (1 - bow) * (1 - 0.25 * stern) + 0.01;
    double deck = 0.62 + 0.25 * step_between(0.4, 2.8, along);
    double x = fabs(along) - 2.65, y = fmax(q.y - deck, -0.5 - q.y);

    return 0.6 * fmax(fmax(x, y), fabs(q.z) - half);
}

static double funnel(vec q)
{
    double x = q.x + 1.15 + 0.12 * (q.y - 1.3), r = sqrt(x * x + q.z * q.z);

    return 0.9 * fmax(r - 0.2, fabs(q.y - 1.5) - 0.42);
}

static double house(vec q)
{
    double low = box(q, vec_at(-0.9, 0.8, 0), vec_at(1.15, 0.22, 0.36));
    double middle = box(q, vec_at(-0.65, 1.12, 0), vec_at(0.8, 0.16, 0.32));
    double bridge = box(q, vec_at(-0.2, 1.42, 0), vec_at(0.3, 0.16, 0.36));

    return fmin(low, fmin(middle, bridge));
}

static double masts(vec q)
{
    double fore = box(q, vec_at(1.35, 1.4, 0), vec_at(0.025, 0.75, 0.025));
    double boom = box(q, vec_at(1.0, 1.15, 0), vec_at(0.36, 0.02, 0.02));
    double main = box(q, vec_at(-0.25, 1.85, 0), vec_at(0.02, 0.45, 0.02));
    double yard = box(q, vec_at(-0.25, 2.1, 0), vec_at(0.02, 0.02, 0.22));

    return fmin(fmin(fore, boom), fmin(main, yard));
}

static double hatches(vec q)
{
    return fmin(box(q, vec_at(0.75, 0.75, 0), vec_at(0.3, 0.12, 0.26)),
                box(q, vec_at(1.75, 0.85, 0), vec_at(0.22, 0.1, 0.2)));
}

static double scene(vec p)
{
    vec q = aboard(p);

    return fmin(fmin(hull(q), hatches(q)),
                fmin(house(q), fmin(funnel(q), masts(q))));
}

static vec normal(vec p)
{
    double e = 1e-4;

    return unit(vec_at(
        scene(add(p, vec_at(e, 0, 0))) - scene(add(p, vec_at(-e, 0, 0))),
        scene(add(p, vec_at(0, e, 0))) - scene(add(p, vec_at(0, -e, 0))),
        scene(add(p, vec_at(0, 0, e))) - scene(add(p, vec_at(0, 0, -e)))));
}

static vec sky(vec d)
{
    vec low = {0.80, 0.86, 0.93}, high = {0.16, 0.38, 0.75};
    vec white = {1.0, 0.98, 0.95}, grey = {0.74, 0.78, 0.84};
    double glow = pow(fmax(dot(d, unit(vec_at(-0.55, 0.3, 0.8))), 0), 8);
    double y = fmax(d.y, 0.02);
    double x = d.x / (y + 0.25), z = d.z / (y + 0.25);
    double c = clouds(1.6 * x + 3, 2.4 * z, 6);
    double shade = clouds(1.6 * x + 3.2, 2.4 * z + 0.15, 6);
    vec colour = mix(low, high, pow(y, 0.55) * 1.25);

    colour = mix(colour, vec_at(1, 0.95, 0.85), 0.5 * glow);
    return mix(colour, mix(white, grey, 4 * (shade - 0.5)),
               0.9 * step_between(0.5, 0.72, c) *
                   step_between(0.02, 0.14, d.y)); /* none in the haze */
}

static vec paint(vec q)
{
    const double near = 0.003;

    if (hull(q) < near) {
        if (q.y < 0.09)
            return vec_at(0.50, 0.07, 0.05);
        if (q.y < 0.13)
            return vec_at(0.85, 0.85, 0.82);
        return vec_at(0.04, 0.07, 0.16);
    }
    if (funnel(q) < near)
        return fabs(q.y - 1.6) < 0.13 ? vec_at(0.9, 0.9, 0.88)
                                      : vec_at(0.72, 0.10, 0.06);
    if (house(q) < near) {
        double port = q.x * 6 - floor(q.x * 6) - 0.5, above = q.y - 0.84;
        int glass = port * port / 36 + above * above < 0.0022;

        /* windows of the bridge, portholes below */
        if (fabs(q.y - 1.47) < 0.05 && fabs(port) < 0.4)
            glass = 1;
        return glass ? vec_at(0.05, 0.08, 0.12) : vec_at(0.86, 0.86, 0.83);
    }
    if (hatches(q) < near)
        return vec_at(0.45, 0.28, 0.12);
    return vec_at(0.55, 0.38, 0.16);
}

static vec shade(vec p, vec d)
{
    vec n = normal(p), half = unit(add(unit(sun), scale(d, -1)));
    double light = fmax(dot(n, unit(sun)), 0);
    double shine = 0.15 * pow(fmax(dot(n, half), 0), 24);
    vec colour = scale(paint(aboard(p)), 0.45 + 0.2 * n.y + 1.0 * light);

    return add(colour, vec_at(shine, shine, shine));
}

/* The distance along the ray to the ship, or a negative number. */
static double reach(vec from, vec d, double most)
{
    double t = 0.02;

    for (int i = 0; i < 200 && t < most; i++) {
        double near = scene(add(from, scale(d, t)));

        if (near < 0.0008)
            return t;
        t += near;
    }
    return -1;
}

/* Water mirrors the sky and the ship the more, the flatter it is seen. */
static vec sea(vec p, vec d, double far)
{
    double e = 0.05, ripple = 0.5 / (1 + 0.06 * far);
    double h = clouds(1.7 * p.x, 3.2 * p.z, 5);
    double x = (clouds(1.7 * (p.x + e), 3.2 * p.z, 5) - h) / e;
    double z = (clouds(1.7 * p.x, 3.2 * (p.z + e), 5) - h) / e;
    vec n = unit(vec_at(-0.35 * ripple * x, 1, -0.35 * ripple * z));
    vec mirrored = add(d, scale(n, -2 * dot(n, d)));
    double steep = fmax(-dot(n, d), 0);
    double fresnel = 0.03 + 0.75 * pow(1 - steep, 4);
    vec water = mix(vec_at(0.02, 0.13, 0.20), vec_at(0.05, 0.28, 0.34), h);
    vec q = aboard(p);
    double wash = fabs(q.z) - 0.55 + 0.3 * step_between(0.5, 2.6, q.x);
    double foam = q.x < 2.7 && q.x > -4.5
                      ? step_between(0.55, 0.0, wash) *
                            step_between(0.40, 0.62,
                                         clouds(9 * p.x, 16 * p.z, 4) +
                                             0.12 * step_between(-1, 2.7, q.x))
                      : 0;
    double t;
    vec seen;

    mirrored = unit(vec_at(mirrored.x, fmax(mirrored.y, 0.01), mirrored.z));
    t = reach(p, mirrored, 6);
    seen = t > 0 ? shade(add(p, scale(mirrored, t)), mirrored) : sky(mirrored);
    water = mix(water, seen, fresnel);
    water = mix(water, vec_at(0.9, 0.93, 0.95), 0.85 * foam);
    return mix(water, vec_at(0.62, 0.74, 0.86), step_between(15, 90, far));
}

static vec look(double px, double py)
{
    vec d = unit(vec_at((px - WIDTH / 2.0) / HEIGHT,
                        (HEIGHT / 2.0 - py) / HEIGHT - 0.1, 1.25));
    double t = reach(eye, d, 14), far = d.y < 0 ? -eye.y / d.y : 1e9;

    if (t > 0 && t < far)
        return shade(add(eye, scale(d, t)), d);
    return far < 1e3 ? sea(add(eye, scale(d, far)), d, far) : sky(d);
}

static uint8_t film(double light, double grain)
{
    double v = 255 * pow(fmax(light, 0), 1 / 1.25) + grain;

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

static void draw(uint8_t *row, int y)
{
    for (int x = 0; x < WIDTH; x++) {
        vec sum = {0, 0, 0};
        double grain = 5 * (hash(x + 1000, y) + hash(x, y + 1000) - 1);

        for (int i = 0; i < SAMPLES * SAMPLES; i++)
            sum = add(sum, look(x + (i % SAMPLES + 0.5) / (double)SAMPLES,
                                y + (i / SAMPLES + 0.5) / (double)SAMPLES));
        sum = scale(sum, 1.0 / (SAMPLES * SAMPLES));
        row[3 * x] = film(sum.x, grain);
        row[3 * x + 1] = film(sum.y, grain);
        row[3 * x + 2] = film(sum.z, grain);
    }
}

int main(int argc, char **argv)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t row[3 * WIDTH], *rows = row;
    FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;

    if (!file) {
        fprintf(stderr, "usage: render_sample OUT.jpg\n");
        return 2;
    }
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = WIDTH;
    jpeg.image_height = HEIGHT;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 85, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < HEIGHT; y++) {
        draw(row, y);
        jpeg_write_scanlines(&jpeg, &rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return fclose(file) != 0;
}
