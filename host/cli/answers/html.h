/*
 * html.h - a page of pictures that stands alone: classify --html.
 *
 * Thumbnails are part of the file, it loads nothing, and what is in it is text
 * to the browser, whatever names and labels hold. It is written picture by
 * picture to a temporary file and has its name when it is complete.
 */
#ifndef VT_CLI_HTML_H
#define VT_CLI_HTML_H
#include <stdbool.h>
#include <vitcl.h>

enum { HTML_SIDE = 200 }; /* of thumbnails */

typedef struct html_page html_page;
typedef struct html_item {
    const char *path;
    const vitcl_image *small; /* of HTML_SIDE; NULL or without pixels: it is
                               * decoded here */
    const char *error;        /* why it has no answer, or NULL */
    const char *group; /* what the page can be filtered by: a class; or NULL */
    const char *title; /* "ship 94 %"; or NULL */
    const char *more;  /* smaller, below it; or NULL */
    bool unsure;
} html_item;

/* Prints why not. */
html_page *html_open(const char *path, const char *title);
/* The next items have this heading. */
void html_section(html_page *p, const char *heading);
void html_add(html_page *p, const html_item *item);
/* Ends the page with this line, which the browser shows at the top. Returns the
 * exit status, and prints why it could not be written. */
int html_close(html_page *p, const char *summary);
/* Leaves no file; NULL: nothing. After html_close() it must not be called. */
void html_discard(html_page *p);

#endif
