/*
 * paths.c - data that is not in the repository; see paths.h.
 */
#include "support/paths.h"

#include "support/skip.h"

#include <stdlib.h>

void vt_test_data(char path[static 512], const char *name)
{
    const char *root = getenv("VITCL_TEST_DATA");

    if (!root || !*root)
        vt_skip("VITCL_TEST_DATA is not set");
    cr_assert(vt_have(root), "VITCL_TEST_DATA: %s cannot be read", root);
    cr_assert(snprintf(path, 512, "%s/%s", root, name) < 512);
    if (!vt_have(path))
        vt_skip("%s is not there", path);
}
