/*
 * csv.h - tables for spreadsheets (RFC 4180): write a field, read rows.
 */
#ifndef VT_BASE_CSV_H
#define VT_BASE_CSV_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A field that would be a formula is made plain: a path, by ./ before it, names
 * the same file; other text gets an apostrophe. shown: what is unsafe to show
 * is written as \ooo. */
typedef enum { VT_CSV_PATH, VT_CSV_TEXT } vt_csv;
void vt_csv_put(FILE *f, const char *text, vt_csv kind, bool shown);

/* A text of which rows are read. It is changed: each field ends with NUL, and
 * one byte behind the end is written, too. */
typedef struct vt_csv_text {
    char *at, *end;
    uint32_t line, next; /* the first line of the last row, and of the next */
    char separator;      /* of fields */
} vt_csv_text;
/* Begins a text of n bytes, without its byte order mark; with commas. */
vt_csv_text vt_csv_begin(char *text, size_t n);
/* Reads a row that is not blank. *n: how many fields it has, of which `field`
 * gets at most `most`; 0: there is no other row. VITCL_ECORRUPT: a quote that
 * does not end, text behind one, or a zero byte; the message has the line. */
vitcl_status vt_csv_row(char **field, size_t *n, size_t most, vt_csv_text *t);

#endif
