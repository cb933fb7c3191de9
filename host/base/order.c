/*
 * order.c - compares strings.
 */
#include "base/order.h"

#include <string.h>

int vt_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
