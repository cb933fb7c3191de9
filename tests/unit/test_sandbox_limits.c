/*
 * test_sandbox_limits.c - what a picture may cost: the memory of all decoder
 * processes, time, pixels.
 */
#include "base/memory.h"
#include "support/paths.h"
#include "support/pool.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
