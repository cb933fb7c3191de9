/*
 * environment.c - read the environment where it can be trusted.
 */
#define _GNU_SOURCE /* secure_getenv() */
#include "base/environment.h"

#include <stdlib.h>

const char *vt_getenv(const char *name)
{
    return secure_getenv(name);
}
