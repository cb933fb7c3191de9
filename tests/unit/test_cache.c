/*
 * test_cache.c - the disk cache of compiled programs: valid entries are used,
 * invalid ones are silently rebuilt. Each test has its own folder. The device's
 * counter tells whether a program was built.
 */
#include "base/memory.h"
#include "ocl/cache.h"
#include "ocl/objects.h"
#include "ocl/program.h"
#include "support/device.h"
#include "support/driver.h"
#include "support/pictures.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[256], store[300], entry[600];
enum { HEAD = 98 }; /* bytes of a program's file before the binary */

static void begin(void)
{
    snprintf(folder, sizeof folder, "%s", vt_test_folder());
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("VITCL_CACHE");
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 1); /* as the program */
    snprintf(store, sizeof store, "%s/vitcl", folder);
    vt_test_kernels(folder, "#define ONE 1\n");
    vt_test_kernel(
        folder, "k",
        "#ifndef ADD\n#define ADD 0\n#endif\n"
        "kernel void k(global int *out)\n{\n    out[0] = 41 + ADD;\n}\n"
        "kernel void l(global int *out)\n{\n    out[0] = no_such;\n}\n");
}

/* Opens a device and runs the kernel; returns how many programs were built. */
static int built(const char *defines, int want)
{
    const char *select = getenv("VITCL_TEST_DEVICE");
    vt_dev *dev = NULL;
    vt_queue *q = NULL;
    vt_kernel *k = NULL;
    vt_buf *b = NULL;
    int got = 0;

    cr_assert_eq(vt_product_open(&dev, select && *select ? select : "any"),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_kernel_new(&k, dev, "k", "k", defines), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vt_queue_new(&q, dev, VT_TIMES_NONE), VITCL_OK);
    cr_assert_eq(vt_buf_new(&b, dev, 4), VITCL_OK);
    cr_assert_eq(vt_kernel_buf(k, 0, b), VITCL_OK);
    cr_assert_eq(vt_kernel_launch(q, k), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_buf_read(q, b, 0, &got, 4), VITCL_OK);
    cr_expect_eq(got, want);
    const int n = (int)vt_dev_counters(dev).programs_built;
    vt_buf_free(b);
    vt_queue_free(q);
    vt_kernel_free(k);
    vt_dev_free(dev);
    return n;
}

/* Counts the entries; `entry` is the last one's path. */
static int entries(void)
{
    DIR *d = opendir(store);
    int n = 0;

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(entry, sizeof entry, "%s/%.100s", store, e->d_name);
            n++;
        }
    if (d)
        closedir(d);
    return n;
}

static size_t get(unsigned char **out, const char *path)
{
    FILE *f = fopen(path, "rb");
    long n;

    cr_assert(f);
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    *out = malloc((size_t)n + 1);
    cr_assert_eq(fread(*out, 1, (size_t)n, f), (size_t)n);
    fclose(f);
    return (size_t)n;
}

static void set(const char *path, const unsigned char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert(f);
    cr_assert_eq(fwrite(data, 1, n, f), n);
    fclose(f);
}

TestSuite(cache, .fini = vt_test_tidy);

/* PoCL keeps what it compiles for the sizes of launches; a binary of ours would
 * be of kernels that no launch uses. */
Test(cache, leaves_sizes_to_pocl)
{
    begin();
    unsetenv("POCL_WORK_GROUP_SPECIALIZATION");
    if (!vt_dev_pocl(vt_test_device()))
        vt_skip("this is not PoCL");
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(entries(), 0);
    cr_expect_eq(built("", 41), 1);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    cr_expect_eq(built("-DADD=1", 42), 1);
    cr_expect_eq(entries(), 1);
}

Test(cache, keeps)
{
    struct stat st;
    char first[600];

    begin();
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(entries(), 1);
    cr_assert_eq(stat(store, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0700);
    cr_assert_eq(stat(entry, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0600);
    cr_expect_eq(built("", 41), 0);

    /* Everything that affects a program is part of its key. */
    cr_expect_eq(built("-DADD=1", 42), 1);
    cr_expect_eq(entries(), 2);
    cr_expect_eq(built("-DADD=1", 42), 0);
    setenv("IGC_ExtraOCLOptions", "1", 1);
    cr_expect_eq(built("", 41), 1);
    setenv("IGC_ExtraOCLOptions", "2", 1);
    cr_expect_eq(built("", 41), 1);
    unsetenv("IGC_ExtraOCLOptions");
    cr_expect_eq(built("", 41), 0);
    vt_test_kernel(folder, "common", "#define ONE 2\n");
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(entries(), 5);

    /* One entry renamed to another's name. */
    unsigned char *a;
    cr_assert_eq(entries(), 5);
    snprintf(first, sizeof first, "%s", entry);
    const size_t n = get(&a, first);
    vt_test_kernel(folder, "common", "#define ONE 3\n");
    cr_expect_eq(built("-DADD=7", 48), 1);
    DIR *d = opendir(store);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(entry, sizeof entry, "%s/%.100s", store, e->d_name);
            set(entry, a, n);
        }
    closedir(d);
    cr_expect_eq(built("-DADD=7", 48), 1);
    cr_expect_eq(built("-DADD=7", 48), 0);
    free(a);

    setenv("VITCL_CACHE", "off", 1);
    cr_expect_eq(built("-DADD=7", 48), 1);
    cr_expect_eq(built("-DADD=8", 49), 1);
    cr_expect_eq(entries(), 6);
    unsetenv("VITCL_CACHE");
    cr_expect_eq(built("-DADD=7", 48), 0);
}

/* A flipped bit, a truncation or extra bytes: the program is rebuilt and the
 * entry replaced. */
Test(cache, damaged)
{
    unsigned char *good, *bad;

    begin();
    setenv("IGC_ExtraOCLOptions", "3", 1);
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(entries(), 1);
    const size_t n = get(&good, entry);
    cr_assert_gt(n, 200);
    bad = malloc(n + 1);
    for (size_t i = 0; i < 48; i++) {
        /* every part of the head, and spread over the binary */
        const size_t at = i < 24 ? i * 4 : HEAD + (n - HEAD) / 24 * (i - 24);
        memcpy(bad, good, n);
        bad[at] ^= (unsigned char)(1 << i % 8);
        set(entry, bad, n);
        cr_expect_eq(built("", 41), 1, "byte %zu", at);
    }
    for (size_t i = 0; i < 12; i++) {
        const size_t cut = i < 6 ? i * 19 : n - 1 - (i - 6) * (n / 8);
        set(entry, good, cut);
        cr_expect_eq(built("", 41), 1, "cut at %zu", cut);
    }
    memcpy(bad, good, n);
    bad[n] = 0;
    set(entry, bad, n + 1);
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(built("", 41), 0);
    free(good);
    free(bad);
}

/* Code that another user may have written is not run. */
Test(cache, distrusts)
{
    char elsewhere[600];

    begin();
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(entries(), 1);
    cr_assert_eq(chmod(entry, 0620), 0);
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(built("", 41), 0);
    cr_assert_eq(chmod(store, 0770), 0);
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(chmod(store, 0702), 0);
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(chmod(store, 0700), 0);
    cr_expect_eq(built("", 41), 0);

    /* A link in place of an entry, then of the folder. */
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    cr_assert_eq(rename(entry, elsewhere), 0);
    cr_assert_eq(symlink(elsewhere, entry), 0);
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(remove(entry), 0);
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(remove(elsewhere), 0);
    cr_assert_eq(rename(store, elsewhere), 0);
    cr_assert_eq(symlink(elsewhere, store), 0);
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(remove(store), 0);
    cr_assert_eq(rename(elsewhere, store), 0);
    cr_expect_eq(built("", 41), 0);
    if (geteuid() == 0) { /* only root can give a folder away */
        cr_assert_eq(chown(store, 12345, 12345), 0);
        cr_expect_eq(built("", 41), 1);
        cr_assert_eq(chown(store, 0, 0), 0);
        cr_expect_eq(built("", 41), 0);
    }

    /* Without a writable folder everything works, uncached. */
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    cr_expect_eq(built("", 41), 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", folder, 1);
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(built("", 41), 0);
}

/* A file of `size` bytes (a hole) last used `days` ago. */
static void place(int dir, const char *name, off_t size, int days)
{
    const time_t then = time(NULL) - (time_t)days * 86400;
    const struct timespec times[2] = {{then, 0}, {then, 0}};
    const int fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);

    cr_assert_geq(fd, 0);
    cr_assert_eq(ftruncate(fd, size), 0);
    cr_assert_eq(futimens(fd, times), 0);
    close(fd);
}

static bool stands(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, 0) == 0;
}

Test(cache, is_evicted)
{
    static const struct {
        char digit;
        const char *end;
        int mib, days;
        bool stays;
    } files[] = {
        {'1', ".program", 100, 3, false}, /* the oldest of too many bytes */
        {'2', ".program", 100, 2, true},
        {'3', ".words", 100, 1, true},
        {'4', ".program", 1, 91, false}, /* not used for 91 days */
        {'5', ".joint", 1, 0, true},
        {'6', ".program.77.1", 1, 2, false},
        {'7', ".labels.77.1", 1, 0, true}, /* being written */
        {'9', ".verdict", 0, 91, false},
        {'a', ".verdict", 0, 1, true},
        {'8', ".row", 300, 200, true}, /* not ours */
        {'x', ".program", 300, 200, true},
        {'b', ".bin", 1, 31, false}, /* an older version's */
        {'c', ".choice", 0, 31, false},
        {'d', ".bin", 1, 1, true},
    };
    enum { N = VT_COUNT(files) };
    char name[N][80];
    int dir;

    begin();
    dir = open(folder, O_RDONLY | O_DIRECTORY);
    cr_assert_geq(dir, 0);
    for (int i = 0; i < N; i++) {
        memset(name[i], files[i].digit, 64);
        snprintf(name[i] + 64, 16, "%s", files[i].end);
        place(dir, name[i], (off_t)files[i].mib << 20, files[i].days);
    }
    vt_kept_evict(dir, (uint64_t)256 << 20, time(NULL));
    for (int i = 0; i < N; i++)
        cr_expect_eq(stands(dir, name[i]), files[i].stays, "%s", name[i]);
    close(dir);
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(entries(), 1);

    /* A load says that a file is in use. */
    dir = open(store, O_RDONLY | O_DIRECTORY);
    place(dir, strrchr(entry, '/') + 1, 0, 0);
    cr_expect_eq(built("", 41), 1, "emptied, so built again");
    const struct timespec then[2] = {{1000, 0}, {1000, 0}};
    struct stat st;
    cr_assert_eq(utimensat(AT_FDCWD, entry, then, 0), 0);
    cr_expect_eq(built("", 41), 0);
    cr_assert_eq(stat(entry, &st), 0);
    cr_expect_gt(st.st_mtime, 1000);
    close(dir);
}

/* Kernels that are requested in advance are built together; with PoCL in
 * separate processes, which leave their programs in the cache. */
Test(cache, builds_in_advance)
{
    enum { N = 5 };
    const char *select = getenv("VITCL_TEST_DEVICE");
    vt_dev *dev = NULL;
    vt_queue *q = NULL;
    vt_kernel *k[N] = {NULL}, *bad = NULL;
    vt_buf *b = NULL;
    char defines[32];
    bool pocl;

    begin();
    cr_assert_eq(vt_product_open(&dev, select && *select ? select : "any"),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_queue_new(&q, dev, VT_TIMES_NONE), VITCL_OK);
    cr_assert_eq(vt_buf_new(&b, dev, 4), VITCL_OK);
    vt_kernels_defer(true);
    for (int i = 0; i < N; i++) {
        snprintf(defines, sizeof defines, "-DADD=%d", i);
        cr_assert_eq(vt_kernel_new(&k[i], dev, "k", "k", defines), VITCL_OK);
        cr_assert_eq(vt_kernel_buf(k[i], 0, b), VITCL_OK);
    }
    cr_assert_eq(vt_kernel_new(&bad, dev, "k", "l", ""), VITCL_OK);
    cr_expect_eq(vt_dev_counters(dev).programs_built, 0);
    unsetenv("VITCL_BUILD_FORK");
    vt_kernels_build(dev);
    cr_expect_eq(entries(), 0, "a library does not fork unasked");
    setenv("VITCL_BUILD_FORK", "1", 1);
    vt_kernels_build(dev);
    vt_kernels_defer(false);
    pocl = strcmp(vt_dev_info(dev)->platform, "Portable Computing Language") ==
               0 &&
           vt_dev_info(dev)->compute_units > 1;
    cr_expect_eq(entries(), pocl ? N : 0);
    for (int i = 0; i < N; i++) {
        int got = 0;
        cr_assert_eq(vt_kernel_ready(k[i]), VITCL_OK, "%s", vt_message());
        cr_assert_eq(vt_kernel_launch(q, k[i]), VITCL_OK, "%s", vt_message());
        cr_assert_eq(vt_buf_read(q, b, 0, &got, 4), VITCL_OK);
        cr_expect_eq(got, 41 + i);
        vt_kernel_free(k[i]);
    }
    cr_expect_eq(vt_dev_counters(dev).programs_built, N);
    cr_expect_eq(vt_kernel_ready(bad), VITCL_EDEVICE);
    cr_expect(strstr(vt_message(), "no_such"), "%s", vt_message());
    vt_kernel_free(bad);
    vt_buf_free(b);
    vt_queue_free(q);
    vt_dev_free(dev);
}

/* A program's name depends on its source, options, device and driver: changing
 * any one changes the name. */
Test(cache, names)
{
    char here[] = "device 1, driver 2", there[] = "device 1, driver 3";
    const vt_dev one = {.identity = here}, other = {.identity = there};
    const vt_kept_key keys[] = {
        vt_cache_key_end(vt_cache_key_begin("common"), &one, "text", "-DX"),
        vt_cache_key_end(vt_cache_key_begin("common"), &other, "text", "-DX"),
        vt_cache_key_end(vt_cache_key_begin("common "), &one, "text", "-DX"),
        vt_cache_key_end(vt_cache_key_begin("common"), &one, "text ", "-DX"),
        vt_cache_key_end(vt_cache_key_begin("common"), &one, "text", "-DX "),
        vt_cache_key_end(vt_cache_key_begin("commont"), &one, "ext", "-DX"),
        vt_cache_key_end(vt_cache_key_begin("common"), &one, "text-", "DX"),
    };
    const size_t n = sizeof keys / sizeof *keys;
    vt_kept_key again =
        vt_cache_key_end(vt_cache_key_begin("common"), &one, "text", "-DX");

    cr_expect_eq(memcmp(&again, &keys[0], sizeof again), 0);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(memcmp(&keys[i], &keys[k], sizeof *keys), 0,
                          "%zu and %zu", i, k);
    /* environment variables that drivers read are part of it */
    setenv("POCL_EXTRA_BUILD_FLAGS", "-w", 1);
    again = vt_cache_key_end(vt_cache_key_begin("common"), &one, "text", "-DX");
    cr_expect_neq(memcmp(&again, &keys[0], sizeof again), 0);
    setenv("ODD", "1", 1);
    const vt_kept_key same =
        vt_cache_key_end(vt_cache_key_begin("common"), &one, "text", "-DX");
    cr_expect_eq(memcmp(&again, &same, sizeof again), 0);
}

/* An entry that is intact, but whose binary is another than the driver's. */
static void forge(const void *binary, size_t size)
{
    const char *hex = strrchr(entry, '/') + 1;
    vt_kept_key key;

    for (int i = 0; i < 32; i++)
        cr_assert_eq(sscanf(hex + 2 * (ptrdiff_t)i, "%2hhx", &key.hash[i]), 1);
    cr_assert(
        vt_kept_put(VT_KEPT_PROGRAM, &key, &(vt_user_part){binary, size}, 1));
}

/* What the driver does not take is built from source and written anew. */
Test(cache, a_driver_that_takes_no_binary)
{
    int *const faults[] = {&vt_driver.build, &vt_driver.binary,
                           &vt_driver.with_binary};
    begin();
    cr_expect_eq(built("", 41), 1);
    cr_assert_eq(entries(), 1);
    forge("", 0);
    cr_expect_eq(built("", 41), 1, "a binary of no bytes");
    forge("no binary of this driver", 24);
    cr_expect_eq(built("", 41), 1, "another driver's binary");
    cr_expect_eq(built("", 41), 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        *faults[i] = i ? CL_INVALID_BINARY : CL_BUILD_PROGRAM_FAILURE;
        cr_expect_eq(built("", 41), 1, "fault %zu", i);
        cr_expect_eq(*faults[i], 0);
        cr_expect_eq(entries(), 1);
        cr_expect_eq(built("", 41), 0, "after fault %zu", i);
    }
}

/* What the driver does not hand out is not kept, and runs nevertheless. */
Test(cache, a_driver_that_gives_no_binary)
{
    static const size_t sizes[] = {0, ((size_t)64 << 20) + 1};

    begin();
    vt_driver.sizes = CL_OUT_OF_HOST_MEMORY;
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(entries(), 0);
    vt_driver.binaries = CL_OUT_OF_HOST_MEMORY;
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(entries(), 0);
    for (int i = 0; i < 2; i++) {
        vt_driver.size = &sizes[i];
        cr_expect_eq(built("", 41), 1);
        cr_expect_null(vt_driver.size);
        cr_expect_eq(entries(), 0, "%zu bytes", sizes[i]);
    }
    cr_expect_eq(built("", 41), 1);
    cr_expect_eq(entries(), 1);
}

/* The device and a kernel of it, built. */
static void open_kernel(vt_dev **dev, vt_kernel **k, const char *defines)
{
    const char *select = getenv("VITCL_TEST_DEVICE");

    cr_assert_eq(vt_product_open(dev, select && *select ? select : "any"),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_kernel_new(k, *dev, "k", "k", defines), VITCL_OK, "%s",
                 vt_message());
}

/* A driver is not asked for the binary of a program that another device of the
 * process has saved, since it may run there. */
Test(cache, asks_once)
{
    vt_dev *dev = NULL;
    vt_kernel *k = NULL;
    vt_inputs r;

    begin();
    open_kernel(&dev, &k, "");
    cr_assert_eq(entries(), 1);
    cr_assert_eq(vt_inputs_of(&r, dev, k->program), VITCL_OK);
    vt_driver.sizes = CL_OUT_OF_HOST_MEMORY; /* for the next that asks */
    vt_cache_save(dev, &r.key, k->program->program);
    cr_expect_eq(vt_driver.sizes, CL_OUT_OF_HOST_MEMORY, "asked again");
    vt_driver.sizes = 0;
    cr_assert_eq(remove(entry), 0);
    vt_cache_save(dev, &r.key, k->program->program);
    cr_expect_eq(entries(), 1);

    /* If no file can be written, nobody asks any more. */
    cr_assert_eq(remove(entry), 0);
    cr_assert_eq(mkdir(entry, 0700), 0);
    vt_cache_save(dev, &r.key, k->program->program);
    cr_assert_eq(remove(entry), 0);
    vt_driver.sizes = CL_OUT_OF_HOST_MEMORY;
    vt_cache_save(dev, &r.key, k->program->program);
    cr_expect_eq(vt_driver.sizes, CL_OUT_OF_HOST_MEMORY, "asked again");
    cr_expect_eq(entries(), 0);
    vt_inputs_free(&r);
    vt_kernel_free(k);
    vt_dev_free(dev);
}
