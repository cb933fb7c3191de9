/*
 * fields.h - one line on stderr that fits the terminal's width.
 *
 * A line has fields. Where it is too wide, fields take their short form, then
 * they are left out, the least important first.
 */
#ifndef VT_CLI_FIELDS_H
#define VT_CLI_FIELDS_H
#include <stddef.h>
#include <stdint.h>

enum { FIELDS = 10, FIELD_ROOM = 64, FIELDS_WIDE = 400 };

typedef struct field {
    char text[2][FIELD_ROOM]; /* long and short */
    int form;                 /* 0, 1, or 2: left out */
    int rank;                 /* the largest goes first; 0 stays */
} field;

typedef struct fields {
    field at[FIELDS];
    size_t count;
} fields;

/* Its short form is the same. */
field *fields_add(fields *f, int rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* what: a plural with s; the short form names no pictures. 0: adds nothing. */
void fields_add_rate(fields *f, int rank, double rate, const char *what);
/* Negative: unknown, adds nothing. */
void fields_add_left(fields *f, int rank, double seconds);
/* Shortens it to the terminal's width. */
void fields_fit(fields *f);
/* after: what is between the first field and the next one. */
void fields_join(char out[FIELDS_WIDE], const fields *f, const char *after,
                 const char *between);
/* Replaces the line that changes, after a bar where there is room for one.
 * total: 0: no bar. */
void fields_show(fields *f, uint64_t done, uint64_t total);
void fields_clear(void);
/* The columns that a line on stderr may have. */
int fields_columns(void);

#endif
