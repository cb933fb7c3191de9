/*
 * pass.c - one pass over pictures of a data set, all or some.
 */
#include "eval/evaluate.h"

uint32_t vt_pass_picture(const vt_pass *s, size_t position)
{
    return (uint32_t)(s->chosen ? s->chosen[position] : position);
}
