/*
 * test_safetensors.c - valid files, hostile files, shards and writing.
 */
#include "base/memory.h"
#include "convert/export.h"
#include "support/paths.h"
#include "support/pictures.h"
#include "weights/reader.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file with this header, whose length field is `pad` too large, and `size`
 * bytes of data 0, 1, 2 ... */
static uint8_t *kept; /* bytes of the file that is open */

static vitcl_status open_made(vt_tensors **out, const char *header,
                              long long pad, size_t size)
{
    size_t n = strlen(header);
    uint8_t *bytes = malloc(8 + n + size);
    uint64_t claim = (uint64_t)((long long)n + pad);

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(claim >> 8 * i);
    memcpy(bytes + 8, header, n);
    for (size_t i = 0; i < size; i++)
        bytes[8 + n + i] = (uint8_t)i;
    vitcl_status st = vt_tensors_open_memory(out, bytes, 8 + n + size, "t.st");
    if (st == VITCL_OK)
        kept = bytes;
    else
        free(bytes);
    return st;
}

#define T(name, dtype, shape, from, to)                                        \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape                   \
    ",\"data_offsets\":[" from "," to "]}"

Test(safetensors, reads)
{
    vt_tensors *t = NULL;
    float f[5];

    cr_assert_eq(
        open_made(&t,
                  "{\"__metadata__\":{\"format\":\"pt\"}," T(
                      "b", "F32", "[2,2]", "5",
                      "21") "," T("a", "U8", "[5]", "0",
                                  "5") "," T("n", "F16", "[0,3]", "21",
                                             "21") "," T("s", "BF16", "[]",
                                                         "21", "23") "} ",
                  0, 23),
        VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_tensors_count(t), 4);
    cr_expect_str_eq(vt_tensors_format(t), "safetensors");
    cr_expect_str_eq(vt_tensors_at(t, 0)->name, "a");
    const vt_tensor *b = vt_tensors_get(t, "b");
    cr_assert(b && b->rank == 2 && b->shape[1] == 2 && b->count == 4);
    uint32_t word = 5u | 6u << 8 | 7u << 16 | 8u << 24;
    float want;
    memcpy(&want, &word, 4);
    cr_assert_eq(vt_tensor_f32(f, b), VITCL_OK);
    cr_expect_eq(f[0], want);
    cr_assert_eq(vt_tensor_f32(f, vt_tensors_get(t, "a")), VITCL_OK);
    cr_expect_eq(f[3], 3.0f);
    cr_expect_eq(vt_tensors_get(t, "n")->count, 0);
    cr_expect_eq(vt_tensors_get(t, "s")->count, 1);
    cr_expect_null(vt_tensors_get(t, "c"));
    vt_tensors_free(t);
}

/* Every type of the format has the right size, also those that are only passed
 * through. */
Test(safetensors, element_types)
{
    static const struct {
        const char *name;
        unsigned size;
        bool numbers;
    } all[] = {
        {"F64", 8, true},      {"F32", 4, true},      {"F16", 2, true},
        {"BF16", 2, true},     {"I64", 8, true},      {"I32", 4, true},
        {"U8", 1, true},       {"BOOL", 1, false},    {"I8", 1, false},
        {"I16", 2, false},     {"U16", 2, false},     {"U32", 4, false},
        {"U64", 8, false},     {"F8_E4M3", 1, false}, {"F8_E5M2", 1, false},
        {"F8_E8M0", 1, false}, {"C64", 8, false},
    };
    char header[200];

    for (size_t i = 0; i < VT_COUNT(all); i++) {
        vt_tensors *t = NULL;
        float f[3];

        snprintf(header, sizeof header, "{" T("a", "%s", "[3]", "0", "%u") "}",
                 all[i].name, 3 * all[i].size);
        cr_assert_eq(open_made(&t, header, 0, 3 * (size_t)all[i].size),
                     VITCL_OK, "%s: %s", all[i].name, vt_message());
        cr_expect_eq(vt_tensors_get(t, "a")->size, 3 * all[i].size);
        cr_expect_eq(vt_tensor_f32(f, vt_tensors_get(t, "a")),
                     all[i].numbers ? VITCL_OK : VITCL_EUNSUPPORTED, "%s",
                     all[i].name);
        vt_tensors_free(t);
        free(kept);
    }
}

/* Numbers that a narrower intermediate type would change. */
Test(safetensors, converts_numbers)
{
    const int64_t l[3] = {(int64_t)1 << 40, -((int64_t)3 << 33), INT64_MIN};
    const int32_t i[3] = {INT32_MAX, INT32_MIN, -7};
    const uint8_t u[3] = {255, 128, 0};
    const double d[3] = {1e30, -0x1.000002p-60, 1.0 / 3};
    const uint16_t h[3] = {0x7bff, 0x8001, 0xbc01};
    const uint16_t b[3] = {0x7f7f, 0x8001, 0xbf81};
    const struct {
        vt_tensor x;
        float want[3];
    } all[] = {
        {{.dtype = VT_FILE_I64, .data = (const uint8_t *)l},
         {0x1p40f, -0x3p33f, -0x1p63f}},
        {{.dtype = VT_FILE_I32, .data = (const uint8_t *)i},
         {0x1p31f, -0x1p31f, -7}},
        {{.dtype = VT_FILE_U8, .data = u}, {255, 128, 0}},
        {{.dtype = VT_FILE_F64, .data = (const uint8_t *)d},
         {1e30f, -0x1.000002p-60f, 1.0f / 3}},
        {{.dtype = VT_FILE_F16, .data = (const uint8_t *)h},
         {65504, -0x1p-24f, -1 - 0x1p-10f}},
        {{.dtype = VT_FILE_BF16, .data = (const uint8_t *)b},
         {0x1.fep127f, -0x1p-133f, -1 - 0x1p-7f}},
    };

    for (size_t k = 0; k < VT_COUNT(all); k++) {
        vt_tensor x = all[k].x;
        float got[3];

        x.count = 3;
        cr_assert_eq(vt_tensor_f32(got, &x), VITCL_OK);
        for (int n = 0; n < 3; n++)
            cr_expect_eq(got[n], all[k].want[n], "%zu[%d]: %a", k, n,
                         (double)got[n]);
    }
}

/* A file that is called .safetensors is read as one, however short. */
Test(safetensors, short_files)
{
    static const char bytes[] = "\2\0\0\0\0\0\0\0{}";
    vt_tensors *t = NULL;
    char says[80];

    for (size_t n = 1; n < 10; n++) {
        cr_expect_eq(vt_tensors_open_memory(&t, bytes, n, "t.safetensors"),
                     VITCL_ECORRUPT);
        if (n < 8)
            snprintf(says, sizeof says,
                     "t.safetensors: %zu byte%s, too short for safetensors", n,
                     n == 1 ? "" : "s");
        else
            snprintf(says, sizeof says,
                     "t.safetensors: a header of 2 bytes, but the file has %zu",
                     n);
        cr_expect_str_eq(vt_message(), says);
        cr_expect_null(t);
    }
}

/* A file truncated while it is open: existing data is read; missing data is an
 * error that names the file. */
Test(safetensors, truncated_in_use)
{
    static const vt_file_dtype types[] = {VT_FILE_F32, VT_FILE_F64};
    static double numbers[30000];
    static float got[30000];
    char *folder = vt_test_folder(),
         *path = vt_test_path(folder, "w.safetensors");

    for (size_t k = 0; k < VT_COUNT(types); k++) {
        const size_t each = k ? 8 : 4;
        vt_tensor x[2] = {{.name = "a"}, {.name = "b"}};
        vt_tensors *t = NULL;

        for (int i = 0; i < 2; i++) {
            x[i].dtype = types[k];
            x[i].rank = 1;
            x[i].shape[0] = x[i].count = VT_COUNT(numbers);
            x[i].data = (const uint8_t *)numbers;
            x[i].size = VT_COUNT(numbers) * each;
        }
        cr_assert_eq(vt_safetensors_write(path, x, 2, NULL), VITCL_OK);
        cr_assert_eq(vt_tensors_open(&t, path), VITCL_OK, "%s", vt_message());
        cr_assert_eq(truncate(path, (off_t)(x[0].size * 3 / 2)), 0);
        cr_expect_eq(vt_tensor_f32(got, vt_tensors_at(t, 0)), VITCL_OK);
        cr_expect_eq(vt_tensor_f32(got, vt_tensors_at(t, 1)), VITCL_EIO);
        cr_expect(strstr(vt_message(), path) &&
                      strstr(vt_message(), "truncated"),
                  "%s", vt_message());
        cr_expect_neq(vt_tensors_export(vt_test_path(folder, "x"), t, NULL,
                                        VT_FILE_OTHER, NULL),
                      VITCL_OK);
        vt_tensors_free(t);
    }
    vt_test_remove(folder);
}

static const struct {
    const char *header;
    long long pad;
    size_t size;
    const char *says;
} hostile[] = {
    {"{" T("a", "F32", "[1]", "0", "4") "}", 0, 3, "there are only 3"},
    {"{" T("a", "F32", "[1]", "0", "4") "}", 0, 5, "after the last"},
    {"{" T("a", "F32", "[1]", "1", "5") "}", 0, 5, "gap"},
    {"{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "0", "4") "}",
     0, 4, "overlaps"},
    {"{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "2", "6") "}",
     0, 6, "overlaps"},
    {"{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "8", "12") "}",
     0, 12, "gap"},
    {"{" T("a", "F32", "[1]", "0", "4") "," T("a", "F32", "[1]", "4", "8") "}",
     0, 8, "duplicate"},
    {"{" T("a", "F32", "[1]", "0", "4") "," T("\\u0061", "F32", "[1]", "4",
                                              "8") "}",
     0, 8, "duplicate"},
    {"{" T("a", "F32", "[1]", "4", "0") "}", 0, 4, "bytes 4 to 0"},
    {"{" T("a", "F16", "[1]", "0", "4") "}", 0, 4, "1 elements of F16"},
    {"{" T("a", "F32", "[3]", "0", "4") "}", 0, 4, "3 elements"},
    {"{" T("a", "F32", "[4294967296,4294967296,4]", "0", "4") "}", 0, 4,
     "too large"},
    {"{" T("a", "F32", "[4611686018427387904]", "0", "4") "}", 0, 4,
     "plain integers"},
    {"{" T("a", "F32", "[-1]", "0", "4") "}", 0, 4, "plain integers"},
    {"{" T("a", "F32", "[1.0]", "0", "4") "}", 0, 4, "plain integers"},
    {"{" T("a", "F32", "[1e0]", "0", "4") "}", 0, 4, "plain integers"},
    {"{" T("a", "F32", "[1]", "0", "4.0") "}", 0, 4, "plain integers"},
    {"{" T("a", "F32", "[1]", "-0", "4") "}", 0, 4, "plain integers"},
    {"{" T("a", "F32", "[1]", "0", "NaN") "}", 0, 4, "invalid JSON"},
    {"{" T("a", "F32", "[\"1\"]", "0", "4") "}", 0, 4, "plain integers"},
    {"{" T("a", "F32", "1", "0", "4") "}", 0, 4, "exactly"},
    {"{" T("a", "F33", "[1]", "0", "4") "}", 0, 4, "unknown dtype"},
    {"{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 0, 4, "8 axes"},
    {"{" T("", "F32", "[1]", "0", "4") "}", 0, 4, "name"},
    {"{" T("a\\u0000", "F32", "[1]", "0", "4") "}", 0, 4, "NUL"},
    {"{" T("a\xff", "F32", "[1]", "0", "4") "}", 0, 4, "UTF-8"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 0, 4,
     "exactly"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}",
     0, 4, "exactly"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, 4, "exactly"},
    {"{\"a\":[]}", 0, 0, "exactly"},
    {"{\"__metadata__\":{\"a\":1}}", 0, 0, "__metadata__"},
    {"{\"__metadata__\":\"x\"}", 0, 0, "__metadata__"},
    {"{\"__metadata__\":{\"a\":[[[[[1]]]]]}}", 0, 0, "deep"},
    {"{" T("a", "F32", "[1]", "0", "4") "}", 1, 4, "invalid JSON"},
    {"{" T("a", "F32", "[1]", "0", "4") "}", -1, 4, "invalid JSON"},
    {"{" T("a", "F32", "[1]", "0", "4") "}", 5, 4, "header of"},
    {"{" T("a", "F32", "[1]", "0", "4") "}", 1000000000, 4, "header of"},
    {"{" T("a", "F32", "[1]", "0", "4") "}", -200, 4, "header of"},
};

Test(safetensors, refuses)
{
    for (size_t i = 0; i < VT_COUNT(hostile); i++) {
        vt_tensors *t = NULL;
        vitcl_status st =
            open_made(&t, hostile[i].header, hostile[i].pad, hostile[i].size);
        cr_expect(st == VITCL_ECORRUPT || st == VITCL_EUNSUPPORTED,
                  "case %zu was taken", i);
        cr_expect_null(t);
        cr_expect(strstr(vt_message(), hostile[i].says), "case %zu: %s", i,
                  vt_message());
        cr_expect(strncmp(vt_message(), "t.st: ", 6) == 0, "%s", vt_message());
    }
    vt_tensors *t = NULL;
    cr_expect_neq(vt_tensors_open_memory(&t, "{\"a\":1}", 7, "x"), VITCL_OK);
    cr_expect_neq(vt_tensors_open_memory(&t, NULL, 0, "x"), VITCL_OK);
    cr_expect_neq(vt_tensors_open_memory(&t, "\0\0\0\0\0\0\0\0{", 9, "x"),
                  VITCL_OK);
    cr_expect_neq(
        vt_tensors_open_memory(&t, "version https://git-lfs", 23, "x"),
        VITCL_OK);
    cr_expect(strstr(vt_message(), "LFS"), "%s", vt_message());
}

static char folder[256];

static const char *in_folder(const char *name)
{
    static char path[2][400];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void put_text(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static vt_tensor made(const char *name, vt_file_dtype dtype, uint64_t n,
                      const void *data, size_t size)
{
    return (vt_tensor){.name = name,
                       .dtype = dtype,
                       .rank = 1,
                       .shape = {n},
                       .count = n,
                       .data = data,
                       .size = size};
}

static size_t read_all(uint8_t *out, size_t cap, const char *path)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    size_t n = fread(out, 1, cap, f);
    fclose(f);
    return n;
}

Test(safetensors, writes)
{
    const float a[2] = {1.5f, -2.0f};
    const uint16_t h[3] = {0x3c00, 0xc000, 1};
    const int64_t l[1] = {-7};
    vt_tensor x[4] = {made("h", VT_FILE_F16, 3, h, 6),
                      made("b \"quoted\\\" \xc3\xa9", VT_FILE_F32, 2, a, 8),
                      made("label", VT_FILE_I64, 1, l, 8),
                      made("a", VT_FILE_F32, 0, NULL, 0)};
    vt_tensor y[4] = {x[3], x[2], x[1], x[0]};
    const char *metadata[] = {"format", "pt", NULL};
    static uint8_t one[1000], two[1000];
    size_t n, m;
    vt_tensors *t = NULL;
    float f[3];

    snprintf(folder, sizeof folder, "%s", vt_test_folder());
    cr_assert_eq(vt_safetensors_write(in_folder("1"), x, 4, metadata), VITCL_OK,
                 "%s", vt_message());
    cr_assert_eq(vt_safetensors_write(in_folder("2"), y, 4, metadata),
                 VITCL_OK);
    n = read_all(one, sizeof one, in_folder("1"));
    m = read_all(two, sizeof two, in_folder("2"));
    cr_expect(n == m && memcmp(one, two, n) == 0);
    cr_expect_eq(one[0] % 8, 0);
    cr_assert_eq(vt_tensors_open(&t, in_folder("1")), VITCL_OK, "%s",
                 vt_message());
    cr_expect_eq(vt_tensors_count(t), 4);
    cr_assert_eq(vt_tensor_f32(f, vt_tensors_get(t, "b \"quoted\\\" \xc3\xa9")),
                 VITCL_OK);
    cr_expect(f[0] == 1.5f && f[1] == -2.0f);
    cr_assert_eq(vt_tensor_f32(f, vt_tensors_get(t, "h")), VITCL_OK);
    cr_expect(f[0] == 1.0f && f[1] == -2.0f);
    cr_assert_eq(vt_tensor_f32(f, vt_tensors_get(t, "label")), VITCL_OK);
    cr_expect_eq(f[0], -7.0f);
    vt_tensors_free(t);
    /* A failure leaves no files. */
    x[0].size = 5;
    cr_expect_eq(vt_safetensors_write(in_folder("3"), x, 4, NULL),
                 VITCL_EINVAL);
    cr_expect_not(vt_have(in_folder("3")));
    cr_expect_eq(vt_safetensors_write("/nowhere/x", y, 2, NULL), VITCL_EIO);
    remove(in_folder("1")), remove(in_folder("2"));
    rmdir(folder);
}

Test(safetensors, shards)
{
    const float a[2] = {1, 2};
    vt_tensor x = made("x", VT_FILE_F32, 2, a, 8);
    vt_tensor y = made("y", VT_FILE_F32, 1, a, 4);
    vt_tensors *t = NULL;
    FILE *wide;
    static const char *const bad[] = {
        "{\"weight_map\":{\"x\":\"../"
        "s1.safetensors\",\"y\":\"s2.safetensors\"}}",
        "{\"weight_map\":{\"x\":\"/tmp/x\",\"y\":\"s2.safetensors\"}}",
        "{\"weight_map\":{\"y\":\"s1.safetensors\"}}",
        "{\"weight_map\":{\"x\":\"s2.safetensors\",\"y\":\"s1.safetensors\"}}",
        "{\"weight_map\":{\"x\":\"s1.safetensors\",\"y\":\"s2.safetensors\","
        "\"z\":\"s2.safetensors\"}}",
        "{\"weight_map\":{\"x\":\"s1.safetensors\",\"y\":\"s3.safetensors\"}}",
        "{\"weight_map\":{\"x\":1}}",
        "{\"weight_map\":{}}",
        "{\"weight_map\":[]}",
        "{}",
        "{\"weight_map\":",
    };

    snprintf(folder, sizeof folder, "%s", vt_test_folder());
    cr_expect_eq(vt_tensors_open(&t, folder), VITCL_EIO);
    cr_assert_eq(vt_safetensors_write(in_folder("s1.safetensors"), &x, 1, NULL),
                 VITCL_OK);
    cr_assert_eq(vt_tensors_open(&t, folder), VITCL_OK, "%s", vt_message());
    vt_tensors_free(t), t = NULL;
    cr_assert_eq(vt_safetensors_write(in_folder("s2.safetensors"), &y, 1, NULL),
                 VITCL_OK);
    cr_expect_eq(vt_tensors_open(&t, folder), VITCL_EIO);
    put_text("model.safetensors.index.json",
             "{\"metadata\":{\"total_size\":12},\"weight_map\":{"
             "\"y\":\"s2.safetensors\",\"x\":\"s1.safetensors\"}}");
    cr_assert_eq(vt_tensors_open(&t, folder), VITCL_OK, "%s", vt_message());
    cr_expect(vt_tensors_count(t) == 2 && vt_tensors_get(t, "x") &&
              vt_tensors_get(t, "y"));
    vt_tensors_free(t), t = NULL;
    for (size_t i = 0; i < VT_COUNT(bad); i++) {
        put_text("model.safetensors.index.json", bad[i]);
        cr_expect_neq(vt_tensors_open(&t, folder), VITCL_OK, "case %zu", i);
        cr_expect_null(t);
    }
    wide = fopen(in_folder("model.safetensors.index.json"), "w");
    cr_assert(wide && fputs("{\"weight_map\":{", wide) >= 0);
    for (int i = 0; i <= VT_TENSORS_MAX; i++)
        fprintf(wide, "%s\"%d\":\"s1.safetensors\"", i ? "," : "", i);
    cr_assert(fputs("}}", wide) >= 0 && fclose(wide) == 0);
    cr_expect_eq(vt_tensors_open(&t, folder), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "names 100001 tensors, more than the limit"),
              "%s", vt_message());
    /* A shard whose name a directory listing hides does not belong to the
     * checkpoint, even if such a file exists. */
    cr_assert_eq(rename(in_folder("s1.safetensors"), in_folder(".s1")), 0);
    put_text("model.safetensors.index.json",
             "{\"weight_map\":{\"x\":\".s1\",\"y\":\"s2.safetensors\"}}");
    cr_expect_eq(vt_tensors_open(&t, folder), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "not a file in the same folder"), "%s",
              vt_message());
    cr_expect_null(t);
    remove(in_folder(".s1")), remove(in_folder("s2.safetensors"));
    remove(in_folder("model.safetensors.index.json"));
    rmdir(folder);
}
