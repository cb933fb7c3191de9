/*
 * contact_sheet.h - small pictures in rows: maps of numbers, alone or over a
 * photograph, and colours.
 */
#ifndef VT_PLOT_CONTACT_SHEET_H
#define VT_PLOT_CONTACT_SHEET_H
#include "base/status.h"

#include <stdbool.h>

/* Each picture is a grid, row by row, the first at the top left. Numbers have
 * the colours of viridis on one scale for all pictures. Texts are UTF-8; what
 * is too long ends in an ellipsis. */
typedef struct vt_contact_sheet {
    const unsigned char *photo; /* under the numbers, height * width * 3 bytes;
                                 * or NULL */
    int photo_width, photo_height;
    bool beside; /* the photograph alone is one more picture, the first */
    const double *value;      /* [count][rows][columns], or NULL: */
    const unsigned char *rgb; /* [count][rows][columns][3] */
    int count, rows, columns;
    int across;         /* pictures in a row, the photograph's too */
    double least, most; /* ends of the scale; equal: those of the numbers */
    int mark; /* a cell, from 1, that has a frame in each picture; or 0 */
    const char *const *name; /* [count], below each picture; or NULL */
    const char *columns_title,
        *rows_title; /* pictures have numbers from 1 along
                                             * these axes; or NULL */
    const char *label;
} vt_contact_sheet;

/* As vt_figure_write(). */
vitcl_status vt_contact_sheet_write(const vt_contact_sheet *sheet,
                                    const char *path);

#endif
