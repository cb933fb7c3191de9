/*
 * test_params.c - the user's tuned parameters: valid lines are used, invalid
 * lines and files are ignored with one warning, and saving keeps other lines.
 * Also the stored results of trials. vt_trial_candidate() judges products by
 * exact sums, and is itself tested with a wrong kernel.
 */
#include "api/program.h"
#include "support/device.h"
#include "support/pictures.h"
#include "trials/trials.h"
#include "tune/params.h"
#include "tune/tuner.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS                                                                   \
    "rows f32 lanes 8 vectors 3 block 4 terms 512 rows 24 panels 2 groups 8"
#define ROWS_REST "vectors 3 block 4 terms 512 rows 24 panels 2 groups 8"

static char folder[256], path[300];

static void begin(void)
{
    vt_test_user_folder(folder);
    snprintf(path, sizeof path, "%s/vitcl/tuned", folder);
}

static void put(const char *text)
{
    vt_test_user_text(folder, "vitcl/tuned", text);
}

static vitcl_device_info load(vt_params_table *table)
{
    vitcl_device_info info = {.id = "0:0"};

    snprintf(info.name, sizeof info.name, "a device");
    snprintf(info.driver, sizeof info.driver, "1.2");
    memset(table, 0, sizeof *table);
    vt_params_load(table, &info);
    return info;
}

#define KEY "a device\t1.2\t"

TestSuite(params, .fini = vt_test_tidy);

Test(params, lines)
{
    vt_params_table t;
    vitcl_device_info info;

    begin();
    info = load(&t);
    cr_expect(info.tuned == 0 && !info.warning[0], "%s", info.warning);
    put("vitcl tuned 1\n# a device\t1.2\tnothing\n\n"
        "another\t1.2\twhatever it says\na device\t1.3\tis not ours\n" KEY ROWS
        "\n" KEY "dot int8 groups 3 panels 1 rows 60 terms 64 block 24\n" KEY
        "rows f32 lanes 16 " ROWS_REST "\n");
    info = load(&t);
    cr_expect(info.tuned == 2 && !info.warning[0], "%s", info.warning);
    cr_expect(t[VT_PARAMS_ROWS][0].set && !t[VT_PARAMS_ROWS][1].set);
    cr_expect_eq(t[VT_PARAMS_ROWS][0].v[0], 16);
    cr_expect_eq(t[VT_PARAMS_ROWS][0].v[6], 8);
    cr_expect_eq(t[VT_PARAMS_DOT][3].v[0], 24);
    cr_expect_eq(t[VT_PARAMS_DOT][3].v[4], 3);
}

/* Each error affects its own line only. */
Test(params, hostile_lines)
{
    static const struct {
        const char *entry, *why;
    } bad[] = {
        {"", "kernel's name is missing"},
        {"rows", "precision"},
        {"rows f64 lanes 8 " ROWS_REST, "no precision \"f64\""},
        {"tile int8 size 64 terms 16", "no precision"},
        {"cols f32 lanes 8 " ROWS_REST, "unknown kernel \"cols\""},
        {"rows f32 " ROWS_REST, "lanes is missing"},
        {"rows f32 lanes 8 lanes 8 " ROWS_REST, "set twice"},
        {"rows f32 lanes 8 depth 1 " ROWS_REST, "\"depth\" is not a parameter"},
        {"rows f32 lanes 8 " ROWS_REST " block", "set twice"},
        {"rows f32 lanes", "lanes must be from 4 to 16"},
        {"rows f32 lanes 12 " ROWS_REST, "4, 8 or 16"},
        {"rows f32 lanes 0 " ROWS_REST, "must be from 4"},
        {"rows f32 lanes -8 " ROWS_REST, "must be from 4"},
        {"rows f32 lanes 8x " ROWS_REST, "must be from 4"},
        {"rows f32 lanes 65544 " ROWS_REST, "must be from 4"},
        {"rows f32 lanes 4294967304 " ROWS_REST, "must be from 4"},
        {"rows f32 lanes 99999999999999999999999 " ROWS_REST, "must be from 4"},
        {"rows f32 lanes 16 vectors 4 block 24 terms 64 rows 512 panels 16 "
         "groups 1",
         "is too large"},
        {"rows f32 lanes 8 vectors 2 block 24 terms 64 rows 6 panels 1 "
         "groups 1",
         "rows must be at least block"},
        {"tile f32 size 72 terms 16", "multiple of 16"},
        {"tile f32 size 64 terms 18", "multiple of 4"},
        {"tile f32 size 128 terms 16", "local memory"},
        {"clblast f32 GEMMK 0 KREG 1 KWG 32 KWI 2 MDIMA 8 MDIMC 8 MWG 64 "
         "NDIMB 8 NDIMC 8 NWG 100 SA 0 SB 0 STRM 0 STRN 0 VWM 8 VWN 4",
         "must divide"},
        {"clblast f32 GEMMK 1 KREG 1", "GEMMK must be from 0 to 0"},
        {"averyveryverylongwordthatisnokernel", "kernel's name is missing"},
    };
    vt_params_table t;
    vitcl_device_info info;
    char text[1024];

    begin();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text,
                 "vitcl tuned 1\n\n" KEY "%s\n" KEY
                 "tile f32 size 48 terms 8\n",
                 bad[i].entry);
        put(text);
        info = load(&t);
        cr_expect(strstr(info.warning, bad[i].why), "%s: \"%s\"", bad[i].entry,
                  info.warning);
        cr_expect(strstr(info.warning, "/vitcl/tuned:3 "), "%s", info.warning);
        cr_expect(info.tuned == 1 && t[VT_PARAMS_TILE][0].v[0] == 48, "%s",
                  bad[i].entry);
    }
    put("vitcl tuned 1\nno tabs\n");
    info = load(&t);
    cr_expect(strstr(info.warning, ":2 is ignored"), "%s", info.warning);
}

static void refused(const char *why)
{
    vt_params_table t;
    const vitcl_device_info info = load(&t);

    cr_expect_eq(info.tuned, 0);
    cr_expect(strstr(info.warning, why), "\"%s\" lacks %s", info.warning, why);
}

Test(params, hostile_files)
{
    char *large = malloc(300000), link[400];
    FILE *f;

    begin();
    put("");
    refused("first line");
    put("vitcl tuned 2\n" KEY ROWS "\n");
    refused("first line");
    cr_assert(f = fopen(path, "w"));
    fwrite("vitcl tuned 1\n\0" KEY ROWS "\n", 1, 40, f);
    fclose(f);
    refused("not text");
    memset(large, 'x', 299999), large[299999] = '\0';
    put(large);
    refused("too large");
    free(large);
    put("vitcl tuned 1\n" KEY ROWS "\n");
    cr_assert_eq(chmod(path, 0666), 0);
    refused("others can write");
    cr_assert_eq(chmod(path, 0600), 0);
    snprintf(link, sizeof link, "%s/other", folder);
    cr_assert_eq(rename(path, link), 0);
    cr_assert_eq(symlink(link, path), 0);
    refused("symbolic link");
    cr_assert_eq(remove(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    refused("others can write");
    cr_assert_eq(remove(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    refused("others can write");
}

static void has(const char *text, bool yes)
{
    char all[4096];
    FILE *f = fopen(path, "r");
    size_t n;

    cr_assert(f);
    n = fread(all, 1, sizeof all - 1, f);
    all[n] = '\0';
    fclose(f);
    cr_expect_eq(strstr(all, text) != NULL, yes, "%s in %s", text, all);
}

/* A saved entry is read back for its device; other lines stay. */
Test(params, saved)
{
    vt_dev *dev = NULL;
    struct stat st;

    begin();
    put("vitcl tuned 1\n# mine\n" KEY ROWS "\n");
    cr_assert_eq(vt_product_open(&dev, vt_dev_info(vt_test_device())->id),
                 VITCL_OK);
    cr_expect_eq(vt_dev_info(dev)->tuned, 0);
    cr_assert_eq(vt_params_save(dev, "tile f32 size 48 terms 8"), VITCL_OK);
    cr_assert_eq(vt_params_save(dev, ROWS), VITCL_OK);
    cr_assert_eq(vt_params_save(dev, "tile f32 size 32 terms 8"), VITCL_OK);
    vt_dev_free(dev);
    has("# mine\n" KEY ROWS "\n", true);
    has("tile f32 size 32", true);
    has("tile f32 size 48", false);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0600);
    cr_assert_eq(vt_product_open(&dev, vt_dev_info(vt_test_device())->id),
                 VITCL_OK);
    cr_expect_eq(vt_dev_info(dev)->tuned, 2, "%s", vt_dev_info(dev)->warning);
    cr_expect(vt_params_for(dev, VT_PARAMS_ROWS, VT_F32) &&
              !vt_params_for(dev, VT_PARAMS_ROWS, VT_F16));
    vt_dev_free(dev);
}

static vitcl_status judge(const char *candidate)
{
    double ratio = 0;
    const vitcl_status st = vt_trial_candidate(
        &ratio, vt_dev_info(vt_test_device())->id, candidate);

    cr_expect(st != VITCL_OK || ratio > 0);
    return st;
}

/* Every sum is exact with any parameters. */
Test(params, sums_are_exact)
{
    static const char *const all[] = {
        "rows f32 lanes 4 vectors 3 block 4 terms 64 rows 7 panels 3 "
        "groups 1",
        "rows f32 lanes 8 vectors 4 block 3 terms 300 rows 64 panels 4 "
        "groups 1",
        "rows bf16 lanes 16 vectors 1 block 24 terms 99 rows 24 panels 1 "
        "groups 256",
        "rows f16 lanes 4 vectors 1 block 1 terms 128 rows 1 panels 2 "
        "groups 4",
        "dot int8 block 5 terms 64 rows 11 panels 2 groups 1",
        "tile f32 size 32 terms 24",
    };
    char text[256];

    begin();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text, "%s: native 1x1x1x1 61x130x1100x2", all[i]);
        if (vt_dev_class(vt_test_device()) == VT_CLASS_CPU || all[i][0] == 't')
            cr_expect_eq(judge(text), VITCL_OK, "%s: %s", text, vt_message());
    }
    cr_expect_eq(judge(ROWS), VITCL_EINVAL);
    cr_expect_eq(judge(ROWS ": native"), VITCL_EINVAL);
    cr_expect_eq(judge(ROWS ": native 1x1x1"), VITCL_EINVAL);
    cr_expect_eq(judge(ROWS ": native 0x1x1x1"), VITCL_EINVAL);
    cr_expect_eq(judge(ROWS ": native 9999999x9999999x1x1"), VITCL_EINVAL);
    cr_expect_eq(judge("rows f32 lanes 8: native 1x1x1x1"), VITCL_ECORRUPT);
    cr_expect_eq(judge(ROWS ": nothing 1x1x1x1"), VITCL_EUNSUPPORTED);
}

/* A batch of any size gives products that can be measured. */
Test(params, large_batch)
{
    const vitcl_session_options o = {
        .size = sizeof o, .batch = 2000, .gemm = "native"};
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vt_tuner *tuner = NULL;
    const char *at;
    int m, n, k, times, used, products = 0;

    begin();
    cr_assert_eq(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vitcl_model_new(&model, device, "vit-ti/16", 224), VITCL_OK);
    cr_assert_eq(vt_tuner_for(&tuner, model, &o), VITCL_OK, "%s", vt_message());
    cr_assert((at = vt_tuner_next(tuner)) &&
              (at = strstr(at, ": native")) != NULL);
    for (at += strlen(": native");
         sscanf(at, " %dx%dx%dx%d%n", &m, &n, &k, &times, &used) == 4;
         at += used, products++)
        cr_expect((double)m * n <= VT_CANDIDATE_ELEMENTS &&
                      (double)m * k <= VT_CANDIDATE_ELEMENTS,
                  "%dx%dx%d", m, n, k);
    cr_expect_gt(products, 1);
    vt_tuner_free(tuner);
    vitcl_model_free(model);
    vitcl_device_free(device);
}

/* The path is that of the environment; without one, or without room, there is
 * none. */
Test(params, path)
{
    char out[64] = "untouched", small[6] = "small";

    setenv("XDG_CONFIG_HOME", "/x", 1);
    cr_expect(vt_lines_path(out, sizeof out, VT_LINES_TUNED));
    cr_expect_str_eq(out, "/x/vitcl/tuned");
    cr_expect(!vt_lines_path(small, sizeof small, VT_LINES_TUNED));
    cr_expect_str_eq(small, "small");
    setenv("XDG_CONFIG_HOME", "relative", 1);
    setenv("HOME", "/h", 1);
    cr_expect(vt_lines_path(out, sizeof out, VT_LINES_TUNED));
    cr_expect_str_eq(out, "/h/.config/vitcl/tuned");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    cr_expect(!vt_lines_path(out, sizeof out, VT_LINES_TUNED));
}

static void whole(const char *want)
{
    size_t n = 0;
    unsigned char *text = vt_test_bytes(&n, folder, "vitcl/tuned");

    cr_assert(text);
    cr_expect(n == strlen(want) && memcmp(text, want, n) == 0, "%.*s", (int)n,
              (char *)text);
    free(text);
}

/* A file that is not there, or is empty, is begun; blank lines stay. */
Test(params, begun)
{
    static const char tile[] = "tile f32 size 48 terms 8";
    vt_dev *const dev = vt_test_device();
    const vitcl_device_info *const info = vt_dev_info(dev);
    char want[1024];

    begin();
    snprintf(want, sizeof want,
             "vitcl tuned 1\n# device, driver, parameters\n%s\t%s\t%s\n",
             info->name, info->driver, tile);
    cr_assert_eq(vt_params_save(dev, tile), VITCL_OK, "%s", vt_message());
    whole(want);
    put("");
    cr_assert_eq(vt_params_save(dev, tile), VITCL_OK, "%s", vt_message());
    whole(want);
    put("vitcl tuned 1\n\n\n" KEY ROWS "\n\n");
    snprintf(want, sizeof want,
             "vitcl tuned 1\n\n\n" KEY ROWS "\n\n%s\t%s\t%s\n", info->name,
             info->driver, tile);
    cr_assert_eq(vt_params_save(dev, tile), VITCL_OK, "%s", vt_message());
    whole(want);
}

static void not_saved(const char *why)
{
    cr_expect_eq(vt_params_save(vt_test_device(), "tile f32 size 48 terms 8"),
                 VITCL_EIO);
    cr_expect(strstr(vt_message(), why), "\"%s\" lacks %s", vt_message(), why);
}

/* A file that is ignored is kept as it is, and a search does not begin. */
Test(params, kept)
{
    static const char later[] = "vitcl tuned 2\n" KEY ROWS "\n";
    const char *const ours = later + sizeof "vitcl tuned 2";
    const vt_candidate_product one = {1, 1, 1, 1};
    vt_tuner *t = NULL;

    begin();
    for (int rights = 0; rights < 2; rights++) {
        const char *const why =
            rights ? "others can write to it" : "its first line is not";

        put(rights ? "vitcl tuned 1\n" KEY ROWS "\n" : later);
        if (rights)
            cr_assert_eq(chmod(path, 0666), 0);
        not_saved(why);
        has(rights ? "vitcl tuned 1\n" : later, true);
        has(ours, true);
        cr_expect_eq(vt_tuner_new(&t, vt_test_device(), "native", "tile",
                                  VT_F32, &one, 1),
                     VITCL_EIO);
        cr_expect(strstr(vt_message(), why), "%s", vt_message());
    }
}

/* What cannot be written is an error that says why, and leaves nothing. */
Test(params, not_saved)
{
    char store[300];

    begin();
    snprintf(store, sizeof store, "%s/vitcl", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    not_saved("/vitcl/tuned: others can write to it, or it is not a regular");
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(chmod(store, 0777), 0);
    not_saved("/vitcl/tuned: cannot write: the folder is another user's, or");
    cr_assert_eq(rmdir(store), 0, "something is left");
    setenv("XDG_CONFIG_HOME", "/proc/none", 1);
    not_saved("/proc/none/vitcl/tuned: cannot write: No such file");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    not_saved("neither XDG_CONFIG_HOME nor HOME is the path of a folder");
}

/* Every row passes the checks, and a vendor's is found. */
Test(params, vendors)
{
    static const struct {
        const char *vendor, *name, *type;
        int size, nwg; /* of the tile; of CLBlast */
    } all[] = {{"NVIDIA Corporation", "NVIDIA H100", "gpu", 128, 64},
               {"Advanced Micro Devices, Inc.", "gfx1100", "gpu", 128, 64},
               {"Intel(R) Corporation", "Intel(R) Arc(TM)", "gpu", 128, 64},
               {"ARM", "Mali-G78 r0p1", "gpu", 64, 32},
               {"Mesa", "Mali-G52 (Panfrost)", "gpu", 64, 64},
               {"QUALCOMM", "QUALCOMM Adreno(TM)", "gpu", 64, 32},
               {"ARM", "Neoverse-N1", "cpu", 64, 128}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned short v[VT_NUMBERS] = {0};
        vitcl_device_info info = {.size = sizeof info};

        snprintf(info.vendor, sizeof info.vendor, "%s", all[i].vendor);
        snprintf(info.name, sizeof info.name, "%s", all[i].name);
        snprintf(info.type, sizeof info.type, "%s", all[i].type);
        cr_expect(vt_params_vendor(v, VT_PARAMS_TILE, &info));
        cr_expect_eq(v[0], all[i].size, "%s: %d", info.name, v[0]);
        cr_expect(vt_params_vendor(v, VT_PARAMS_CLBLAST, &info));
        cr_expect_eq(v[9], all[i].nwg, "%s: %d", info.name, v[9]);
        cr_expect_not(vt_params_vendor(v, VT_PARAMS_ROWS, &info));
    }
}
