/*
 * test_sandbox_limits.c - what a picture may cost: the memory of all decoder
 * processes, time, pixels. Whatever it costs, the first one gets its turn.
 */
#include "base/memory.h"
#include "image/pool.h"
#include "support/paths.h"
#include "support/pictures.h"
#include "support/pool.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

/* A grey picture of many scans: a few kilobytes that cost `side` * side *
 * layers * 2 bytes and more. free() it. */
static unsigned char *flat(unsigned long *size, unsigned side, int layers)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL, *row = calloc(side, (size_t)layers);

    cr_assert(row);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    *size = 0;
    jpeg_mem_dest(&c, &out, size);
    c.image_width = c.image_height = side;
    c.input_components = layers;
    c.in_color_space = layers == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&c);
    for (int i = 0; i < layers; i++)
        c.comp_info[i].h_samp_factor = c.comp_info[i].v_samp_factor = 1;
    jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < side)
        jpeg_write_scanlines(&c, &row, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    return out;
}

/* A process's memory limit in bytes. */
static unsigned long long ceiling(pid_t pid)
{
    char path[64], line[256];
    unsigned long long value = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "Max address space", 17) == 0)
            value = strtoull(line + 17, NULL, 10); /* "unlimited": 0 */
    if (f)
        fclose(f);
    return value;
}

/* All processes together stay within the budget, apart from what a process maps
 * anyway. A picture too large for one decoder goes to the large one; one too
 * large for that is refused. */
Test(sandbox, one_budget)
{
    const unsigned long long mib = 1 << 20, own = 16 * mib;
    unsigned long size[2];
    unsigned char *file[2] = {flat(&size[0], 2000, 3), flat(&size[1], 3000, 4)};
    uint8_t want[VT_TEST_BYTES], rgb[VT_TEST_BYTES];
    vt_picture in = {0}, small = {0};
    vt_preprocess p = vt_test_how();
    vt_decoder_pool *pool = NULL;
    unsigned long long sum = 0;
    pid_t pids[VT_TEST_CHILDREN];
    int n;

    cr_assert_eq(vt_image_decode(&in, file[0], size[0], "flat"), VITCL_OK);
    cr_assert_eq(vt_prepare(&small, &in, &p), VITCL_OK);
    memcpy(want, small.rgb, VT_TEST_BYTES);
    vt_picture_free(&in);
    vt_picture_free(&small);
    setenv("VITCL_DECODE_MEMORY", "128", 1);
    cr_assert_eq(vt_pool_new(&pool, &p, 16), VITCL_OK, "%s", vt_message());
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++)
            cr_assert_eq(vt_pool_push_bytes(pool, file[i], size[i], "flat.jpg"),
                         VITCL_OK);
    cr_assert_eq(vt_pool_push(pool, VT_DATA "/preprocess/in/exif6.jpg"),
                 VITCL_OK);
    for (int i = 0; i < 6; i++) {
        const vitcl_status st = vt_pool_next(rgb, pool);

        if (i % 2 == 0) {
            cr_expect_eq(st, VITCL_OK, "%s", vt_message());
            cr_expect(memcmp(rgb, want, VT_TEST_BYTES) == 0);
        } else if (!VT_TEST_SANITIZED) {
            cr_expect_eq(st, VITCL_ECORRUPT);
            cr_expect(strstr(vt_message(), "flat.jpg: ") &&
                          strstr(vt_message(), "VITCL_DECODE_MEMORY"),
                      "%s", vt_message());
        }
    }
    cr_expect_eq(vt_pool_next(rgb, pool), VITCL_OK, "%s", vt_message());
    n = vt_test_children(pids);
    for (int i = 0; i < n; i++)
        sum += ceiling(pids[i]);
    if (!VT_TEST_SANITIZED) {
        cr_expect_geq(n, 2);
        cr_expect(sum > 100 * mib && sum <= 128 * mib + (unsigned)n * own,
                  "%d processes may take %llu MiB", n, sum / mib);
    }
    vt_pool_free(pool);
    free(file[0]);
    free(file[1]);
}

/* The same if each thread has its own pool. */
Test(sandbox, shared_budget)
{
    unsigned long size[2];
    unsigned char *file[2];
    vt_decoder_pool *pool = NULL;
    vt_picture in = {0}, out = {0};

    if (VT_TEST_SANITIZED)
        vt_skip("a sanitizer's memory is not limited");
    file[0] = flat(&size[0], 2000, 3), file[1] = flat(&size[1], 3000, 4);
    setenv("VITCL_DECODE_MEMORY", "128", 1);
    for (int large = 0; large < 2; large++) {
        cr_assert_eq(vt_pool_new_shared(&pool, 4, large), VITCL_OK);
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(vt_pool_push_bytes(pool, file[i], size[i], "flat.jpg"),
                         VITCL_OK);
            cr_expect_eq(vt_pool_whole(&out, pool),
                         !large ? VITCL_ENOMEM
                         : i    ? VITCL_ECORRUPT
                                : VITCL_OK,
                         "%d %d: %s", large, i, vt_message());
        }
        vt_pool_free(pool);
    }
    cr_assert_eq(vt_image_decode(&in, file[0], size[0], "flat"), VITCL_OK);
    cr_assert(out.width == in.width && out.height == in.height);
    cr_expect(memcmp(in.rgb, out.rgb, (size_t)in.width * in.height * 3) == 0);
    vt_picture_free(&in);
    vt_picture_free(&out);
    free(file[0]);
    free(file[1]);
}

/* A small picture in a file that needs 65 MiB of memory. */
static const char *padded(void)
{
    const char *path = vt_test_path(vt_test_folder(), "padded.jpg");
    size_t size = 0;
    unsigned char *bytes = vt_test_bytes(&size, VT_DATA, "sample.jpg");
    FILE *f = fopen(path, "wb");

    cr_assert(bytes && f && fwrite(bytes, 1, size, f) == size);
    cr_assert(fclose(f) == 0 && truncate(path, 65 << 20) == 0);
    free(bytes);
    return path;
}

static void tell(const vt_decoder_pool *pool, unsigned worker, int number)
{
    cr_assert_eq(kill(pool->workers[worker].process.os.pid, number), 0);
}

static void push(vt_decoder_pool *pool, const char *path)
{
    cr_assert_eq(vt_pool_push(pool, path), VITCL_OK, "%s", vt_message());
}

/* Waits until the i-th picture is decoded. */
static vt_decode_job *settled(vt_decoder_pool *pool, unsigned i)
{
    while (vt_pool_job(pool, i)->state == VT_DECODE_SENT)
        vt_pool_listen(pool, 1000);
    return vt_pool_job(pool, i);
}

static void take_all(vt_decoder_pool *pool)
{
    uint8_t rgb[VT_TEST_BYTES];

    while (vt_pool_pending(pool))
        cr_expect_eq(vt_pool_next(rgb, pool), VITCL_OK, "%s", vt_message());
}

/* The first picture is found too large for its decoder after so many others
 * that these would fill the large decoder. */
Test(sandbox, large_after_others, .timeout = 60)
{
    vt_preprocess p = vt_test_how();
    vt_decoder_pool *pool = NULL;
    const char *path;

    if (VT_TEST_SANITIZED)
        vt_skip("a sanitizer's memory is not limited");
    path = padded();
    setenv("VITCL_DECODE_MEMORY", "1024", 1);
    cr_assert_eq(vt_pool_new(&pool, &p, 8), VITCL_OK);
    cr_assert(pool->count == 9 && pool->depth < pool->count);
    tell(pool, 0, SIGSTOP);
    for (unsigned i = 0; i <= pool->depth; i++)
        push(pool, path); /* the first to the decoder that is stopped */
    for (unsigned i = 1; i <= pool->depth; i++)
        cr_assert(settled(pool, i)->large);
    push(pool, VT_DATA "/sample.jpg"); /* sends those that wait, too */
    tell(pool, 0, SIGCONT);
    take_all(pool);
    vt_pool_free(pool);
    vt_test_tidy();
}

/* A decoder dies and no other can be started: its pictures get their turn even
 * if later ones would fill the other decoder. */
Test(sandbox, a_decoder_less, .timeout = 60)
{
    vt_preprocess p = vt_test_how();
    vt_decoder_pool *pool = NULL;
    const char *path = VT_DATA "/sample.jpg";
    uint8_t rgb[VT_TEST_BYTES];

    setenv("VITCL_DECODE_PIXELS", "1", 1);
    setenv("VITCL_DECODE_MEMORY", "1024", 1);
    cr_assert_eq(vt_pool_new(&pool, &p, 2), VITCL_OK);
    cr_assert_eq(pool->count, 2);
    for (unsigned i = 0; i < 2; i++)
        tell(pool, i, SIGSTOP);
    for (unsigned i = 0; i < 2; i++)
        push(pool, path);
    tell(pool, 0, SIGCONT);
    settled(pool, 0);
    tell(pool, 0, SIGSTOP);
    for (unsigned i = 0; i < 2; i++)
        push(pool, path); /* both to the first decoder */
    tell(pool, 1, SIGCONT);
    settled(pool, 1);
    for (unsigned i = 4; i < pool->depth + 3; i++) {
        push(pool, path);
        if (vt_pool_job(pool, i)->worker == 1)
            settled(pool, i);
    }
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(vt_pool_next(rgb, pool), VITCL_OK);
    push(pool, path);
    setenv("VITCL_DECODE", "/no such program", 1);
    tell(pool, 0, SIGKILL);
    cr_expect_eq(vt_pool_next(rgb, pool), VITCL_ECORRUPT);
    take_all(pool);
    vt_pool_free(pool);
}

Test(sandbox, limits_from_the_environment)
{
    static const char *const names[] = {
        "VITCL_DECODE_MEMORY", "VITCL_DECODE_SECONDS", "VITCL_DECODE_PIXELS"};
    static const char *const wrong[] = {"0", "-1", "x", "3x", "99999999999999"};
    unsigned long size;
    unsigned char *file = flat(&size, 1200, 3);
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = vt_test_how();
    uint8_t rgb[VT_TEST_BYTES];

    for (size_t i = 0; i < VT_COUNT(names); i++) {
        for (size_t j = 0; j < VT_COUNT(wrong); j++) {
            setenv(names[i], wrong[j], 1);
            cr_expect_eq(vt_pool_new(&pool, &p, 1), VITCL_EINVAL, "%s=%s",
                         names[i], wrong[j]);
            cr_expect(strstr(vt_message(), names[i]), "%s", vt_message());
        }
        unsetenv(names[i]);
    }
    for (int millions = 1; millions < 3; millions++) {
        setenv("VITCL_DECODE_PIXELS", millions == 1 ? "1" : "2", 1);
        cr_assert_eq(vt_pool_new(&pool, &p, 1), VITCL_OK);
        cr_assert_eq(vt_pool_push_bytes(pool, file, size, "flat"), VITCL_OK);
        cr_expect_eq(vt_pool_next(rgb, pool),
                     millions == 1 ? VITCL_ECORRUPT : VITCL_OK, "%s",
                     vt_message());
        vt_pool_free(pool);
    }
    free(file);
    setenv("VITCL_DECODE", "/no such program", 1);
    cr_expect_eq(vt_pool_new(&pool, &p, 1), VITCL_EIO);
    cr_expect(strstr(vt_message(), "/no such program"), "%s", vt_message());
}
