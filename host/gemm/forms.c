/*
 * forms.c - the table of all forms.
 */
#include "gemm/form.h"

const vt_form *const vt_forms[] = {
    &vt_form_dot,  &vt_form_outer,   &vt_form_rows,  &vt_form_mma,
    &vt_form_tile, &vt_form_clblast, &vt_form_plain, NULL};
_Static_assert(sizeof vt_forms / sizeof *vt_forms <= VT_FORMS + 1, "room");
