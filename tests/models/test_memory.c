/*
 * test_memory.c - data in the host's memory: pixels in several layouts, a
 * checkpoint's files, output buffers.
 */
#include "api/program.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vitcl.h>

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

/* ---- pixels ---- */

enum { W = 5, H = 3 };

static uint8_t channel(int x, int y, int c)
{
    return (uint8_t)(16 * x + 80 * y + 5 * c + 1);
}

/* The last row ends at the end of the allocation. */
static uint8_t *at_the_end(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    cr_assert(p != MAP_FAILED && size <= page);
    cr_assert(mprotect(p + page, page, PROT_NONE) == 0);
    return p + page - size;
}

Test(memory, pixels_in_every_layout)
{
    static const struct {
        vitcl_layout layout;
        size_t bytes;
        int at[3]; /* of red, green, blue */
    } ways[] = {{VITCL_RGB, 3, {0, 1, 2}},  {VITCL_BGR, 3, {2, 1, 0}},
                {VITCL_RGBX, 4, {0, 1, 2}}, {VITCL_BGRX, 4, {2, 1, 0}},
                {VITCL_GREY, 1, {0, 0, 0}}, {VITCL_RGBA, 4, {0, 1, 2}},
                {VITCL_BGRA, 4, {2, 1, 0}}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t gap = 0; gap < 8; gap += 7) {
            const size_t row = W * ways[i].bytes, stride = row + gap;
            uint8_t *p = at_the_end(stride * (H - 1) + row);
            vitcl_image image = {0, 0, NULL};

            memset(p, ways[i].layout < VITCL_RGBA ? 0xee : 0xff,
                   stride * (H - 1) + row);
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++)
                    for (int c = 0; c < 3; c++)
                        p[(size_t)y * stride + (size_t)x * ways[i].bytes +
                          (size_t)ways[i].at[c]] =
                            channel(x, y, ways[i].bytes == 1 ? 0 : c);
            need(vitcl_image_new(&image, p, W, H, gap ? stride : 0,
                                 ways[i].layout));
            cr_assert(image.width == W && image.height == H);
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++)
                    for (int c = 0; c < 3; c++)
                        cr_expect_eq(image.rgb[(y * W + x) * 3 + c],
                                     channel(x, y, ways[i].bytes == 1 ? 0 : c),
                                     "layout %zu, stride %zu: %d, %d, %d", i,
                                     stride, x, y, c);
            vitcl_image_free(&image);
        }
}

/* Every opacity: within a rounding of the exact mean with white. */
Test(memory, opacity_is_put_on_white)
{
    static uint8_t p[256 * 256 * 4];
    vitcl_image image = {0, 0, NULL};

    for (size_t i = 0; i < sizeof p / 4; i++) {
        p[4 * i] = p[4 * i + 1] = p[4 * i + 2] = (uint8_t)(i % 256);
        p[4 * i + 3] = (uint8_t)(i / 256);
    }
    need(vitcl_image_new(&image, p, 256, 256, 0, VITCL_RGBA));
    for (size_t i = 0; i < sizeof p / 4; i++) {
        const double a = (double)(i / 256) / 255,
                     want = a * (double)(i % 256) + (1 - a) * 255;

        cr_assert_float_eq((double)image.rgb[3 * i + 1], want, 0.51, "%zu", i);
    }
    vitcl_image_free(&image);
}

Test(memory, invalid_pixels_are_refused)
{
    static const uint8_t p[64] = {0};
    vitcl_image image = {7, 7, NULL};

    cr_expect_eq(vitcl_image_new(NULL, p, 2, 2, 0, VITCL_RGB), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_new(&image, NULL, 2, 2, 0, VITCL_RGB),
                 VITCL_EINVAL);
    cr_expect_eq(vitcl_image_new(&image, p, 0, 2, 0, VITCL_RGB), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_new(&image, p, 2, 0, 0, VITCL_RGB), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_new(&image, p, UINT32_MAX, 2, 0, VITCL_RGB),
                 VITCL_EINVAL);
    cr_expect_eq(vitcl_image_new(&image, p, 2, 2, 5, VITCL_RGB), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_new(&image, p, 2, 2, 0, (vitcl_layout)9),
                 VITCL_EINVAL);
    cr_expect(image.width == 7 && image.rgb == NULL);
}

/* ---- checkpoints ---- */

static char *file_of(size_t *size, const char *model, const char *name)
{
    char folder[512];
    char *text;

    snprintf(folder, sizeof folder, "%s/models/%s", VT_DATA, model);
    text = (char *)vt_test_bytes(size, folder, name);
    cr_assert(text, "%s/%s", folder, name);
    return text;
}

enum { ROOM = 4096 };

/* Its answer to a fixed picture; returns the number of values. */
static size_t answer(float *out, vitcl_model *model)
{
    vitcl_session *s = NULL;
    uint32_t h, w, n;
    float *pixels;

    need(vitcl_session_new(&s, model, NULL));
    vitcl_session_size(&h, &w, s);
    pixels = calloc((size_t)h * w * 3, sizeof *pixels);
    cr_assert(pixels);
    for (size_t i = 0; i < (size_t)h * w * 3; i++)
        pixels[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
    need(vitcl_session_run_values(s, pixels, 1));
    n = vitcl_session_classes(s) ? vitcl_session_classes(s)
                                 : vitcl_session_features(s);
    need(vitcl_session_read(
        out, ROOM, s, vitcl_session_classes(s) ? "logits" : "features", 1));
    free(pixels);
    vitcl_session_free(s);
    return n;
}

Test(memory, a_model_from_memory_equals_one_from_files)
{
    static const struct {
        const char *folder, *weights;
        bool config;
    } models[] = {{"timm_vit", "model.safetensors", true},
                  {"hf_dinov2", "model.safetensors", true},
                  {"npz_vit", "model.npz", false}};
    static float a[ROOM], b[ROOM];
    vitcl_device *device = NULL;

    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        vitcl_model_files f = {.size = sizeof f, .name = "mine"};
        vitcl_model *from_files = NULL, *from_memory = NULL;
        char path[512], *weights, *config = NULL;
        size_t n;

        snprintf(path, sizeof path, "%s/models/%s", VT_DATA, models[i].folder);
        weights =
            file_of(&f.weights_bytes, models[i].folder, models[i].weights);
        f.weights = weights;
        if (models[i].config)
            f.config = config =
                file_of(&f.config_bytes, models[i].folder, "config.json");
        need(vitcl_model_load(&from_files, device, path));
        need(vitcl_model_load_memory(&from_memory, device, &f));
        n = answer(a, from_files);
        cr_expect_eq(answer(b, from_memory), n);
        cr_expect(n > 0 && memcmp(a, b, n * sizeof *a) == 0, "%s",
                  models[i].folder);
        vitcl_model_free(from_files);
        vitcl_model_free(from_memory);
        free(weights);
        free(config);
    }
    vitcl_device_free(device);
}

static void refused(const vitcl_model_files *f, vitcl_status st,
                    const char *word)
{
    vitcl_model *m = NULL;

    cr_expect_eq(vitcl_model_load_memory(&m, NULL, f), st, "%s",
                 vitcl_last_error());
    cr_expect(strstr(vitcl_last_error(), word) != NULL, "no \"%s\" in: %s",
              word, vitcl_last_error());
    cr_expect_null(m);
}

Test(memory, invalid_models_are_refused)
{
    static const char index[] = "{\"weight_map\": {\"a\": \"b\"}}";
    size_t weights_bytes = 0, config_bytes = 0;
    char *weights = file_of(&weights_bytes, "timm_vit", "model.safetensors");
    char *config = file_of(&config_bytes, "timm_vit", "config.json");
    const vitcl_model_files whole = {.size = sizeof whole,
                                     .name = "mine",
                                     .weights = weights,
                                     .weights_bytes = weights_bytes,
                                     .config = config,
                                     .config_bytes = config_bytes};
    vitcl_model_files f = whole;
    vitcl_model *m = NULL;

    cr_expect_eq(vitcl_model_load_memory(NULL, NULL, &whole), VITCL_EINVAL);
    cr_expect_eq(vitcl_model_load_memory(&m, NULL, NULL), VITCL_EINVAL);
    f.size = 0;
    refused(&f, VITCL_EINVAL, "vitcl_model_files");
    f = whole, f.weights = NULL;
    refused(&f, VITCL_EINVAL, "weights");
    f = whole, f.config = NULL;
    refused(&f, VITCL_EINVAL, "pointer");
    f.config_bytes = 0;
    refused(&f, VITCL_EINVAL, "mine: safetensors weights need");
    f = whole, f.config_bytes /= 2;
    refused(&f, VITCL_ECORRUPT, "mine: config.json");
    f = whole, f.weights_bytes -= 4;
    refused(&f, VITCL_ECORRUPT, "mine");
    f = whole, f.weights_bytes = 0;
    refused(&f, VITCL_EUNSUPPORTED, "mine");
    f = whole, f.weights = index, f.weights_bytes = sizeof index - 1;
    refused(&f, VITCL_EUNSUPPORTED, "index of shards");
    f = whole, f.name = NULL, f.weights_bytes = 3;
    refused(&f, VITCL_EUNSUPPORTED, "model");
    need(vitcl_model_load_memory(&m, NULL, &whole));
    vitcl_model_free(m);
    free(weights);
    free(config);
}

/* ---- room ---- */

Test(memory, output_sizes_are_checked)
{
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *s = NULL;
    static uint8_t rgb[2 * 32 * 32 * 3];
    static float x[2001];
    const vitcl_session_options o = {.size = sizeof o, .batch = 2};

    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_new(&model, device, "vit-ti/16", 32));
    need(vitcl_session_new(&s, model, &o));
    need(vitcl_session_run_rgb(s, rgb, 2));
    x[0] = 1.25f;
    cr_expect_eq(vitcl_session_read(x, 1999, s, "logits", 2), VITCL_EINVAL);
    cr_expect(strstr(vitcl_last_error(), "2000") != NULL, "%s",
              vitcl_last_error());
    cr_expect(x[0] == 1.25f);
    cr_expect_eq(vitcl_session_read(x, 999, s, "logits", 1), VITCL_EINVAL);
    x[1000] = x[2000] = 1.5f;
    need(vitcl_session_read(x, 1000, s, "logits", 1));
    cr_expect(x[1000] == 1.5f);
    need(vitcl_session_read(x, 2001, s, "logits", 2));
    cr_expect(x[1000] != 1.5f && x[2000] == 1.5f);
    vitcl_session_free(s);
    vitcl_model_free(model);
    vitcl_device_free(device);
}

/* ---- pictures in advance ---- */

Test(memory, a_loader_takes_bytes)
{
    static uint8_t a[32 * 32 * 3], b[32 * 32 * 3];
    size_t size = 0;
    unsigned char *bytes = vt_test_bytes(&size, VT_DATA, "sample.jpg");
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *s = NULL;
    vitcl_loader *loader = NULL;

    cr_assert(bytes);
    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_new(&model, device, "vit-ti/16", 32));
    need(vitcl_session_new(&s, model, NULL));
    need(vitcl_loader_new(&loader, s, 2));
    cr_expect_eq(vitcl_loader_push_bytes(NULL, bytes, size, "x"), VITCL_EINVAL);
    cr_expect_eq(vitcl_loader_push_bytes(loader, NULL, size, "x"),
                 VITCL_EINVAL);
    need(vitcl_loader_push(loader, VT_DATA "/sample.jpg"));
    need(vitcl_loader_push_bytes(loader, bytes, size / 9, "a part"));
    need(vitcl_loader_push_bytes(loader, bytes, size, "all of it"));
    need(vitcl_loader_push_bytes(loader, bytes, 0, NULL));
    memset(bytes, 0, size); /* they were copied */
    free(bytes);
    cr_expect_eq(vitcl_loader_pending(loader), 4);
    need(vitcl_loader_next(a, loader));
    cr_expect_eq(vitcl_loader_next(b, loader), VITCL_ECORRUPT);
    cr_expect(strstr(vitcl_last_error(), "a part") != NULL, "%s",
              vitcl_last_error());
    need(vitcl_loader_next(b, loader));
    cr_expect(memcmp(a, b, sizeof a) == 0);
    cr_expect_neq(vitcl_loader_next(b, loader), VITCL_OK);
    cr_expect(strstr(vitcl_last_error(), "picture") != NULL, "%s",
              vitcl_last_error());
    vitcl_loader_free(loader);
    vitcl_session_free(s);
    vitcl_model_free(model);
    vitcl_device_free(device);
}

/* Each pixel is the mean of those that it covers, computed here in double. */
static void check_thumbnail(const vitcl_image *small, const char *path,
                            uint32_t side)
{
    vitcl_image in = {0, 0, NULL};
    uint32_t longer;

    need(vitcl_image_load(&in, path));
    longer = in.width > in.height ? in.width : in.height;
    cr_assert_eq(small->width, in.width * side / longer);
    cr_assert_eq(small->height, in.height * side / longer);
    for (uint32_t i = 0; i < small->width * small->height * 3; i++) {
        const uint32_t x = i / 3 % small->width, y = i / 3 / small->width;
        double sum = 0;
        int n = 0;

        for (uint32_t v = y * in.height / small->height;
             v < (y + 1) * in.height / small->height; v++)
            for (uint32_t u = x * in.width / small->width;
                 u < (x + 1) * in.width / small->width; u++, n++)
                sum += in.rgb[(v * in.width + u) * 3 + i % 3];
        cr_assert_float_eq(small->rgb[i], sum / n, 0.5001, "number %u", i);
    }
    vitcl_image_free(&in);
}

/* Of the file that was opened, not of what has its name now. */
Test(memory, a_loader_tells_the_file)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "picture.pgm");
    const char *other = vt_test_path(folder, "other.pgm");
    vitcl_loader *loader = NULL;
    int64_t size = 0, changed = 0;
    struct stat before;
    FILE *f = fopen(path, "wb");

    cr_assert(f);
    fputs("P5 2 2 255\nabcd", f);
    fclose(f);
    cr_assert_eq(utimensat(AT_FDCWD, path,
                           (struct timespec[2]){{5, 7}, {1000000000, 123}}, 0),
                 0);
    cr_assert_eq(stat(path, &before), 0);
    need(vt_loader_new_thumbnails(&loader, NULL, 1, 40));
    cr_expect_eq(vt_loader_stamp(&size, &changed, loader), VITCL_EINVAL);
    need(vitcl_loader_push(loader, path)); /* and opens it */
    cr_assert_eq(rename(path, other), 0);
    need(vitcl_loader_next(NULL, loader));
    need(vt_loader_stamp(&size, &changed, loader));
    cr_expect_eq(size, before.st_size);
    cr_expect_eq(changed, 1000000000000000123);
    need(vitcl_loader_push(loader, path));
    cr_expect_eq(vitcl_loader_next(NULL, loader), VITCL_EIO);
    cr_expect_eq(vt_loader_stamp(&size, &changed, loader), VITCL_EINVAL);
    need(vitcl_loader_push_bytes(loader, "P5 1 1 255\na", 12, NULL));
    need(vitcl_loader_next(NULL, loader));
    cr_expect_eq(vt_loader_stamp(&size, &changed, loader), VITCL_EINVAL);
    vitcl_loader_free(loader);
    vt_test_tidy();
}

Test(memory, a_loader_makes_thumbnails)
{
    static uint8_t a[32 * 32 * 3], b[32 * 32 * 3];
    vitcl_image small = {0, 0, NULL};
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *s = NULL;
    vitcl_loader *loader = NULL;

    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_new(&model, device, "vit-ti/16", 32));
    need(vitcl_session_new(&s, model, NULL));
    need(vitcl_loader_new(&loader, s, 1));
    need(vitcl_loader_push(loader, VT_DATA "/sample.jpg"));
    need(vitcl_loader_next(a, loader));
    cr_expect_eq(vt_loader_thumbnail(&small, loader), VITCL_EINVAL);
    vitcl_loader_free(loader);
    cr_expect_eq(vt_loader_new_thumbnails(&loader, s, 1, 0), VITCL_EINVAL);
    cr_expect_eq(vt_loader_new_thumbnails(&loader, s, 1, 1025), VITCL_EINVAL);
    for (int alone = 0; alone < 2; alone++) {
        need(vt_loader_new_thumbnails(&loader, alone ? NULL : s, 2, 40));
        cr_expect_eq(vt_loader_thumbnail(&small, loader), VITCL_EINVAL);
        for (int i = 0; i < 50; i++) /* more than there are slots */
            need(vitcl_loader_push(loader, VT_DATA "/sample.jpg"));
        need(vitcl_loader_push(loader, "/no/such/picture"));
        for (int i = 0; i < 50; i++) {
            memset(b, 0, sizeof b);
            need(vitcl_loader_next(alone ? NULL : b, loader));
            cr_expect(alone || memcmp(a, b, sizeof a) == 0);
            need(vt_loader_thumbnail(&small, loader));
            if (i == 0 || i == 49)
                check_thumbnail(&small, VT_DATA "/sample.jpg", 40);
            vitcl_image_free(&small);
        }
        cr_expect_eq(vitcl_loader_next(b, loader), VITCL_EIO);
        cr_expect_eq(vt_loader_thumbnail(&small, loader), VITCL_EINVAL);
        vitcl_loader_free(loader);
    }
    vitcl_session_free(s);
    vitcl_model_free(model);
    vitcl_device_free(device);
}
