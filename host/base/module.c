/*
 * module.c - load a module of the program.
 */
#include "base/module.h"

#include "base/helper.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

vitcl_status vt_module_load(vt_module *m)
{
    const char *const *found; /* its first member */
    char path[PATH_MAX];
    void *handle;

    if (m->loaded)
        return VITCL_OK;
    if (m->absent)
        return vt_fail(VITCL_EUNSUPPORTED, "%s", m->absent);
    VT_RET(vt_helper_find(path, sizeof path, m->file, m->variable, m->purpose));
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return vt_fail(VITCL_EIO, "%s: %s", m->fails, dlerror());
    found = dlsym(handle, m->symbol);
    if (!found || strcmp(*found, VITCL_VERSION) != 0) {
        dlclose(handle);
        return vt_fail(VITCL_EIO, "%s is not that of vitcl %s", path,
                       VITCL_VERSION);
    }
    m->loaded = found;
    return VITCL_OK;
}
