/*
 * confusion.h - which classes are taken for which: scores of each class, and
 * the counts as text, JSON, CSV and picture.
 */
#ifndef VT_CLI_CONFUSION_H
#define VT_CLI_CONFUSION_H
#include "parts/tally.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct class_score {
    uint64_t pictures, right;
    double precision, recall, f1; /* 0 where there is nothing to divide by */
} class_score;

typedef struct confusion {
    uint32_t rows;      /* the classes of the pictures */
    uint32_t columns;   /* these, then other classes of the model that were
                           answered */
    const char **name;  /* [columns] */
    char (*number)[16]; /* names of classes that have none */
    unsigned *count;    /* [rows][columns] */
    class_score *score; /* [rows] */
    class_score macro;  /* means over the classes with pictures */
} confusion;

/* Borrows the names of a tally, which has counts of answers. Returns the exit
 * status, and prints why it is none. */
int confusion_make(confusion *out, const vt_tally *t);
void confusion_free(confusion *c);

/* A table of the classes; then the counts, if they fit the terminal, else the
 * pairs of classes that are confused most. Not to a terminal: all such pairs,
 * separated by tabs. */
void confusion_print(const confusion *c);
/* Members of an object that has others before. */
void confusion_json(const confusion *c, const vt_tally *t);
/* path: *.csv, *.png or *.svg. */
int confusion_write(const confusion *c, const char *path);
/* Before the work: can it be written? */
int confusion_ready(const char *path);

#endif
