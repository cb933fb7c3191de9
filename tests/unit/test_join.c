/*
 * test_join.c - programs are compiled as one, where the driver is PoCL, and
 * compute what they compute alone.
 */
#include "ocl/cache.h"
#include "ocl/objects.h"
#include "support/device.h"
#include "support/driver.h"
#include "support/pictures.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256], store[300];

/* Three files with the same names inside, and one that cannot be compiled. */
static const struct {
    const char *file, *kernel;
    int value;
} files[] = {{"a", "ka", 1}, {"b", "kb", 12}, {"c", "kc", 23}};
enum { FILES = 3 };

static void begin(void)
{
    char text[800];

    snprintf(folder, sizeof folder, "%s", vt_test_folder());
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("VITCL_CACHE");
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 1); /* as the program */
    unsetenv("VITCL_BUILD_FORK");
    snprintf(store, sizeof store, "%s/vitcl", folder);
    vt_test_kernels(folder, "\n#ifndef ONE\n#define ONE 1\n#endif\n"
                            "#if defined(UNIT) && defined(SIZE)\n"
                            "#if SIZE == 2\n#define WIDE\n#endif\n#endif\n");
    for (int i = 0; i < FILES; i++) {
        snprintf(text, sizeof text,
                 "#ifndef TIMES\n#define TIMES 1\n#endif\n"
                 "#define VALUE %d\n"
                 "#define MAKE(name, x) static inline int name(void)\\\n"
                 "    { return x; }\n"
                 "MAKE(made, VALUE)\n"
                 "#define READ(space, name) static inline int \\\n"
                 "    name(space const int *x) { return *x; }\n"
                 "READ(private, first_own%d)\nREAD(local, shared%d)\n"
                 "typedef %s number;\n"
                 "static int value(int x)\n{\n"
                 "    return x * TIMES + (number)made();\n}\n"
                 "static inline __attribute__((always_inline)) int\n"
                 "other(int x)\n{\n    return x - ONE;\n}\n"
                 "kernel void %s(global int *out)\n{\n"
                 "    private int x = other(%d);\n"
                 "    out[0] = value(first_own%d(&x));\n}\n"
                 "kernel void unused(global int *out)\n{\n"
                 "    out[0] = no_such;\n}\n",
                 10 * i, i, i, i == 1 ? "char" : "int", files[i].kernel, i + 2,
                 i);
        vt_test_kernel(folder, files[i].file, text);
    }
    vt_test_kernel(folder, "bad",
                   "kernel void kbad(global int *out)\n{\n"
                   "    out[0] = no_such_thing;\n}\n");
}

typedef struct device {
    vt_dev *dev;
    vt_queue *q;
    vt_buf *b;
    bool pocl;
} device;

static device open_device(void)
{
    const char *select = getenv("VITCL_TEST_DEVICE");
    device d = {.pocl = false};

    cr_assert_eq(vt_product_open(&d.dev, select && *select ? select : "any"),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_queue_new(&d.q, d.dev, VT_TIMES_NONE), VITCL_OK);
    cr_assert_eq(vt_buf_new(&d.b, d.dev, 4), VITCL_OK);
    d.pocl = strcmp(vt_dev_info(d.dev)->platform,
                    "Portable Computing Language") == 0;
    return d;
}

static void close_device(device *d)
{
    vt_buf_free(d->b);
    vt_queue_free(d->q);
    vt_dev_free(d->dev);
}

/* Runs the kernel of files[i], which was built before or is built now. */
static void expect(device *d, vt_kernel *k, int want)
{
    int got = 0;

    cr_assert_eq(vt_kernel_ready(k), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_kernel_buf(k, 0, d->b), VITCL_OK);
    cr_assert_eq(vt_kernel_launch(d->q, k), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_buf_read(d->q, d->b, 0, &got, 4), VITCL_OK);
    cr_expect_eq(got, want, "%d, not %d", got, want);
    vt_kernel_free(k);
}

/* Asks for the first n files' kernels at once and runs them; how many programs
 * were built. */
static unsigned run(device *d, int n, const char *defines)
{
    const unsigned before = (unsigned)vt_dev_counters(d->dev).programs_built;
    vt_kernel *k[FILES] = {NULL};

    vt_kernels_defer(true);
    for (int i = 0; i < n; i++)
        cr_assert_eq(vt_kernel_new(&k[i], d->dev, files[i].file,
                                   files[i].kernel, defines),
                     VITCL_OK);
    vt_kernels_build(d->dev);
    vt_kernels_defer(false);
    for (int i = 0; i < n; i++)
        expect(d, k[i],
               (strstr(defines, "TIMES=2") ? i + 1 : 0) + files[i].value);
    return (unsigned)vt_dev_counters(d->dev).programs_built - before;
}

/* The number of entries, and the largest one's path. */
static int entries(char largest[600])
{
    DIR *dir = opendir(store);
    struct stat st;
    off_t most = 0;
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[600];

        snprintf(path, sizeof path, "%s/%.100s", store, e->d_name);
        if (e->d_name[0] == '.' || stat(path, &st) != 0)
            continue;
        n++;
        if (st.st_size > most) {
            most = st.st_size;
            snprintf(largest, 600, "%s", path);
        }
    }
    if (dir)
        closedir(dir);
    return n;
}

TestSuite(join, .fini = vt_test_tidy);

/* Macros and static functions of the same names do not meet. One file on disk
 * has the programs; the three others refer to it. */
Test(join, together)
{
    char largest[600];
    device d;

    begin();
    d = open_device();
    cr_expect_eq(run(&d, FILES, ""), FILES);
    cr_expect_eq(entries(largest), d.pocl ? FILES + 1 : FILES);
    cr_expect_eq(run(&d, FILES, "-DTIMES=2 -DSIZE=2"), FILES, "other defines");
    close_device(&d);
    d = open_device();
    cr_expect_eq(run(&d, FILES, ""), 0, "all are in the cache");
    cr_expect_eq(run(&d, 2, "-DTIMES=2 -DSIZE=2"), 0);
    close_device(&d);
}

/* Each has its own defines in one program. */
Test(join, defines)
{
    vt_kernel *k[2] = {NULL};
    char largest[600];
    device d;

    begin();
    d = open_device();
    vt_kernels_defer(true);
    cr_assert_eq(vt_kernel_new(&k[0], d.dev, "a", "ka", "-DONE=0 -DTIMES=2"),
                 VITCL_OK);
    cr_assert_eq(vt_kernel_new(&k[1], d.dev, "b", "kb", "-DONE=0"), VITCL_OK);
    vt_kernels_build(d.dev);
    vt_kernels_defer(false);
    cr_expect_eq(entries(largest), d.pocl ? 3 : 0);
    expect(&d, k[0], 4);
    expect(&d, k[1], 13);
    close_device(&d);
}

/* Only what is missing is compiled. */
Test(join, later_plans)
{
    device d;

    begin();
    d = open_device();
    cr_expect_eq(run(&d, 2, ""), 2);
    close_device(&d);
    d = open_device();
    cr_expect_eq(run(&d, FILES, ""), 1);
    close_device(&d);
}

/* Without the joint file each program is built alone, and kept. */
Test(join, lost)
{
    char largest[600];
    device d;

    begin();
    d = open_device();
    if (!d.pocl) {
        close_device(&d);
        vt_skip("programs are joined for PoCL only");
    }
    cr_expect_eq(run(&d, FILES, ""), FILES);
    close_device(&d);
    cr_expect_eq(entries(largest), FILES + 1);
    cr_assert_eq(unlink(largest), 0);
    d = open_device();
    cr_expect_eq(run(&d, FILES, ""), FILES);
    close_device(&d);
    /* truncated: removed and built again */
    entries(largest);
    cr_assert_eq(truncate(largest, 100), 0);
    d = open_device();
    run(&d, FILES, "");
    close_device(&d);
    d = open_device();
    cr_expect_eq(run(&d, FILES, ""), 0);
    close_device(&d);
}

/* Where PoCL keeps what it compiles, there is no joint file to refer to. */
Test(join, kept_by_pocl)
{
    char largest[600];
    device d;

    begin();
    unsetenv("POCL_WORK_GROUP_SPECIALIZATION");
    d = open_device();
    cr_expect_eq(run(&d, FILES, ""), FILES);
    cr_expect_eq(entries(largest), d.pocl ? 0 : FILES);
    close_device(&d);
}

/* Where no process can be made, all is built here: nobody waits for one. */
Test(join, no_process, .timeout = 60)
{
    device d;

    begin();
    setenv("VITCL_BUILD_FORK", "1", 1);
    vt_driver.number[0][0] = CL_DEVICE_MAX_COMPUTE_UNITS;
    vt_driver.number[0][1] = 2; /* so that a group has two programs */
    vt_driver.forks = 2;
    d = open_device();
    cr_expect_eq(run(&d, FILES, ""), FILES);
    cr_expect_eq(vt_driver.forks, d.pocl ? 0 : 2);
    close_device(&d);
}

/* One that cannot be compiled does not hinder the others, and its error names
 * its file. */
Test(join, one_is_broken)
{
    vt_kernel *bad = NULL;
    device d;

    begin();
    d = open_device();
    vt_kernels_defer(true);
    cr_assert_eq(vt_kernel_new(&bad, d.dev, "bad", "kbad", ""), VITCL_OK);
    vt_kernels_defer(false);
    cr_expect_eq(run(&d, FILES, ""), FILES);
    cr_expect_eq(vt_kernel_ready(bad), VITCL_EDEVICE);
    cr_expect(strstr(vt_message(), "cl/bad.cl"), "%s", vt_message());
    vt_kernel_free(bad);
    close_device(&d);
}

/* A program's text without what its defines and its kernel leave out. */
Test(join, weights)
{
    static const struct {
        const char *kernel, *defines;
    } programs[] = {
        {"ka", ""}, {"ka", "-DX"}, {"ka", "-DX -DY"}, {"kb", "-DXY"}};
    unsigned weight[4];
    device d;

    begin();
    vt_test_kernel(folder, "w",
                   "/* #ifdef X: none of this counts */\n"
                   "#ifdef X\n"
                   "a;\n"
                   "#ifdef Y\n"
                   "b\n"
                   "#endif\n"
                   "#else\n"
                   "#ifndef X\n"
                   "c d e f;\n"
                   "#if 0\n"
                   "g\n"
                   "#else\n"
                   "h;\n"
                   "#endif\n"
                   "#endif\n"
                   "#endif\n"
                   "kernel void ka(void)\n{\n}\n"
                   "kernel void kb(void)\n{\n}\n"
                   "i;k;\n");
    d = open_device();
    for (size_t i = 0; i < 4; i++) {
        vt_program *p;

        cr_assert_eq(vt_program_ask(&p, d.dev, "w", programs[i].kernel,
                                    programs[i].defines),
                     VITCL_OK);
        weight[i] = vt_program_weight(p);
    }
    cr_expect_gt(weight[0], weight[2]);
    cr_expect_gt(weight[2], weight[1]);
    cr_expect_eq(weight[0], weight[3], "as long as the other kernel");
    close_device(&d);
}

/* Programs that cannot be one: with kernels of the same name, and with other
 * defines of what the common text tests, outside of what it leaves out. */
Test(join, fits)
{
    vt_program *list[8];
    device d;

    begin();
    d = open_device();
    cr_assert_eq(vt_program_ask(&list[0], d.dev, "a", "ka", ""), VITCL_OK);
    cr_assert_eq(vt_program_ask(&list[1], d.dev, "b", "kb", ""), VITCL_OK);
    cr_assert_eq(vt_program_ask(&list[2], d.dev, "c", "kc", "-DX"), VITCL_OK);
    cr_assert_eq(vt_program_ask(&list[3], d.dev, "c", "ka", ""), VITCL_OK);
    cr_assert_eq(vt_program_ask(&list[4], d.dev, "b", "other", "-DONE=2"),
                 VITCL_OK);
    cr_assert_eq(vt_program_ask(&list[5], d.dev, "b", "s2", "-DSIZE=2"),
                 VITCL_OK);
    cr_assert_eq(vt_program_ask(&list[6], d.dev, "b", "u2", "-DUNIT -DSIZE=2"),
                 VITCL_OK);
    cr_assert_eq(vt_program_ask(&list[7], d.dev, "b", "u3", "-DUNIT -DSIZE=3"),
                 VITCL_OK);
    cr_expect(vt_program_fits(list[1], list, 1));
    cr_expect(vt_program_fits(list[2], list, 2));
    cr_expect_not(vt_program_fits(list[3], list, 2), "ka is there already");
    cr_expect(vt_program_fits(list[3], list + 1, 2));
    cr_expect_not(vt_program_fits(list[4], list, 2), "ONE is tested");
    cr_expect_not(vt_program_fits(list[1], list, VT_JOINED), "full");
    cr_expect(vt_program_fits(list[5], list, 2), "SIZE, but only with UNIT");
    cr_expect_not(vt_program_fits(list[6], list, 2), "UNIT is tested");
    cr_expect_not(vt_program_fits(list[0], list + 6, 1), "UNIT is tested");
    cr_expect_not(vt_program_fits(list[7], list + 6, 1), "SIZE is tested");
    close_device(&d);
}
