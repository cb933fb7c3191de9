/*
 * page.h - HTML pages that stand alone: reports, and the galleries of
 * classify --html.
 *
 * Pictures are part of the file, it loads nothing, and all texts given here are
 * text to the browser, whatever they hold. The page is written from its top to
 * its end to a temporary file and has its name when it is complete.
 *
 *     VT_TRY(vt_page_open(&p, "report.html", "A title", NULL));
 *     vt_page_line(p, "What this is about.");
 *     vt_page_contents(p, 2, (const char *const[]){"Model", "sample.jpg"});
 *     vt_page_section(p, "Model");              // in the order of the contents
 *     vt_page_table(p, &(vt_page_grid){...});
 *     VT_TRY(vt_page_figure(p, &(vt_page_image){...}));
 *     vt_page_section(p, "sample.jpg");
 *     ...
 *     VT_TRY(vt_page_close(&p, "vitcl 0.2.0"));
 * done:
 *     vt_page_discard(p);
 */
#ifndef VT_PLOT_PAGE_H
#define VT_PLOT_PAGE_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct vt_page vt_page;

/* What another kind of page has instead of a report's style. These are not
 * text: they go to the browser as they are. */
typedef struct vt_page_kind {
    const char *style, *script; /* NULL: none */
    const char *tools;          /* elements below the title, or NULL */
} vt_page_kind;
/* kind NULL: a report. */
vitcl_status vt_page_open(vt_page **out, const char *path, const char *title,
                          const vt_page_kind *kind);
/* Links to the sections to come, whose headings these are. */
void vt_page_contents(vt_page *p, size_t count, const char *const *headings);
/* Ends the section before. */
void vt_page_section(vt_page *p, const char *heading);
/* A paragraph. */
void vt_page_line(vt_page *p, const char *text);

typedef struct vt_page_image {
    const char *title; /* a heading, or NULL */
    const char *path;  /* .png, .svg or .jpg: goes into the page */
    const char *alt;   /* says what it shows to those who cannot see it */
    const char *caption;
    /* Files that it was made from, as links, relative to the page: [files]. */
    const char *const *file;
    size_t files;
} vt_page_image;
/* VITCL_EIO: the picture cannot be read. */
vitcl_status vt_page_figure(vt_page *p, const vt_page_image *image);

/* Rows by columns of text; the first column names its row. Cells that begin as
 * numbers (or with <) stand at the right. */
typedef struct vt_page_grid {
    const char *caption;
    size_t rows, columns;
    const char *const *head; /* [columns] */
    const char *const *cell; /* [rows * columns], NULL: empty */
} vt_page_grid;
void vt_page_table(vt_page *p, const vt_page_grid *grid);

/* Ends the page with this line and sets *p to NULL. */
vitcl_status vt_page_close(vt_page **p, const char *end);
/* Leaves no file; NULL: nothing. */
void vt_page_discard(vt_page *p);

/* ---- for other kinds of pages ---- */

/* Where the page's elements go. */
FILE *vt_page_file(vt_page *p);
/* Text as the browser shows it, in an element or a quoted attribute. */
void vt_page_text(FILE *f, const char *text);
/* The text of a path in an element, which may break behind each slash. */
void vt_page_path(FILE *f, const char *path);
/* A path in an address: every byte that could mean something is escaped. */
void vt_page_url(FILE *f, const char *path);

#endif
