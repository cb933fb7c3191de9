/*
 * test_archive.c - zip files, below the readers of .npz and PyTorch: names,
 * numbers of entries, and files that cannot be read or change while in use.
 */
#include "weights/archive.h"

#include "base/memory.h"
#include "support/made_zip.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static made_zip z;

static void begin(const char *name)
{
    memset(&z, 0, sizeof z);
    made_add(&z, name, "hello", 5, (made_lie){0});
    made_end(&z);
}

static vitcl_status open_bytes(vt_archive **out)
{
    const vt_reader_input in = {
        .bytes = z.bytes, .size = z.size, .file = "t.zip"};

    return vt_archive_open(out, &in);
}

static int file_of(const char *folder, const void *bytes, size_t size, int mode)
{
    char *const path = vt_test_path(folder, "t.zip");
    FILE *f = fopen(path, "wb");
    int fd;

    cr_assert(f);
    cr_assert_eq(fwrite(bytes, 1, size, f), size);
    fclose(f);
    fd = open(path, mode);
    cr_assert_geq(fd, 0);
    return fd;
}

TestSuite(archive, .fini = vt_test_tidy);

/* The first entry's name, and headers that are cut or promise a longer one. */
Test(archive, begins_with_a_name)
{
    begin("a.npy");
    cr_expect(vt_zip_starts_with(z.bytes, z.size, ".npy"));
    cr_expect(vt_zip_starts_with(z.bytes, 35, ".npy"));
    cr_expect(!vt_zip_starts_with(z.bytes, 34, ".npy"));
    cr_expect(!vt_zip_starts_with(z.bytes, 30, ".npy"));
    cr_expect(!vt_zip_starts_with(z.bytes, 29, ""));
    cr_expect(vt_zip_starts_with(z.bytes, 35, ""));
    cr_expect(!vt_zip_starts_with(z.bytes, z.size, "aa.npy"));
    z.bytes[27] = 0x40; /* 16 KiB */
    cr_expect(!vt_zip_starts_with(z.bytes, z.size, ".npy"));
    begin("a.txt");
    cr_expect(!vt_zip_starts_with(z.bytes, z.size, ".npy"));
    z.bytes[3] = 5;
    cr_expect(!vt_zip_starts_with(z.bytes, z.size, ".txt"));
}

/* Dots are a folder's name only between separators. */
Test(archive, names)
{
    static const struct {
        const char *name;
        bool good;
    } all[] = {
        {"..", false},    {"../a", false},      {"..\\a", false},
        {"a/..", false},  {"a/../b", false},    {"a\\..\\b", false},
        {"a\\..", false}, {"a/b/../..", false}, {"....//..", false},
        {"..a", true},    {"a..b", true},       {"a/..b", true},
        {"a../b", true},  {"a/.../b", true},    {"a..\\b", true},
        {"./a", true},
    };

    for (size_t i = 0; i < VT_COUNT(all); i++) {
        const vitcl_status want = all[i].good ? VITCL_OK : VITCL_ECORRUPT;
        vt_archive *a = NULL;
        uint8_t *data = NULL;
        size_t size = 0;

        begin(all[i].name);
        cr_assert_eq(open_bytes(&a), VITCL_OK, "%s", vt_message());
        cr_expect_eq(vt_archive_read(&data, &size, a, 0), want, "%s: %s",
                     all[i].name, vt_message());
        if (all[i].good)
            cr_expect(size == 5 && memcmp(data, "hello", 5) == 0);
        else
            cr_expect(strstr(vt_message(), "t.zip: invalid entry name"), "%s",
                      vt_message());
        free(data);
        vt_archive_free(a);
    }
}

/* An archive of n empty entries with the ZIP64 records (APPNOTE.TXT, 4.3.14):
 * 65,535 are the most that the old record can count. */
static vitcl_status open_many(size_t n)
{
    enum { LOCAL = 30 + 6, CENTRAL = 46 + 6, END = 56 + 20 + 22 };
    uint8_t *const bytes = calloc(n, LOCAL + CENTRAL + END);
    vt_reader_input in = {.bytes = bytes, .file = "many.zip"};
    vt_archive *a = NULL;
    vitcl_status st;
    size_t at = 0, central, end;
    char name[8];

    cr_assert(bytes);
    for (size_t i = 0; i < n; i++) {
        const size_t start = at;

        made_put(bytes, &at, 0x04034b50, 4);
        made_put(bytes, &at, 20, 2);
        at = start + 26;
        made_put(bytes, &at, 6, 2);
        at += 2;
        snprintf(name, sizeof name, "%06zu", i);
        memcpy(bytes + at, name, 6);
        at += 6;
    }
    central = at;
    for (size_t i = 0; i < n; i++) {
        const size_t start = at;

        made_put(bytes, &at, 0x02014b50, 4);
        made_put(bytes, &at, 45, 2);
        made_put(bytes, &at, 20, 2);
        at = start + 28;
        made_put(bytes, &at, 6, 2);
        at = start + 42;
        made_put(bytes, &at, i * LOCAL, 4);
        memcpy(bytes + at, bytes + i * LOCAL + 30, 6);
        at += 6;
    }
    end = at;
    made_put(bytes, &at, 0x06064b50, 4);
    made_put(bytes, &at, 44, 8);
    made_put(bytes, &at, 45, 2);
    made_put(bytes, &at, 45, 2);
    made_put(bytes, &at, 0, 8);
    made_put(bytes, &at, n, 8);
    made_put(bytes, &at, n, 8);
    made_put(bytes, &at, end - central, 8);
    made_put(bytes, &at, central, 8);
    made_put(bytes, &at, 0x07064b50, 4);
    made_put(bytes, &at, 0, 4);
    made_put(bytes, &at, end, 8);
    made_put(bytes, &at, 1, 4);
    made_put(bytes, &at, 0x06054b50, 4);
    made_put(bytes, &at, 0, 4);
    made_put(bytes, &at, 0xffff, 2);
    made_put(bytes, &at, 0xffff, 2);
    made_put(bytes, &at, UINT32_MAX, 4);
    made_put(bytes, &at, UINT32_MAX, 4);
    made_put(bytes, &at, 0, 2);
    in.size = at;
    st = vt_archive_open(&a, &in);
    if (a)
        cr_expect(vt_archive_count(a) == n &&
                  strcmp(vt_archive_name(a, n - 1), name) == 0);
    vt_archive_free(a);
    free(bytes);
    return st;
}

Test(archive, entries)
{
    cr_expect_eq(open_many(100000), VITCL_OK, "%s", vt_message());
    cr_expect_eq(open_many(100001), VITCL_ECORRUPT);
    cr_expect_str_eq(vt_message(),
                     "many.zip: 100001 entries, more than 100000");
}

/* A descriptor that cannot be duplicated or read is not a damaged file. */
Test(archive, descriptors)
{
    const char *const folder = vt_test_folder();
    vt_weight_file source = {.path = (char *)(uintptr_t) "t.zip"};
    vt_reader_input in = {.source = &source, .file = "t.zip"};
    vt_archive *a = NULL;
    int before, after;

    begin("a.npy");
    in.size = z.size;
    source.fd = file_of(folder, z.bytes, z.size, O_RDONLY);
    cr_expect_eq(vt_archive_open(&a, &in), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_archive_count(a), 1);
    vt_archive_free(a);
    a = NULL;
    close(source.fd);

    source.fd = open(vt_test_path(folder, "t.zip"), O_WRONLY);
    before = dup(0);
    close(before);
    cr_expect_eq(vt_archive_open(&a, &in), VITCL_EIO);
    cr_expect_null(a);
    cr_expect(strncmp(vt_message(), "t.zip: ", 7) == 0, "%s", vt_message());
    close(source.fd);
    cr_expect_eq(vt_archive_open(&a, &in), VITCL_EIO);
    cr_expect(strstr(vt_message(), "t.zip: Can't open file"), "%s",
              vt_message());
    cr_expect_null(a);
    source.fd = open(vt_test_path(folder, "t.zip"), O_RDONLY);
    in.size = SIZE_MAX - 1; /* libzip refuses such a length */
    cr_expect_eq(vt_archive_open(&a, &in), VITCL_ECORRUPT);
    cr_expect_null(a);
    after = dup(0);
    close(after);
    close(source.fd);
    cr_expect_eq(after, before, "a descriptor is left open");
}

/* A file that is cut between reading its directory and an entry. */
Test(archive, changes_while_open)
{
    const char *const folder = vt_test_folder();
    static uint8_t large[30000];
    vt_weight_file source = {.path = (char *)(uintptr_t) "t.zip"};
    vt_reader_input in = {.source = &source, .file = "t.zip"};
    const size_t cuts[] = {0, 20, 40, 100, 20000};

    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (uint8_t)(i * i >> 4);
    for (size_t i = 0; i < VT_COUNT(cuts); i++) {
        vt_archive *a = NULL;
        uint8_t *data = NULL;
        size_t size = 0;

        memset(&z, 0, sizeof z);
        made_add(&z, "a.npy", large, sizeof large, (made_lie){0});
        /* Its header is read last, and may stay in a buffer. */
        made_add(&z, "b.npy", "b", 1, (made_lie){0});
        made_end(&z);
        in.size = z.size;
        source.fd = file_of(folder, z.bytes, z.size, O_RDONLY);
        cr_assert_eq(vt_archive_open(&a, &in), VITCL_OK, "%s", vt_message());
        cr_assert_eq(truncate(vt_test_path(folder, "t.zip"), (off_t)cuts[i]),
                     0);
        cr_expect_eq(vt_archive_read(&data, &size, a, 0), VITCL_ECORRUPT,
                     "cut at %zu", cuts[i]);
        cr_expect(strstr(vt_message(), "t.zip: a.npy: damaged: "), "%s",
                  vt_message());
        cr_expect_null(data);
        vt_archive_free(a);
        close(source.fd);
    }
}
