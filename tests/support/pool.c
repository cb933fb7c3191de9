/*
 * pool.c - pools of decoder processes in tests.
 */
#include "support/pool.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

vt_preprocess vt_test_how(void)
{
    vt_preprocess p;

    vt_preprocess_default(&p, VT_TEST_SIDE, VT_TEST_SIDE);
    return p;
}

int vt_test_children(pid_t *out)
{
    DIR *d = opendir("/proc");
    int n = 0;

    cr_assert(d);
    for (struct dirent *e; (e = readdir(d)) && n < VT_TEST_CHILDREN;) {
        char path[300], state;
        int pid = atoi(e->d_name), parent = 0;
        FILE *f;

        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        f = fopen(path, "r");
        if (f && fscanf(f, "%*d (%*[^)]) %c %d", &state, &parent) == 2 &&
            parent == (int)getpid() && state != 'Z')
            out[n++] = pid;
        if (f)
            fclose(f);
    }
    closedir(d);
    return n;
}
