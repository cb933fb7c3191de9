/*
 * csv.h - a field of a table for spreadsheets (RFC 4180).
 */
#ifndef VT_BASE_CSV_H
#define VT_BASE_CSV_H
#include <stdbool.h>
#include <stdio.h>

/* A field that would be a formula is made plain: a path, by ./ before it, names
 * the same file; other text gets an apostrophe. shown: what is unsafe to show
 * is written as \ooo. */
typedef enum { VT_CSV_PATH, VT_CSV_TEXT } vt_csv;
void vt_csv_put(FILE *f, const char *text, vt_csv kind, bool shown);

#endif
