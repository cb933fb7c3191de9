/*
 * print.h - members of a config.json: for host/convert only.
 */
#ifndef VT_CONVERT_PRINT_H
#define VT_CONVERT_PRINT_H
#include "base/json_print.h"
#include "models/model.h"

/* Three numbers. */
void vt_put_three(vt_json_writer *w, const char *key, const float v[3]);
/* problem_type and "vitcl_pixels", NULL: none; and "vitcl_certainty" if the
 * model has one. Other libraries ignore the last two. */
void vt_put_answers(vt_json_writer *w, const char *problem, const char *pixels,
                    const vt_certainty *c);

/* A ratio r with (int)(base * r) == product, for libraries that truncate. */
double vt_ratio_of(int product, int base);

#endif
