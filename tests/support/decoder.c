/*
 * decoder.c - set the paths of this build's vitcl-decode, vitcl-decode-all,
 * vitcl-try and vitcl-plot.so, for tests that ctest does not run. They are in
 * the folder above the test program's.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void vt_test_decoder(void);

static void set(const char *variable, const char *folder, const char *name)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, F_OK) == 0) // what is optional was not built
        setenv(variable, path, 0);
}

__attribute__((constructor)) void vt_test_decoder(void)
{
    char folder[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (n <= 0)
        return;
    folder[n] = '\0';
    for (int i = 0; i < 2; i++) {
        char *end = strrchr(folder, '/');
        if (!end)
            return;
        *end = '\0';
    }
    set("VITCL_DECODE", folder, "vitcl-decode");
    set("VITCL_DECODE_ALL", folder, "vitcl-decode-all");
    set("VITCL_TRY", folder, "vitcl-try");
    set("VITCL_PLOT", folder, "vitcl-plot.so");
}
