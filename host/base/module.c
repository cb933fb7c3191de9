/*
 * module.c - load a module of the program.
 */
#include "base/helper.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

vitcl_status vt_module_load(const void **out, const char *name,
                            const char *variable, const char *purpose,
                            const char *symbol, const char *fails)
{
    vitcl_status st = VITCL_OK;
    const char *const *found; /* its first member */
    char path[PATH_MAX];
    void *handle;

    VT_TRY(vt_helper_find(path, sizeof path, name, variable, purpose));
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return vt_fail(VITCL_EIO, "%s: %s", fails, dlerror());
    found = dlsym(handle, symbol);
    if (!found || strcmp(*found, VITCL_VERSION) != 0) {
        dlclose(handle);
        return vt_fail(VITCL_EIO, "%s is not that of vitcl %s", path,
                       VITCL_VERSION);
    }
    *out = found;
done:
    return st;
}
