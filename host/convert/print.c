/*
 * print.c - lines of a config.json.
 */
#include "convert/print.h"

#include "base/json_print.h"
#include "base/number.h"

void vt_put_text(FILE *f, const char *key, const char *value)
{
    fprintf(f, "  \"%s\": ", key);
    vt_json_print_string(f, value);
    fputs(",\n", f);
}

void vt_put_three(FILE *f, const char *key, const float v[3])
{
    vt_print(f, "  \"%s\": [%.9g, %.9g, %.9g],\n", key, (double)v[0],
             (double)v[1], (double)v[2]);
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

void vt_put_certainty(FILE *f, double temperature, double threshold)
{
    if (temperature != 1 || threshold > 0)
        vt_print(f,
                 ",\n  \"vitcl_certainty\": {\"temperature\": %.15g, "
                 "\"threshold\": %.15g}",
                 temperature, threshold);
}

double vt_ratio_of(int product, int base)
{
    double r = (double)product / base;
    return (int)(base * r) == product ? r : (product + 0.5) / base;
}
