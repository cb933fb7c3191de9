/*
 * print.h - lines of a config.json: for host/convert only.
 */
#ifndef VT_CONVERT_PRINT_H
#define VT_CONVERT_PRINT_H
#include "models/model.h"

#include <stdio.h>

/* Each writes "  \"key\": value,\n". */
void vt_put_text(FILE *f, const char *key, const char *value);
/* Enough digits to read the same float again; the first with the fewest. */
void vt_put_float(FILE *f, const char *key, float v);
void vt_put_three(FILE *f, const char *key, const float v[3]);
/* One number if both sides are equal. */
void vt_put_sides(FILE *f, const char *key, int h, int w);

/* problem_type; NULL: none */
void vt_put_problem(FILE *f, const char *problem);
/* Behind the last member: "vitcl_certainty", if the model has one. Other
 * libraries ignore it. */
void vt_put_certainty(FILE *f, const vt_certainty *c);

/* A ratio r with (int)(base * r) == product, for libraries that truncate. */
double vt_ratio_of(int product, int base);

#endif
