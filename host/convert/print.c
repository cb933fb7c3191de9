/*
 * print.c - lines of a config.json.
 */
#include "convert/print.h"

#include "base/json_print.h"
#include "base/number.h"

#include <stdlib.h>

void vt_put_text(FILE *f, const char *key, const char *value)
{
    fprintf(f, "  \"%s\": ", key);
    vt_json_print_string(f, value);
    fputs(",\n", f);
}

/* The shortest text that is the same float again: of .3f the decimal that a
 * library rounds as .3, not .300000012. */
static void put_float(FILE *f, float v)
{
    const locale_t before = vt_point_begin();
    char text[32];
    int digits = 6;

    do
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
    while (strtof(text, NULL) != v && digits++ < 9);
    vt_point_end(before);
    fputs(text, f);
}

void vt_put_three(FILE *f, const char *key, const float v[3])
{
    fprintf(f, "  \"%s\": [", key);
    for (int i = 0; i < 3; i++) {
        put_float(f, v[i]);
        fputs(i < 2 ? ", " : "],\n", f);
    }
}

void vt_put_float(FILE *f, const char *key, float v)
{
    fprintf(f, "  \"%s\": ", key);
    put_float(f, v);
    fputs(",\n", f);
}

void vt_put_sides(FILE *f, const char *key, int h, int w)
{
    if (h == w)
        fprintf(f, "  \"%s\": %d,\n", key, h);
    else
        fprintf(f, "  \"%s\": [%d, %d],\n", key, h, w);
}

void vt_put_problem(FILE *f, const char *problem)
{
    if (problem)
        fprintf(f, ",\n  \"problem_type\": \"%s\"", problem);
}

void vt_put_certainty(FILE *f, const vt_certainty *c)
{
    if (c->temperature == 1 && c->threshold == 0 && c->detail[1] == 0)
        return;
    vt_print(f,
             ",\n  \"vitcl_certainty\": {\"temperature\": %.15g, "
             "\"threshold\": %.15g",
             c->temperature, c->threshold);
    if (c->detail[1] > 0)
        vt_print(f, ", \"detail\": [%.15g, %.15g]", c->detail[0], c->detail[1]);
    fputs("}", f);
}

double vt_ratio_of(int product, int base)
{
    double r = (double)product / base;
    return (int)(base * r) == product ? r : (product + 0.5) / base;
}
