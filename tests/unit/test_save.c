/*
 * test_save.c - safetensors as the format's description has them, byte for
 * byte; tensors that cannot be written; and the limits of all weight files.
 */
#include "base/memory.h"
#include "support/pictures.h"
#include "weights/reader.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(save, .fini = vt_test_tidy);

static void holds(const char *folder, const char *header, const void *data,
                  size_t data_size)
{
    const size_t n = strlen(header);
    size_t size = 0, length = 0;
    unsigned char *bytes = vt_test_bytes(&size, folder, "w.safetensors");

    cr_assert(bytes && size >= 8);
    for (int i = 7; i >= 0; i--)
        length = length << 8 | bytes[i];
    cr_assert(length % 8 == 0 && length >= n && length < n + 8, "%zu, not %zu",
              length, n);
    cr_expect(memcmp(bytes + 8, header, n) == 0, "%.*s", (int)length,
              (char *)bytes + 8);
    for (size_t i = n; i < length; i++)
        cr_expect_eq(bytes[8 + i], ' ');
    cr_assert_eq(size, 8 + length + data_size);
    cr_expect(data_size == 0 ||
              memcmp(bytes + 8 + length, data, data_size) == 0);
    free(bytes);
}

/* Larger elements first, then names in order; all that JSON escapes. */
Test(save, bytes)
{
    static const char *const metadata[] = {"format", "pt", "a\"b", "c\\d\x1f",
                                           NULL};
    static const char *const none[] = {NULL};
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const vt_tensor x[] = {
        {.name = "z",
         .dtype = VT_FILE_U8,
         .rank = 1,
         .shape = {1},
         .count = 1,
         .size = 1,
         .data = data + 8},
        {.name = "tab\tline\n",
         .dtype = VT_FILE_F16,
         .rank = 2,
         .shape = {1, 2},
         .count = 2,
         .size = 4,
         .data = data + 4},
        {.name = "\xc3\xa9\x7f",
         .dtype = VT_FILE_F32,
         .count = 1,
         .size = 4,
         .data = data},
        {.name = "e", .dtype = VT_FILE_U8, .rank = 3, .shape = {2, 0, 3}},
    };
    char *const folder = vt_test_folder();
    char *const path = vt_test_path(folder, "w.safetensors");
    vt_tensors *t = NULL;

    cr_assert_eq(vt_safetensors_write(path, x, 4, metadata), VITCL_OK, "%s",
                 vt_message());
    holds(folder,
          "{\"__metadata__\":{\"format\":\"pt\",\"a\\\"b\":\"c\\\\d\\u001f\"},"
          "\"\xc3\xa9\\u007f\":{\"dtype\":\"F32\",\"shape\":[],"
          "\"data_offsets\":[0,4]},"
          "\"tab\\tline\\n\":{\"dtype\":\"F16\",\"shape\":[1,2],"
          "\"data_offsets\":[4,8]},"
          "\"e\":{\"dtype\":\"U8\",\"shape\":[2,0,3],\"data_offsets\":[8,8]},"
          "\"z\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]}}",
          data, sizeof data);
    cr_assert_eq(vt_tensors_open(&t, path), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_tensors_count(t), 4);
    for (size_t i = 0; i < 4; i++)
        cr_expect(vt_tensors_get(t, x[i].name), "%zu", i);
    cr_expect_null(vt_tensors_at(t, 4));
    vt_tensors_free(t);
    cr_assert_eq(vt_safetensors_write(path, NULL, 0, none), VITCL_OK);
    holds(folder, "{}", NULL, 0);
    cr_assert_eq(vt_safetensors_write(path, NULL, 0, NULL), VITCL_OK);
    holds(folder, "{}", NULL, 0);
}

/* Nothing is written, and what was there stays. */
Test(save, refuses)
{
#define BIG (UINT64_C(1) << 32)
    static const uint8_t data[8];
    static const struct {
        vt_tensor x;
        const char *says;
    } cases[] = {
        {{.name = "x",
          .dtype = VT_FILE_OTHER,
          .count = 1,
          .size = 1,
          .data = data},
         "x cannot be written"},
        {{.name = "x",
          .dtype = VT_FILE_U8,
          .rank = VT_RANK_MAX + 1,
          .count = 1,
          .size = 1,
          .data = data},
         "x cannot be written"},
        {{.name = "x",
          .dtype = VT_FILE_U8,
          .rank = 3,
          .shape = {BIG, BIG, 2},
          .data = data},
         "x is too large"},
        {{.name = "x",
          .dtype = VT_FILE_F64,
          .rank = 2,
          .shape = {BIG, BIG / 4},
          .count = BIG / 4 * BIG,
          .data = data},
         "x: shape, size or name is invalid"},
        {{.name = "x",
          .dtype = VT_FILE_F32,
          .rank = 1,
          .shape = {2},
          .count = 1,
          .size = 4,
          .data = data},
         "x: shape, size or name is invalid"},
        {{.name = "x",
          .dtype = VT_FILE_F32,
          .rank = 1,
          .shape = {1},
          .count = 1,
          .size = 8,
          .data = data},
         "x: shape, size or name is invalid"},
        {{.name = "\xff",
          .dtype = VT_FILE_U8,
          .count = 1,
          .size = 1,
          .data = data},
         "shape, size or name is invalid"},
        {{.name = "", .dtype = VT_FILE_U8, .count = 1, .size = 1, .data = data},
         "shape, size or name is invalid"},
        {{.name = "__metadata__",
          .dtype = VT_FILE_U8,
          .count = 1,
          .size = 1,
          .data = data},
         "shape, size or name is invalid"},
        {{.name = "x", .dtype = VT_FILE_U8, .count = 1, .size = 1},
         "a tensor without data"},
    };
    const vt_tensor same[] = {
        {.name = "x", .dtype = VT_FILE_U8, .count = 1, .size = 1, .data = data},
        {.name = "x",
         .dtype = VT_FILE_F32,
         .count = 1,
         .size = 4,
         .data = data}};
    char *const folder = vt_test_folder();
    char *const path = vt_test_path(folder, "w.safetensors");

    cr_assert_eq(vt_safetensors_write(path, NULL, 0, NULL), VITCL_OK);
    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        cr_expect_eq(vt_safetensors_write(path, &cases[i].x, 1, NULL),
                     VITCL_EINVAL, "case %zu", i);
        cr_expect(strstr(vt_message(), cases[i].says), "case %zu: %s", i,
                  vt_message());
        holds(folder, "{}", NULL, 0);
    }
    cr_expect_eq(vt_safetensors_write(path, same, 2, NULL), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "two tensors are called x"), "%s",
              vt_message());
    cr_assert_eq(unlink(path), 0);
    cr_expect_eq(rmdir(folder), 0, "something is left");
}

/* ---- limits ---- */

/* safetensors of n empty tensors. */
static vitcl_status open_empty(size_t n)
{
    char *const bytes = malloc(8 + 64 * n + 2);
    vt_tensors *t = NULL;
    vitcl_status st;
    size_t at = 8;

    cr_assert(bytes);
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(bytes + at,
                              "%c\"%zu\":{\"dtype\":\"U8\",\"shape\":[0],"
                              "\"data_offsets\":[0,0]}",
                              i ? ',' : '{', i);
    bytes[at++] = '}';
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (char)((at - 8) >> 8 * i);
    st = vt_tensors_open_memory(&t, bytes, at, "t.safetensors");
    if (st == VITCL_OK)
        cr_expect_eq(vt_tensors_count(t), n);
    vt_tensors_free(t);
    free(bytes);
    return st;
}

Test(save, tensors)
{
    static const vt_element u8 = {"U8", 1, VT_FILE_U8};
    static const uint64_t ones[VT_RANK_MAX + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const uint64_t large[2] = {UINT64_C(1) << 32, UINT64_C(1) << 30};
    static const vt_element f32 = {"F32", 4, VT_FILE_F32};
    vt_tensors t = {.path = NULL};

    cr_expect_eq(open_empty(VT_TENSORS_MAX), VITCL_OK, "%s", vt_message());
    cr_expect_eq(open_empty(VT_TENSORS_MAX + 1), VITCL_ECORRUPT);
    cr_expect_str_eq(vt_message(), "t.safetensors: more than 100000 tensors");
    cr_expect_eq(vt_tensors_add(&t, "f", "x", &u8, VT_RANK_MAX + 1, ones,
                                (const uint8_t *)"", 1),
                 VITCL_ECORRUPT);
    cr_expect_str_eq(vt_message(), "f: x: more than 8 axes");
    cr_expect_eq(
        vt_tensors_add(&t, "f", "x", &f32, 2, large, (const uint8_t *)"", 0),
        VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "elements of F32 do not fit 0 bytes"), "%s",
              vt_message());
    cr_expect_eq(t.count, 0);
    for (size_t n = 512; n <= 513; n++) {
        char name[514] = "";

        memset(name, 'n', n);
        cr_expect_eq(
            vt_tensors_add(&t, "f", name, &u8, 1, ones, (const uint8_t *)"", 1),
            n == 512 ? VITCL_OK : VITCL_ECORRUPT, "%s", vt_message());
    }
    cr_expect_str_eq(vt_message(), "f: a tensor's name has 513 bytes");
    cr_assert_eq(t.count, 1);
    free((void *)(uintptr_t)t.items[0].name);
    free(t.items);
}

/* A disk that does not answer is no damaged file. */
Test(save, unreadable)
{
    const vt_weight_file gone = {.fd = -1, .path = (char *)(uintptr_t) "gone"};
    const vt_tensor x = {.name = "x",
                         .dtype = VT_FILE_F32,
                         .count = 1,
                         .size = 4,
                         .source = &gone};
    float f = 0;

    cr_expect_eq(vt_tensor_bytes(&f, &x, 0, sizeof f), VITCL_EIO);
    cr_expect_str_eq(vt_message(), "gone: Bad file descriptor");
    cr_expect_eq(vt_tensor_f32(&f, &x), VITCL_EIO);
}

static void put(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    cr_assert(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* A checkpoint of n shards, each of one empty tensor. */
static vitcl_status open_shards(size_t n)
{
    char *const folder = vt_test_folder();
    char *const index = malloc(64 + 32 * n);
    char shard[256], name[32];
    vt_tensors *t = NULL;
    vitcl_status st;
    size_t at;

    cr_assert(index);
    at = (size_t)sprintf(index, "{\"weight_map\":{");
    for (size_t i = 0; i < n; i++) {
        const size_t size =
            (size_t)sprintf(shard + 8,
                            "{\"%04zu\":{\"dtype\":\"U8\",\"shape\":[0],"
                            "\"data_offsets\":[0,0]}}",
                            i);

        for (size_t k = 0; k < 8; k++)
            shard[k] = (char)(size >> 8 * k);
        snprintf(name, sizeof name, "%04zu.safetensors", i);
        put(vt_test_path(folder, name), shard, 8 + size);
        at += (size_t)sprintf(index + at, "%s\"%04zu\":\"%s\"", i ? "," : "", i,
                              name);
    }
    at += (size_t)sprintf(index + at, "}}");
    put(vt_test_path(folder, "model.safetensors.index.json"), index, at);
    st = vt_tensors_open(&t, folder);
    if (st == VITCL_OK)
        cr_expect_eq(vt_tensors_count(t), n);
    vt_tensors_free(t);
    vt_test_remove(folder);
    free(index);
    return st;
}

Test(save, shards)
{
    cr_expect_eq(open_shards(1000), VITCL_OK, "%s", vt_message());
    cr_expect_eq(open_shards(1001), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "more than 1000 shards"), "%s",
              vt_message());
}

/* What a file is not, by its first bytes. */
Test(save, other_files)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } cases[] = {
        {"\x80\x05", 2, "PyTorch before 1.6"},
        {"\x80\x06", 2, "not a safetensors, .npz or PyTorch zip file"},
        {"\x80", 1, "not a safetensors"},
        {"version https://git-lf", 22, "not a safetensors"},
        {"version https://git-lfs", 23, "Git LFS"},
        {"{}", 2, "not a safetensors"},
        {"", 0, "not a safetensors"},
    };
    char *const path = vt_test_path(vt_test_folder(), "x");
    char *const named = vt_test_path(vt_test_folder(), "x.safetensors");
    vt_tensors *t = NULL;

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        put(path, cases[i].bytes, cases[i].size);
        cr_expect_neq(vt_tensors_open(&t, path), VITCL_OK);
        cr_expect(strstr(vt_message(), cases[i].says), "%zu: %s", i,
                  vt_message());
        cr_expect_null(t);
    }
    put(named, "version https://git-lfs", 23);
    cr_expect_eq(vt_tensors_open(&t, named), VITCL_EUNSUPPORTED);
    cr_expect_eq(vt_tensors_open_memory(&t, "{}", 2, "x"), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "this is JSON"), "%s", vt_message());
    cr_assert_eq(vt_tensors_open(&t, "builtin:cifar10"), VITCL_OK, "%s",
                 vt_message());
    cr_expect_gt(vt_tensors_count(t), 10);
    vt_tensors_free(t);
}
