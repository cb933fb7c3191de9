/*
 * render_sample.c - draws tests/data/sample.jpg, a balloon over hills.
 *
 *     build/tests/render_sample tests/data/sample.jpg
 *
 * The repository carries a picture so that a first run needs no download; it
 * is drawn, so that its terms are the repository's own. A ray is marched to
 * the balloon (a distance function), the land and the sky are noise.
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

static const double pi = 3.14159265358979323846;
static const vec sun = {-0.55, 0.62, -0.56};
static const vec balloon = {0.35, 1.0, 6.0}; /* centre of the envelope */

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

/* Radius of the envelope at height y over its centre; below it narrows to the
 * mouth as a cone does. */
static double envelope_radius(double y)
{
    double mouth = 0.16, top = 1.0;

    if (y > -0.35)
        return y < top ? sqrt(1 - y * y) : 0;
    return mouth + (sqrt(1 - 0.35 * 0.35) - mouth) *
                       pow((y + 1.38) / (1.38 - 0.35), 0.85);
}

static double envelope(vec p)
{
    vec q = add(p, scale(balloon, -1));
    double r = sqrt(q.x * q.x + q.z * q.z);
    double angle = atan2(q.z, q.x);

    if (q.y < -1.38)
        return fmax(-1.38 - q.y, r - 0.16) + 0.02;
    if (q.y > 1)
        return sqrt(r * r + q.y * q.y) - 1;
    /* Gores bulge between their seams; 0.6 keeps the march inside bounds. */
    return 0.6 *
           (r - envelope_radius(q.y) * (1 + 0.012 * fabs(sin(12 * angle))));
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

static double basket(vec p)
{
    return box(p, add(balloon, vec_at(0, -1.86, 0)), vec_at(0.15, 0.12, 0.15));
}

static double ropes(vec p)
{
    double best = 1e9;

    for (int i = 0; i < 4; i++) {
        double sx = i & 1 ? 1 : -1, sz = i & 2 ? 1 : -1;
        vec a = add(balloon, vec_at(sx * 0.14, -1.75, sz * 0.14));
        vec b = add(balloon, vec_at(sx * 0.11, -1.36, sz * 0.11));
        vec ab = add(b, scale(a, -1)), ap = add(p, scale(a, -1));
        double t = dot(ap, ab) / dot(ab, ab);
        vec d = add(ap, scale(ab, -(t < 0 ? 0 : t > 1 ? 1 : t)));

        best = fmin(best, sqrt(dot(d, d)) - 0.008);
    }
    return best;
}

static double scene(vec p)
{
    return fmin(envelope(p), fmin(basket(p), ropes(p)));
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

/* Four ridges of hills, the nearest last; what lies behind is haze. */
static vec land(vec d, vec behind)
{
    vec haze = {0.70, 0.78, 0.87};
    vec colour = behind;
    double x = d.x / d.z;

    for (int i = 0; i < 4; i++) {
        double far = 3.0 - i, ridge;
        double freq = 1.3 + 0.9 * far;

        ridge = -0.05 - 0.085 * i +
                (0.16 - 0.01 * i) * (clouds(freq * x + 31 * i, i, 6) - 0.5);
        if (d.y / d.z < ridge) {
            double depth = (ridge - d.y / d.z) * 9;
            double fields = noise(7 * x + 9 * i + 2 * depth, 5 * depth + i);
            double trees = clouds(60 * x + 8 * i, 220 * d.y, 5);
            vec green =
                mix(vec_at(0.10, 0.20, 0.05), vec_at(0.42, 0.42, 0.14), fields);

            green = scale(green, 0.45 + 1.1 * trees);
            colour = mix(green, haze, 0.27 * far);
        }
    }
    return colour;
}

static vec gore_colour(vec q)
{
    static const vec colours[] = {{0.80, 0.07, 0.05}, {0.95, 0.55, 0.04},
                                  {0.96, 0.83, 0.12}, {0.10, 0.42, 0.18},
                                  {0.07, 0.20, 0.58}, {0.42, 0.08, 0.40}};
    double turn = (atan2(q.z, q.x) + pi) / (2 * pi) * 24;
    int gore = (int)turn;
    double seam = fabs(turn - gore - 0.5);
    vec colour = colours[(gore + (int)floor(3 * (q.y + 3))) % 6];

    if (q.y > 0.93 || q.y < -1.2)
        colour = colours[0];
    return scale(colour, seam > 0.46 ? 0.7 : 1);
}

static vec shade(vec p, vec d)
{
    vec n = normal(p), q = add(p, scale(balloon, -1)), colour;
    double light = fmax(dot(n, unit(sun)), 0);
    double around = 0.42 + 0.22 * n.y;
    vec half = unit(add(unit(sun), scale(d, -1)));
    double shine = pow(fmax(dot(n, half), 0), 24);

    if (envelope(p) < 0.003) {
        colour = gore_colour(q);
        light += 0.12; /* cloth lets light through */
        shine *= 0.16;
    } else if (basket(p) < 0.003) {
        double weave = sin(160 * q.y) * sin(110 * (q.x + q.z));

        colour = scale(vec_at(0.45, 0.27, 0.12), 0.8 + 0.3 * weave);
        shine = 0;
    } else {
        colour = vec_at(0.15, 0.12, 0.10);
    }
    colour = scale(colour, around + 1.05 * light);
    return add(colour, vec_at(shine, shine, shine));
}

static vec look(double px, double py)
{
    vec eye = {0, 0, 0};
    vec d = unit(vec_at((px - WIDTH / 2.0) / HEIGHT,
                        0.13 + (HEIGHT / 2.0 - py) / HEIGHT, 1.25));
    double t = 3;

    for (int i = 0; i < 160 && t < 12; i++) {
        double near = scene(add(eye, scale(d, t)));

        if (near < 0.0008)
            return shade(add(eye, scale(d, t)), d);
        t += near;
    }
    return land(d, sky(d));
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
