/*
 * print.c - members of a config.json.
 */
#include "convert/print.h"

void vt_put_three(vt_json_writer *w, const char *key, const float v[3])
{
    vt_json_put(w, "%s:[", key);
    for (int i = 0; i < 3; i++)
        vt_json_put_float(w, v[i]);
    vt_json_put(w, "]");
}

void vt_put_answers(vt_json_writer *w, const char *problem, const char *pixels,
                    const vt_certainty *c)
{
    if (problem)
        vt_json_put(w, "\n  problem_type:%s", problem);
    if (pixels)
        vt_json_put(w, "\n  vitcl_pixels:%s", pixels);
    if (!(c->temperature > 0) ||
        (c->temperature == 1 && c->threshold == 0 && c->detail[1] == 0))
        return;
    vt_json_put(w, "\n  vitcl_certainty:{temperature:%.15g threshold:%.15g",
                c->temperature, c->threshold);
    if (c->detail[1] > 0)
        vt_json_put(w, "detail:[%.15g %.15g]", c->detail[0], c->detail[1]);
    vt_json_put(w, "}");
}

double vt_ratio_of(int product, int base)
{
    double r = (double)product / base;
    return (int)(base * r) == product ? r : (product + 0.5) / base;
}
