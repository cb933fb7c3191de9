/*
 * drivers.c - the drivers that the ICD loader finds: files that end with .icd,
 * whose first line names a library. The loader leaves out what it cannot load
 * without a word, and a driver may crash as it is loaded.
 */
#define _GNU_SOURCE /* strcasestr() */
#include "ocl/device_list.h"

#include "base/environment.h"
#include "base/log.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "OCL_ICD_VENDORS";

/* `file` is `variable` if that names the library. False: no more are wanted. */
typedef bool on_driver(void *context, const char *file, const char *library);

static bool is_icd(const char *name)
{
    const size_t n = strlen(name);

    return n > 4 && strcmp(name + n - 4, ".icd") == 0;
}

static bool look(const char *file, on_driver *each, void *context)
{
    char library[PATH_MAX] = "";
    FILE *f = fopen(file, "re");

    if (f && !fgets(library, sizeof library, f))
        library[0] = '\0';
    if (f)
        fclose(f);
    library[strcspn(library, "\r\n")] = '\0';
    return each(context, file, library);
}

static void go_through(on_driver *each, void *context)
{
    const char *where = vt_getenv(variable);
    const bool given = where && *where;
    char path[PATH_MAX];
    struct dirent *e;
    DIR *d;

    if (!given)
        where = "/etc/OpenCL/vendors";
    d = opendir(where);
    if (!d && is_icd(where)) { /* a name alone is one of the usual folder's */
        snprintf(path, sizeof path, "%s%s",
                 strchr(where, '/') ? "" : "/etc/OpenCL/vendors/", where);
        (void)look(path, each, context);
    } else if (!d && given) { /* ocl-icd also takes a library */
        (void)each(context, variable, where);
    }
    while (d && (e = readdir(d)))
        if (is_icd(e->d_name) &&
            snprintf(path, sizeof path, "%s%s%s", where,
                     where[strlen(where) - 1] == '/' ? "" : "/",
                     e->d_name) < (int)sizeof path &&
            !look(path, each, context))
            break;
    if (d)
        closedir(d);
}

/* ---- what can be loaded ---- */

typedef struct search {
    char *why;
    size_t room;
    vt_drivers found;
    bool pocl, rusticl;
} search;

static bool check(void *context, const char *file, const char *library)
{
    search *s = context;
    void *handle = library[0] ? dlopen(library, RTLD_LAZY | RTLD_LOCAL) : NULL;

    s->pocl = s->pocl || strstr(library, "pocl");
    s->rusticl = s->rusticl || strcasestr(library, "rusticl");
    s->found = file == variable ? VT_DRIVERS_ASTRAY : VT_DRIVERS_BROKEN;
    if (file == variable && !handle)
        snprintf(s->why, s->room,
                 "%s names %.300s, which is neither a folder nor a driver",
                 file, library);
    else if (file != variable && access(file, R_OK) != 0)
        snprintf(s->why, s->room, "%.300s cannot be read", file);
    else if (!library[0])
        snprintf(s->why, s->room, "%.300s names no library", file);
    else if (!handle)
        snprintf(s->why, s->room,
                 "%.120s names a library that cannot be loaded: %.200s", file,
                 dlerror());
    else if (!dlsym(handle, "clGetExtensionFunctionAddress") &&
             !dlsym(handle, "clIcdGetPlatformIDsKHR"))
        snprintf(s->why, s->room, "%.120s names %.200s, which is not a driver",
                 file, library);
    else
        s->found = VT_DRIVERS_LOADABLE;
    if (handle)
        dlclose(handle);
    return s->found == VT_DRIVERS_LOADABLE;
}

vt_drivers vt_drivers_check(char *why, size_t room)
{
    search s = {.why = why, .room = room, .found = VT_DRIVERS_NONE};

    go_through(check, &s);
    if (s.found == VT_DRIVERS_LOADABLE)
        snprintf(why, room, "%s%s",
                 s.pocl ? "; PoCL needs a writable folder for its cache "
                          "(POCL_CACHE_DIR, XDG_CACHE_HOME or HOME)"
                        : "",
                 s.rusticl ? "; Mesa's rusticl needs RUSTICL_ENABLE, such as "
                             "RUSTICL_ENABLE=llvmpipe"
                           : "");
    return s.found;
}

/* ---- what is being loaded ---- */

static bool load(void *context, const char *file, const char *library)
{
    (void)context;
    vt_log("driver: loading %s, which %s names", library, file);
    /* Kept: the loader loads it next. */
    if (!dlopen(library, RTLD_LAZY | RTLD_LOCAL))
        vt_log("driver: %s", dlerror());
    return true;
}

void vt_drivers_log(void)
{
    static atomic_bool done;

    if (vt_logs() && !atomic_exchange(&done, true)) {
        go_through(load, NULL);
        vt_log("driver: asking them for platforms and devices");
    }
}
