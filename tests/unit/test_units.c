/*
 * test_units.c - matrix units on drivers and devices that are not here: which
 * instructions are tried on which generation of AMD's, a compiler that declares
 * Intel's functions otherwise, too little local memory, a driver that compiles
 * in turn, and one that keeps nothing.
 */
#include "units/matrix.h"

#include "ocl/objects.h"
#include "product/state.h"
#include "support/device.h"
#include "support/driver.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())
#define AMD "cl_amd_device_attribute_query"
#define INTEL "cl_intel_subgroup_matrix_multiply_accumulate"
#define NVIDIA "cl_nv_device_attribute_query"

TestSuite(units, .fini = vt_test_tidy);

static void listen(void *context, const char *line)
{
    char *text = context;
    const size_t n = strlen(text);

    snprintf(text + n, 65536 - n, "%s\n", line);
}

static vt_dev *opened(void)
{
    vt_dev *dev = NULL;

    OK(vt_product_open(&dev, getenv("VITCL_TEST_DEVICE")));
    return dev;
}

/* ---- AMD's generations ---- */

/* In place of vitcl-try: every instruction is wrong, and its name is kept. */
static void refuse_all(const char *folder)
{
    static char path[300];
    char text[700];

    snprintf(path, sizeof path, "%s/try", folder);
    snprintf(text, sizeof text,
             "#!/bin/sh\nfor x; do case $x in\n"
             "mma*|wmma*|mfma*|dpas*|dot*) printf '%%s ' $x >>%s/tried;;\n"
             "esac; done\necho 'ok wrong' >&0\n",
             folder);
    vt_test_text(folder, "try", text);
    cr_assert_eq(chmod(path, 0755), 0);
    setenv("VITCL_TRY", path, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
}

static void tries(const char *folder, unsigned lanes, unsigned major,
                  unsigned minor, vt_dtype type, const char *want)
{
    vt_dev *dev;
    char file[320], *text;
    size_t n = 0;

    vt_test_text(folder, "tried", "");
    vt_driver.extension = AMD;
    vt_driver.number[0][0] = 0x4043, vt_driver.number[0][1] = lanes;
    vt_driver.number[1][0] = 0x404a, vt_driver.number[1][1] = major;
    vt_driver.number[2][0] = 0x404b, vt_driver.number[2][1] = minor;
    dev = opened();
    cr_expect_eq(vt_mma_ask(dev, type).kind, VT_MMA_NONE);
    vt_dev_free(dev);
    text = (char *)vt_test_bytes(&n, folder, "tried");
    cr_assert(text);
    cr_expect(n == strlen(want) && memcmp(text, want, n) == 0,
              "gfx%u.%u with %u lanes, %s: %.*s", major, minor, lanes,
              vt_dtype_name(type), (int)n, text);
    free(text);
    snprintf(file, sizeof file, "rm -rf %s/vitcl", folder);
    cr_assert_eq(system(file), 0); /* the verdict */
}

/* gfx942 has none of gfx90a's int8, and RDNA with sub-groups of 64 no WMMA. */
Test(units, of_the_generation)
{
    const char *folder = vt_test_folder();

    refuse_all(folder);
    tries(folder, 64, 9, 0, VT_I8, "mfma90a ");
    tries(folder, 64, 9, 4, VT_I8, "mfma942 ");
    tries(folder, 64, 9, 4, VT_BF16, "mfma942 ");
    tries(folder, 32, 11, 0, VT_F16, "wmma11 dot2 ");
    tries(folder, 64, 11, 0, VT_F16, "dot2 ");
    tries(folder, 32, 12, 0, VT_BF16, "wmma12 ");
    tries(folder, 64, 12, 0, VT_BF16, "");
    tries(folder, 32, 10, 3, VT_F16, "dot2 ");
    tries(folder, 0, 0, 0, VT_BF16, "wmma11 wmma12 mfma90a mfma942 ");
    unsetenv("VITCL_TRY");
}

/* ---- what is said ---- */

/* A device whose units all get this answer; bf16 and its attention are asked
 * for. */
static vt_dev *answered(const char *folder, const char *answer)
{
    vt_dev *dev;
    char text[128], path[300];

    snprintf(text, sizeof text, "#!/bin/sh\necho '%s' >&0\n", answer);
    vt_test_text(folder, "try", text);
    snprintf(path, sizeof path, "%s/try", folder);
    cr_assert_eq(chmod(path, 0755), 0);
    setenv("VITCL_TRY", path, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    vt_driver.extension = NVIDIA;
    vt_driver.number[0][0] = 0x4000, vt_driver.number[0][1] = 8;
    dev = opened();
    (void)vt_mma_ask(dev, VT_BF16);
    (void)vt_mma_ask_attention(dev, VT_BF16);
    return dev;
}

static void says(const char *answer, const char *want)
{
    const char *folder = vt_test_folder();
    char text[352] = "", command[320];
    vt_dev *dev = answered(folder, answer);

    if (want) {
        cr_assert(vt_mma_refused(text, sizeof text, dev), "%s", answer);
        cr_expect(strstr(text, want), "%s: %s", answer, text);
        cr_expect(strstr(text, vt_dev_info(dev)->name), "%s", text);
    }
    cr_expect_not(vt_mma_refused(text, sizeof text, dev), "%s", text);
    vt_dev_free(dev);
    dev = answered(folder, answer); /* the verdict is kept */
    cr_expect_not(vt_mma_refused(text, sizeof text, dev), "%s", text);
    vt_dev_free(dev);
    snprintf(command, sizeof command, "rm -rf %s/vitcl", folder);
    cr_assert_eq(system(command), 0);
    unsetenv("VITCL_TRY");
}

/* Once, and by whom it was tried; nothing of a unit that is used. */
Test(units, refused_once)
{
    says("ok wrong", "products in bf16 do without the matrix unit mma16, by "
                     "slower kernels, because in its trial it computed wrong "
                     "results (");
    says("ok slower", "in its trial it was slower than they (");
    says("no 7 cannot build gemm_mma_copies", "in its trial it failed: ");
    says("ok right", NULL);
}

/* NVIDIA's generations: Pascal has none, Turing mma8 alone. */
Test(units, of_the_capability)
{
    static const unsigned has[][2] = {{6, VT_MMA_NONE}, {8, VT_MMA_16}};

    for (size_t i = 0; i < sizeof has / sizeof *has; i++) {
        const char *folder = vt_test_folder();
        vt_dev *dev;
        char command[320];

        vt_dev_free(answered(folder, "ok right"));
        snprintf(command, sizeof command, "rm -rf %s/vitcl", folder);
        cr_assert_eq(system(command), 0);
        vt_driver.number[0][1] = has[i][0];
        dev = opened();
        cr_expect_eq(vt_mma_ask(dev, VT_F16).kind, (int)has[i][1]);
        vt_dev_free(dev);
    }
    unsetenv("VITCL_TRY");
}

/* ---- a compiler that has the functions ---- */

/* Its declarations have another result than ours: nothing of Intel's compiles,
 * and all else does. */
Test(units, declared_otherwise)
{
    static char text[65536];
    const char *folder = vt_test_folder();
    char path[300], command[1600];
    vt_dev *dev;
    vt_gemm_desc d;
    vt_timed t;

    snprintf(path, sizeof path, "%s/cl", folder);
    snprintf(command, sizeof command, "cp -r %s/../../cl %s", VT_DATA, path);
    cr_assert_eq(system(command), 0);
    snprintf(
        command, sizeof command,
        "{ for a in short8 int8; do echo '__attribute__((overloadable)) "
        "int intel_sub_group_bf16_bf16_matrix_mad_k16('$a', int8, float8);'; "
        "done; cat %s/common.cl; } >%s/new && mv %s/new %s/common.cl",
        path, folder, folder, path);
    cr_assert_eq(system(command), 0);
    setenv("VITCL_CL_DIR", path, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    vt_driver.extension = INTEL;
    dev = opened();
    d = vt_timed_desc(dev, VT_BF16, 20, 24, 40);
    d.device_class = VT_CLASS_GPU;
    vitcl_log_set(listen, text);
    OK(vt_product_timed(&t, dev, "native", &d, NULL, NULL));
    vitcl_log_set(NULL, NULL);
    cr_expect(strstr(vt_gemm_describe(t.g), "native tile"), "%s",
              vt_gemm_describe(t.g));
    OK(vt_timed_run(&t));
    vt_timed_free(&t);
    vt_dev_free(dev);
    cr_expect(strstr(text, "dpas8 failed its trial: cannot build "), "%s",
              text);
    cr_expect(strstr(text, "dpas16 failed its trial: cannot build "), "%s",
              text);
    unsetenv("VITCL_CL_DIR");
}

/* ---- local memory ---- */

enum { M = 200, N = 70, K = 64 };

/* The product of int8 dot products, in tiles of this size. */
static void in_tiles(vt_dev *dev, const char *tiles)
{
    vt_gemm_desc d = vt_timed_desc(dev, VT_I8, M, N, K);
    vt_timed t;
    float *c = malloc(sizeof(float) * M * N);

    d.device_class = VT_CLASS_GPU;
    cr_assert(c);
    OK(vt_product_timed(&t, dev, "native", &d, NULL, NULL));
    cr_expect(strstr(vt_gemm_describe(t.g), tiles), "%s, not %s",
              vt_gemm_describe(t.g), tiles);
    OK(vt_timed_run(&t));
    OK(vt_timed_read(c, &t));
    for (int i = 0; i < M * N; i++)
        cr_assert_float_eq(c[i], 0.5 * K, 1e-3);
    vt_timed_free(&t);
    free(c);
}

/* The device has less than a large tile needs, or just as much; or the compiled
 * kernel of one needs more than it should. */
Test(units, local_memory)
{
    vt_dev *dev = opened();
    vitcl_device_info info = *vt_dev_info(dev);
    static char text[65536];

    vt_test_class(VT_CLASS_GPU);
    setenv("XDG_CACHE_HOME", vt_test_folder(), 1);
    vt_mma_use(dev, VT_I8, VT_MMA_DOT8, false);
    vt_product_state_of(dev)->units = 1; /* one tile is enough */
    info.local_bytes = 24 << 10;
    vt_dev_describe(dev, &info);
    in_tiles(dev, "dot8 128x64 ");
    info.local_bytes--;
    vt_dev_describe(dev, &info);
    in_tiles(dev, "dot8 64x64 ");
    info.local_bytes = 24 << 10;
    vt_dev_describe(dev, &info);
    vt_driver.local = 20 << 10;
    if (vt_driver.needed > vt_driver.local) { /* else it counts none */
        vitcl_log_set(listen, text);
        in_tiles(dev, "dot8 64x64 ");
        vitcl_log_set(NULL, NULL);
        cr_expect(strstr(text, "dot8 128x64 i8: it needs "), "%s", text);
    } else
        fputs("skipped: this driver does not say a kernel's local memory\n",
              stderr);
    info.local_bytes = 1 << 10; /* no tile at all */
    vt_dev_describe(dev, &info);
    in_tiles(dev, "native tile ");
    vt_dev_free(dev);
}

/* ---- programs ---- */

static void *build(void *context)
{
    static atomic_int next;
    vt_dev *dev = context;
    char defines[32];
    vt_kernel *k = NULL;
    void *failed = NULL;

    for (int i = 0; i < 2; i++) {
        snprintf(defines, sizeof defines, "-DUNUSED=%d",
                 atomic_fetch_add(&next, 1));
        if (vt_kernel_new(&k, dev, "mul", "mul", defines) != VITCL_OK)
            failed = "failed";
        vt_kernel_free(k);
    }
    return failed;
}

/* A driver that compiles for one thread at a time, as NVIDIA's does. */
Test(units, compiled_in_turn)
{
    pthread_t threads[4];
    vt_dev *dev;

    setenv("VITCL_CACHE", "off", 1);
    dev = opened();
    vt_driver.in_turn = true;
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, build, dev), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        cr_expect_null(failed);
    }
    cr_expect_eq(vt_driver.turns, 8);
    cr_expect_eq(vt_dev_counters(dev).programs_built, 8);
    vt_dev_free(dev);
}

static int lines_with(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

/* NVIDIA's driver keeps what it assembles of PTX in a folder of its own. */
Test(units, assembled_at_each_start)
{
    static const char line[] = "cache: none of NVIDIA's";
    static char text[65536];

    unsetenv("CUDA_CACHE_PATH");
    vitcl_log_set(listen, text);
    setenv("HOME", "/dev/null", 1);
    vt_dev_free(opened());
    cr_expect_eq(lines_with(text, line), 0, "of another vendor");
    vt_driver.extension = NVIDIA;
    setenv("HOME", vt_test_folder(), 1);
    vt_dev_free(opened());
    cr_expect_eq(lines_with(text, line), 0, "%s", text);
    setenv("HOME", "/dev/null", 1);
    vt_dev_free(opened());
    vt_dev_free(opened());
    cr_expect_eq(lines_with(text, line), 1, "%s", text);
    vitcl_log_set(NULL, NULL);
}
