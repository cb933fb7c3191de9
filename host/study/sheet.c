/*
 * sheet.c - tables of a study's own: their cells, and their files.
 */
#include "base/number.h"
#include "base/text.h"
#include "study/private.h"

#include <stdarg.h>
#include <stdlib.h>

vt_sheet *vt_study_add_sheet(vt_experiment *e, const vt_sheet *like)
{
    vt_sheet *s = &e->sheet[e->sheets < VT_SHEETS ? e->sheets : VT_SHEETS - 1];

    if (e->sheets == VT_SHEETS)
        vt_experiment_fail(e, vt_fail(VITCL_EINVAL,
                                      "study %s: more than %d tables",
                                      e->study->name, VT_SHEETS));
    else
        e->sheets++;
    *s = *like;
    return s;
}

void vt_sheet_put(vt_sheet *s, size_t column, const char *format, ...)
{
    const size_t row = s->rows < VT_SHEET_ROWS ? s->rows : VT_SHEET_ROWS - 1;
    const locale_t before = vt_point_begin();
    va_list args;

    va_start(args, format);
    vsnprintf(s->cell[row][column], VT_SHEET_CELL, format, args);
    va_end(args);
    vt_point_end(before);
}

void vt_sheet_put_row(vt_sheet *s)
{
    if (s->rows < VT_SHEET_ROWS)
        s->rows++;
}

const vt_sheet *vt_sheet_at(const vt_experiment *e, size_t index)
{
    return index < e->sheets ? &e->sheet[index] : NULL;
}

vitcl_status vt_sheet_write(const vt_experiment *e, const vt_sheet *s)
{
    vitcl_status st;
    vt_text t;
    char path[VT_STUDY_PATH], *text = NULL;

    VT_TRY(vt_text_open(&t));
    for (size_t c = 0; c < s->columns; c++)
        fprintf(t.f, "%s%s", c ? "\t" : "", s->head[c]);
    fputc('\n', t.f);
    for (size_t r = 0; r < s->rows; r++)
        for (size_t c = 0; c < s->columns; c++)
            fprintf(t.f, "%s%s", s->cell[r][c],
                    c + 1 < s->columns ? "\t" : "\n");
    VT_TRY(vt_text_take(&text, &t));
    VT_TRY(vt_study_path(path, e, "%s", s->file));
    VT_TRY(vt_study_write(path, text));
done:
    free(text);
    return st;
}
