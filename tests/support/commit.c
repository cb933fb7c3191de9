/*
 * commit.c - a number that each commit changes.
 */
#include "support/commit.h"

#include <stdio.h>
#include <stdlib.h>

unsigned long vt_test_commit(void)
{
    FILE *f = popen("git -C '" VT_DATA "' rev-parse HEAD 2>/dev/null", "r");
    char text[9] = "";

    if (!f || !fgets(text, sizeof text, f))
        snprintf(text, sizeof text, "1");
    if (f)
        pclose(f);
    return strtoul(text, NULL, 16);
}
