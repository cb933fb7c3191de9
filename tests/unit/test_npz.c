/*
 * test_npz.c - NumPy archives: what NumPy writes, and invalid ones.
 */
#include "base/memory.h"
#include "support/made_zip.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <stdio.h>

static made_zip z;
static uint8_t array[4096];

/* A version `v` array of this header and data; returns its size. `claim` is
 * added to the header's length. */
static size_t npy_as(int v, int claim, const char *header, const void *data,
                     size_t size)
{
    size_t n = strlen(header), at = 8;

    memcpy(array, "\x93NUMPY", 6);
    array[6] = (uint8_t)v, array[7] = 0;
    made_put(array, &at, (uint64_t)((int64_t)n + claim), v == 1 ? 2 : 4);
    memcpy(array + at, header, n);
    if (size)
        memcpy(array + at + n, data, size);
    return at + n + size;
}

static size_t npy(const char *header, const void *data, size_t size)
{
    return npy_as(1, 0, header, data, size);
}

static vitcl_status open_zip(vt_tensors **out)
{
    static uint8_t *exact; /* exact size: ASan sees reads past the end */
    free(exact);
    exact = malloc(z.size);
    memcpy(exact, z.bytes, z.size);
    return vt_tensors_open_memory(out, exact, z.size, "t.npz");
}

static const float six[6] = {1, 2, 3, 4, 5, 6};
#define F4(shape)                                                              \
    "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }\n"

Test(npz, reads)
{
    const uint8_t big[8] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    const uint8_t turned[4] = {0x3c, 0x01, 0xc0, 0};
    const uint8_t long_turned[8] = {0, 0, 1, 0, 0, 0, 0, 0};
    const uint16_t brain[2] = {0x3f80, 0xc000}, half[2] = {0x3c00, 0xc000};
    const int64_t label[2] = {7, -9};
    const double wide[1] = {0.25};
    vt_tensors *t = NULL;
    float f[6];

    memset(&z, 0, sizeof z);
    made_add(&z, "a/b.npy", array, npy(F4("(2, 3)"), six, 24), (made_lie){0});
    made_add(&z, "deflated.npy", array, npy(F4("(6,)"), six, 24),
             (made_lie){.deflate = 1});
    made_add(&z, "zip64.npy", array, npy(F4("(6L,)"), six, 24),
             (made_lie){.zip64 = 1});
    made_add(&z, "fortran.npy", array,
             npy("{'shape': (2, 3), 'fortran_order': True, 'descr': '<f4'}",
                 six, 24),
             (made_lie){0});
    made_add(&z, "big.npy", array,
             npy("{\"descr\": \">f4\", \"fortran_order\": False, \"shape\": "
                 "(2,)}",
                 big, 8),
             (made_lie){0});
    made_add(&z, "turned.npy", array,
             npy("{'descr': '>f2', 'fortran_order': False, 'shape': (2,)}",
                 turned, 4),
             (made_lie){0});
    made_add(&z, "long.npy", array,
             npy("{'descr': '>i8', 'fortran_order': False, 'shape': (1,)}",
                 long_turned, 8),
             (made_lie){0});
    made_add(&z, "brain.npy", array,
             npy_as(2, 0,
                    "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}",
                    brain, 4),
             (made_lie){0});
    made_add(&z, "half.npy", array,
             npy_as(3, 0,
                    "{'descr': '<f2', 'fortran_order': False, 'shape': (2,)}",
                    half, 4),
             (made_lie){0});
    made_add(&z, "label.npy", array,
             npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}",
                 label, 16),
             (made_lie){0});
    made_add(
        &z, "wide.npy", array,
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", wide, 8),
        (made_lie){0});
    made_add(&z, "empty.npy", array, npy(F4("(0, 3)"), NULL, 0), (made_lie){0});
    made_add(&z, "nothing.npy", array,
             npy("{'shape': (2, 0), 'fortran_order': True, 'descr': '<f4'}",
                 NULL, 0),
             (made_lie){0});
    made_add(
        &z, "row.npy", array,
        npy("{'shape': (6), 'fortran_order': True, 'descr': '=f4'}", six, 24),
        (made_lie){0});
    made_end(&z);
    cr_assert_eq(open_zip(&t), VITCL_OK, "%s", vt_message());
    cr_expect_str_eq(vt_tensors_format(t), "npz");
    cr_expect_eq(vt_tensors_count(t), 14);
    static const struct {
        const char *name;
        float want[6];
        uint64_t n;
    } all[] = {{"a/b", {1, 2, 3, 4, 5, 6}, 6},
               {"deflated", {1, 2, 3, 4, 5, 6}, 6},
               {"zip64", {1, 2, 3, 4, 5, 6}, 6},
               {"fortran", {1, 3, 5, 2, 4, 6}, 6},
               {"big", {1, -2}, 2},
               {"turned", {1 + 0x1p-10f, -2}, 2},
               {"long", {0x1p40f}, 1},
               {"brain", {1, -2}, 2},
               {"half", {1, -2}, 2},
               {"label", {7, -9}, 2},
               {"wide", {0.25f}, 1},
               {"empty", {0}, 0},
               {"nothing", {0}, 0},
               {"row", {1, 2, 3, 4, 5, 6}, 6}};
    for (size_t i = 0; i < VT_COUNT(all); i++) {
        const vt_tensor *x = vt_tensors_get(t, all[i].name);
        cr_assert_not_null(x, "%s", all[i].name);
        cr_assert_eq(x->count, all[i].n, "%s", all[i].name);
        cr_assert_eq(vt_tensor_f32(f, x), VITCL_OK);
        for (uint64_t k = 0; k < x->count; k++)
            cr_expect_eq(f[k], all[i].want[k], "%s[%d]", all[i].name, (int)k);
    }
    cr_expect_eq(vt_tensors_get(t, "fortran")->shape[1], 3);
    vt_tensors_free(t);
}

static void refused(const char *what, const char *says)
{
    vt_tensors *t = NULL;
    vitcl_status st = open_zip(&t);

    cr_expect(st == VITCL_ECORRUPT || st == VITCL_EUNSUPPORTED, "%s: taken",
              what);
    cr_expect_null(t);
    cr_expect(strstr(vt_message(), says), "%s: %s", what, vt_message());
    cr_expect(strncmp(vt_message(), "t.npz: ", 7) == 0, "%s", vt_message());
}

Test(npz, refuses_arrays)
{
    static const struct {
        int version, claim;
        const char *header;
        size_t size;
        const char *says;
    } all[] = {
        {4, 0, F4("(6,)"), 24, "format"},
        {0, 0, F4("(6,)"), 24, "format"},
        {1, 60000, F4("(6,)"), 24, "longer than the array"},
        {2, 0x7fffff00, F4("(6,)"), 24, "longer than the array"},
        {2, -200, F4("(6,)"), 24, "longer than the array"},
        {1, 25, F4("(6,)"), 24, "longer than the array"},
        {2, 25, F4("(6,)"), 24, "longer than the array"},
        {1, 24, F4("(6,)"), 24, "after the dict"},
        {1, -3, F4("(6,)"), 24, "dict"},
        {1, 4, F4("(6,)"), 24, "after the dict"},
        {1, 0, F4("(6,)"), 23, "longer or shorter"},
        {1, 0, F4("(5,)"), 24, "longer or shorter"},
        {1, 0, F4("(7,)"), 24, "longer or shorter"},
        {1, 0, F4("(4294967296, 4294967296, 6)"), 24, "longer or shorter"},
        {1, 0, F4("(18446744073709551616,)"), 24, "shape"},
        {1, 0, F4("(-6,)"), 24, "shape"},
        {1, 0, F4("(6.0,)"), 24, "shape"},
        {1, 0, F4("6"), 24, "shape"},
        {1, 0, F4("(1,1,1,1,1,1,1,1,6)"), 24, "shape"},
        {1, 0, F4("(6,"), 24, "shape"},
        {1, 0, "{'descr': '|O', 'fortran_order': False, 'shape': (6,)}", 24,
         "element type"},
        {1, 0, "{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", 24,
         "element type"},
        {1, 0,
         "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", 24,
         "element type"},
        {1, 0,
         "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,)}", 24,
         "element type"},
        {1, 0, "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", 24,
         "fortran_order"},
        {1, 0, "{'descr': '<f4', 'fortran_order': False}", 24, "lacks"},
        {1, 0,
         "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': "
         "(6,)}",
         24, "duplicate"},
        {1, 0,
         "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1}", 24,
         "duplicate or unknown key"},
        {1, 0, "__import__('os').system('true')", 24, "not a dict"},
        {1, 0, "", 24, "not a dict"},
        {1, 0, "{", 24, "not a dict"},
        {1, 0, "{'descr': '<f4' 'shape': (6,)}", 24, "not a dict"},
        {1, 0, "{'descr': '<f4", 24, "element type"},
        {1, 0, "{'descr': '<f4\\', 'fortran_order': False}", 24,
         "element type"},
        {1, 0, "{'descr': '', 'fortran_order': False, 'shape': (6,)}", 24,
         "element type"},
        {1, 0, "{'descr': '!f4', 'fortran_order': False, 'shape': (6,)}", 24,
         "element type"},
        {1, 0, "{'descr': '<f4', 'fortran_order':", 24, "fortran_order"},
        {1, 0, "{'descr': '<f4', 'fortran_order': Tru", 24, "fortran_order"},
        {1, 0, "{'fortran_order': True, 'fortran_order': True}", 24,
         "duplicate"},
        {1, 0, "{'shape': (6,), 'shape': (6,)}", 24, "duplicate"},
        {1, 0, "{'shape': (6,), 'descr': '<f4'}", 24, "lacks"},
        {1, 0, "{'shape': (6,), 'fortran_order': False}", 24, "lacks"},
        {1, 0, "{'shape': (6", 24, "shape"},
        {1, 0, "{'shape': (6L", 24, "shape"},
        {1, 0, "{'a name of many letters': 1}", 24, "not a dict"},
    };
    for (size_t i = 0; i < VT_COUNT(all); i++) {
        memset(&z, 0, sizeof z);
        made_add(&z, "a.npy", array,
                 npy_as(all[i].version ? all[i].version : 1, all[i].claim,
                        all[i].header, six, all[i].size),
                 (made_lie){0});
        if (all[i].version == 0) /* only the version is wrong */
            memset(&z, 0, sizeof z),
                array[6] = 0, made_add(&z, "a.npy", array, 100, (made_lie){0});
        made_end(&z);
        refused(all[i].header, all[i].says);
    }
    memset(&z, 0, sizeof z);
    made_add(&z, "a.npy", "\x93NUM", 4, (made_lie){0});
    made_end(&z);
    refused("short", "not a numpy array");
}

Test(npz, refuses_archives)
{
    static uint8_t zeros[60000];
    static const struct {
        const char *name;
        made_lie lie;
        const char *says;
    } all[] = {
        {"a.txt", {0}, "not a valid array name"},
        {"../a.npy", {0}, ".."},
        {"x/../a.npy", {0}, ".."},
        {".npy", {0}, "name"},
        {"a\xff.npy", {0}, "UTF-8"},
        {"a.npy", {.flags = 1}, "crypt"},
        {"a.npy", {.method = 14}, "method"},
        {"a.npy", {.method = 12}, "method"},
        {"a.npy", {.crc = 1}, "CRC"},
        {"a.npy", {.crc = 1, .deflate = 1}, "CRC"},
        {"a.npy", {.size = 1}, ""},
        {"a.npy", {.size = 1, .deflate = 1}, "damaged"},
        {"a.npy", {.size = 0x70000000, .deflate = 1}, "implausible"},
        {"a.npy", {.local = "b.npy"}, "damaged zip"},
    };
    for (size_t i = 0; i < VT_COUNT(all); i++) {
        memset(&z, 0, sizeof z);
        made_add(&z, all[i].name, array, npy(F4("(6,)"), six, 24), all[i].lie);
        if (i == 0) /* detected by the first name */
            memset(&z, 0, sizeof z),
                made_add(&z, "0.npy", array, npy(F4("(6,)"), six, 24),
                         (made_lie){0}),
                made_add(&z, "a.txt", "hello", 5, (made_lie){0});
        made_end(&z);
        refused(all[i].name, all[i].says);
    }
    /* A name as long as they may be, and longer. */
    char name[600] = "";
    for (size_t n = 512; n <= 513; n++) {
        vt_tensors *t = NULL;

        memset(name, 'n', n);
        strcpy(name + n - 4, ".npy");
        memset(&z, 0, sizeof z);
        made_add(&z, name, array, npy(F4("(6,)"), six, 24), (made_lie){0});
        made_end(&z);
        if (n > 512)
            refused("long name", "not a valid array name");
        else
            cr_expect_eq(open_zip(&t), VITCL_OK, "%s", vt_message());
        vt_tensors_free(t);
    }
    /* The same name twice. */
    memset(&z, 0, sizeof z);
    for (int i = 0; i < 2; i++)
        made_add(&z, "a.npy", array, npy(F4("(6,)"), six, 24), (made_lie){0});
    made_end(&z);
    refused("duplicate", "");
    /* Two entries over the same bytes. */
    memset(&z, 0, sizeof z);
    made_add(&z, "a.npy", array, npy(F4("(6,)"), six, 24), (made_lie){0});
    memcpy(z.central + z.central_size, z.central, z.central_size);
    z.central[z.central_size + 46] = 'b';
    z.central_size *= 2, z.count = 2;
    made_end(&z);
    refused("overlap", "");
    /* An entry inside another's data: each is valid, but together they are
     * larger than the file. */
    static made_zip inner;
    memset(&inner, 0, sizeof inner);
    made_add(&inner, "b.npy", array, npy(F4("(6, 100)"), zeros, 2400),
             (made_lie){0});
    memset(&z, 0, sizeof z);
    made_add(&z, "a.npy", array, npy(F4("(7, 100)"), inner.bytes, 2800),
             (made_lie){0});
    inner.central[42] = (uint8_t)(z.size - 2800);
    inner.central[43] = (uint8_t)((z.size - 2800) >> 8);
    memcpy(z.central + z.central_size, inner.central, inner.central_size);
    z.central_size += inner.central_size, z.count = 2;
    made_end(&z);
    refused("nested", "overlap");
    /* One entry may expand to the limit for a file of this size, but then
     * nothing is left for others. */
    static const uint8_t bits[300000];
    const size_t limit = ((size_t)256 << 20) + sizeof bits * 64;
    memset(&z, 0, sizeof z);
    memcpy(zeros, array, npy(F4("(14980,)"), NULL, 0));
    made_add(&z, "a.npy", zeros, npy(F4("(14980,)"), NULL, 0) + 14980 * 4,
             (made_lie){.deflate = 1});
    made_add(&z, "b.npy", bits, sizeof bits,
             (made_lie){.method = 8, .size = (uint32_t)(limit - sizeof bits)});
    made_end(&z);
    refused("unfolded", "implausible");
    memset(zeros, 0, sizeof zeros);
    /* Cut short, and more zeros than a header says. */
    memset(&z, 0, sizeof z);
    memcpy(zeros, array, npy(F4("(6,)"), six, 24));
    made_add(&z, "a.npy", zeros, sizeof zeros, (made_lie){.deflate = 1});
    made_end(&z);
    refused("zeros", "longer or shorter");
    for (size_t cut = 1; cut < 120; cut += 7) {
        z.size -= cut;
        refused("cut", "");
        z.size += cut;
    }
}
