/*
 * figure.c - load the module that draws, and write its figures to files.
 */
#include "plot/figure.h"

#include "base/file.h"
#include "base/module.h"
#include "plot/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static vt_module module = {
    .file = "vitcl-plot.so",
    .variable = "VITCL_PLOT",
    .symbol = VT_PLOT_SYMBOL,
    .purpose = "draws figures",
    .fails = "figures cannot be drawn",
#ifndef VT_PLOT_CAIRO
    .absent = "figures cannot be drawn: vitcl was built without Cairo",
#endif
};

vitcl_status vt_figure_ready(void)
{
    return vt_module_load(&module);
}

static vitcl_status write_drawn(const vt_drawing *drawing, const char *path)
{
    vitcl_status st = VITCL_OK;
    const bool svg = vt_path_ends(path, ".svg");
    vt_newfile file = {0};
    char *data = NULL;
    const char *why;
    size_t size = 0;
    FILE *memory;

    if (!svg && !vt_path_ends(path, ".png"))
        return vt_fail(VITCL_EINVAL, "%s: a figure is a .png or .svg file",
                       path);
    VT_TRY(vt_figure_ready());
    memory = open_memstream(&data, &size);
    if (!memory)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory for a figure", path);
    why = ((const vt_plot *)module.loaded)->draw(drawing, svg, memory);
    if (fclose(memory) != 0 && !why)
        why = strerror(errno);
    if (why)
        VT_TRY(vt_fail(VITCL_EIO, "%s: cannot be drawn: %s", path, why));
    VT_TRY(vt_newfile_open(&file, path));
    if (fwrite(data, 1, size, file.f) != size)
        VT_TRY(
            vt_fail(VITCL_EIO, "%s: cannot write: %s", path, strerror(errno)));
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(data);
    return st;
}

vitcl_status vt_figure_write(const vt_figure *figure, const char *path)
{
    const vt_drawing d = {.figure = figure};

    return write_drawn(&d, path);
}

vitcl_status vt_matrix_write(const vt_matrix *matrix, const char *path)
{
    const vt_drawing d = {.matrix = matrix};

    if (matrix->rows > VT_MATRIX_MOST || matrix->columns > VT_MATRIX_MOST)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a picture has room for %d classes, not for %zu x "
                       "%zu; write a .csv file",
                       path, VT_MATRIX_MOST, matrix->rows, matrix->columns);
    return write_drawn(&d, path);
}

vitcl_status vt_contact_sheet_write(const vt_contact_sheet *sheet,
                                    const char *path)
{
    const vt_drawing d = {.sheet = sheet};

    return write_drawn(&d, path);
}
