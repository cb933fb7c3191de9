/*
 * sorting.h - pictures into a folder for each class: classify --copy-to,
 * --link-to.
 */
#ifndef VT_CLI_SORTING_H
#define VT_CLI_SORTING_H
#include "naming.h"

typedef struct sorting {
    char *before, *after; /* of {label} in the folder's name */
    char **folder;        /* the name of each class, safe as a file's name */
    uint32_t classes;
    bool links;
    bool full; /* the disk: no more are tried */
    uint64_t failures;
} sorting;

/* Is the folder there that has those of the classes? */
bool sorting_there(const char *into);
/* into: DIR, which is DIR/{label}, or a path with {label} in it. Prints why
 * not. */
int sorting_open(sorting *s, const char *into, bool links, const naming *n);
void sorting_close(sorting *s);
/* Copies or links a picture that was answered; prints why not. */
void sorting_put(sorting *s, const answer *a, const naming *n);

#endif
