/*
 * test_dataset.c - CIFAR, MNIST, class folders and tables, valid and damaged.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PART(name) (&(vt_dataset_options){.split = (name)})

static char folder[256];

static const char *at(const char *name)
{
    static char path[600];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(at(name), "wb");

    cr_assert(f && fwrite(bytes, 1, n, f) == n);
    fclose(f);
}

static void setup(void)
{
    snprintf(folder, sizeof folder, "%s", vt_test_folder());
}

Test(dataset, cifar10, .init = setup, .fini = vt_test_tidy)
{
    uint8_t record[2 * 3073];
    char names[100];
    vt_dataset *d = NULL;
    vt_picture p;

    for (size_t i = 0; i < sizeof record; i++)
        record[i] = (uint8_t)(i * 31);
    record[0] = 7, record[3073] = 2;
    put("test_batch.bin", record, sizeof record);
    put("batches.meta.txt", "airplane\nautomobile\nbird\n", 25);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("test")), VITCL_ECORRUPT);
    put("batches.meta.txt", "a\nb\nbird\nd\ne\nf\ng\nh\ni\nj\n\n", 24);
    cr_assert_eq(vt_dataset_open(&d, folder, PART("test")), VITCL_OK, "%s",
                 vt_message());
    cr_expect_eq(vt_dataset_count(d), 2);
    cr_expect_eq(vt_dataset_classes(d), 10);
    cr_expect_str_eq(vt_dataset_class(d, 2), "bird");
    cr_expect_str_eq(vt_dataset_class(d, 9), "j");
    vt_dataset_free(d);
    memset(names, 'n', sizeof names); /* longer than what is kept of one */
    memcpy(names + 70, "\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 19);
    put("batches.meta.txt", names, 89);
    cr_assert_eq(vt_dataset_open(&d, folder, PART("test")), VITCL_OK, "%s",
                 vt_message());
    cr_expect_eq(strlen(vt_dataset_class(d, 0)), 63);
    cr_expect_str_eq(vt_dataset_class(d, 9), "j");
    cr_expect_eq(vt_dataset_label(d, 0), 7);
    cr_expect_eq(vt_dataset_label(d, 1), 2);
    cr_assert_eq(vt_dataset_picture(&p, d, 1), VITCL_OK);
    cr_expect_eq(p.width, 32);
    for (size_t c = 0; c < 3; c++) /* planes become pixels */
        cr_expect_eq(p.rgb[3 * 33 + c], record[3074 + c * 1024 + 33]);
    vt_picture_free(&p);
    cr_expect_eq(vt_dataset_picture(&p, d, 2), VITCL_EINVAL);
    vt_dataset_free(d);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("validation")), VITCL_EINVAL);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("train")), VITCL_EIO);
    record[0] = 10; /* no such class */
    put("test_batch.bin", record, sizeof record);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("test")), VITCL_ECORRUPT);
    put("test_batch.bin", record + 3073, 3072); /* cut short */
    cr_expect_eq(vt_dataset_open(&d, folder, PART("test")), VITCL_ECORRUPT);
}

Test(dataset, mnist, .init = setup, .fini = vt_test_tidy)
{
    uint8_t images[16 + 3 * 4 * 5] = {0, 0, 8, 3, 0, 0, 0, 3,
                                      0, 0, 0, 4, 0, 0, 0, 5};
    uint8_t labels[8 + 3] = {0, 0, 8, 1, 0, 0, 0, 3, 4, 0, 1};
    vt_dataset *d = NULL;
    vt_picture p;

    for (size_t i = 16; i < sizeof images; i++)
        images[i] = (uint8_t)i;
    put("train-images-idx3-ubyte", images, sizeof images);
    put("train-labels-idx1-ubyte", labels, sizeof labels);
    cr_assert_eq(vt_dataset_open(&d, folder, PART("train")), VITCL_OK, "%s",
                 vt_message());
    cr_expect_eq(vt_dataset_count(d), 3);
    cr_expect_eq(vt_dataset_classes(d), 5);
    cr_assert_eq(vt_dataset_picture(&p, d, 2), VITCL_OK);
    cr_expect(p.width == 5 && p.height == 4);
    cr_expect_eq(p.rgb[3 * 6 + 1], images[16 + 2 * 20 + 6]);
    vt_picture_free(&p);
    vt_dataset_free(d);
    images[4] = 0xff; /* sizes that overflow or do not fit */
    put("train-images-idx3-ubyte", images, sizeof images);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("train")), VITCL_ECORRUPT);
    images[4] = 0;
    put("train-images-idx3-ubyte", images, sizeof images - 1);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("train")), VITCL_ECORRUPT);
    put("train-images-idx3-ubyte", images, sizeof images);
    labels[7] = 2;
    put("train-labels-idx1-ubyte", labels, sizeof labels - 1);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("train")), VITCL_ECORRUPT);
    images[7] = labels[7] = 0;
    put("train-images-idx3-ubyte", images, 16);
    put("train-labels-idx1-ubyte", labels, 8);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("train")), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "contains no pictures"), "%s", vt_message());
}

/* A side of 4096 pixels, and one more. */
Test(dataset, mnist_has_bounds, .init = setup, .fini = vt_test_tidy)
{
    static uint8_t images[16 + 4097] = {0, 0, 8, 3, 0, 0, 0, 1};
    const uint8_t labels[8 + 1] = {0, 0, 8, 1, 0, 0, 0, 1, 0};
    vt_dataset *d = NULL;

    put("train-labels-idx1-ubyte", labels, sizeof labels);
    for (int k = 0; k < 4; k++) {
        const size_t side = 4096 + (size_t)k % 2;

        memset(images + 8, 0, 8);
        images[k < 2 ? 10 : 14] = (uint8_t)(side >> 8);
        images[k < 2 ? 11 : 15] = (uint8_t)side;
        images[k < 2 ? 15 : 11] = 1;
        put("train-images-idx3-ubyte", images, 16 + side);
        cr_expect_eq(vt_dataset_open(&d, folder, PART("train")),
                     k % 2 ? VITCL_ECORRUPT : VITCL_OK, "%s", vt_message());
        if (k % 2 == 0)
            vt_dataset_free(d);
    }
}

Test(dataset, folders, .init = setup, .fini = vt_test_tidy)
{
    vt_dataset *d = NULL;
    vt_picture p;

    cr_expect_eq(vt_dataset_open(&d, folder, PART(NULL)), VITCL_EIO);
    mkdir(at("train"), 0700);
    mkdir(at("train/zebra"), 0700);
    mkdir(at("train/ape"), 0700);
    put("train/zebra/b.jpg", "text", 4);
    put("train/zebra/a.jpg", "text", 4);
    put("train/ape/z.jpg", "text", 4);
    put("train/ape/.hidden", "text", 4);
    cr_assert_eq(vt_dataset_open(&d, folder, PART("train")), VITCL_OK);
    cr_expect_eq(vt_dataset_count(d), 3);
    cr_expect_str_eq(vt_dataset_class(d, 0), "ape");
    cr_expect_eq(vt_dataset_label(d, 1), 1);
    cr_expect(strstr(vt_dataset_path(d, 1), "zebra/a.jpg"));
    cr_expect_neq(vt_dataset_picture(&p, d, 1), VITCL_OK);
    vt_dataset_free(d);
    cr_expect_eq(vt_dataset_open(&d, folder, PART("test")), VITCL_EIO);
    cr_expect_eq(vt_dataset_open(&d, at("none"), PART(NULL)), VITCL_EIO);
}

static void put_table(const char *text)
{
    put("table.csv", text, strlen(text));
}

/* Opens the table; `why`: what the message must contain, NULL: it is good. */
static vt_dataset *table(const char *text, const vt_dataset_options *how,
                         const char *why)
{
    vt_dataset *d = NULL;
    vitcl_status st;

    put_table(text);
    st = vt_dataset_open(&d, at("table.csv"), how);
    if (!why)
        cr_assert_eq(st, VITCL_OK, "%s: %s", text, vt_message());
    else
        cr_expect(st != VITCL_OK && strstr(vt_message(), why), "%s: '%s'", text,
                  st == VITCL_OK ? "accepted" : vt_message());
    return d;
}

Test(dataset, table, .init = setup, .fini = vt_test_tidy)
{
    static const char text[] = "\xEF\xBB\xBFlabel,more,Path,split\r\n"
                               "zebra,,a.jpg,train\r\n"
                               "\r\n"
                               "\"a, \"\"b\"\"\",\"x\ny\",b.jpg,val\r\n"
                               "ape,,\"in/c.jpg\",validation\r\n"
                               "ape,,d.jpg,test\r\n"
                               "ape,,./d.jpg,test";
    static const struct {
        vt_dataset_options how;
        const char *first;
        uint32_t count;
    } row[] = {{{.split = NULL}, "d.jpg", 1},
               {{.training = true}, "a.jpg", 1},
               {{.validation = true}, "b.jpg", 2},
               {{.split = "val"}, "b.jpg", 2},
               {{.split = "validation"}, "b.jpg", 2},
               {{.split = "test", .training = true}, "d.jpg", 1}};
    vt_dataset *d;

    put("a.jpg", "1", 1), put("b.jpg", "2", 1), put("d.jpg", "4", 1);
    mkdir(at("in"), 0700);
    put("in/c.jpg", "3", 1);
    for (size_t i = 0; i < VT_COUNT(row); i++) {
        d = table(text, &row[i].how, NULL);
        cr_assert_eq(vt_dataset_count(d), row[i].count, "%zu", i);
        cr_expect_str_eq(vt_dataset_name(d, 0), row[i].first);
        cr_expect_str_eq(vt_dataset_kind(d), "table");
        cr_assert_eq(vt_dataset_classes(d), 3);
        cr_expect_str_eq(vt_dataset_class(d, 0), "a, \"b\"");
        cr_expect_str_eq(vt_dataset_class(d, 1), "ape");
        cr_expect_str_eq(vt_dataset_class(d, 2), "zebra");
        cr_expect_eq(vt_dataset_label(d, 0),
                     row[i].first[0] == 'a' ? 2 : row[i].first[0] == 'd');
        cr_expect(!vt_dataset_remark(d) == (row[i].first[0] != 'd'));
        vt_dataset_free(d);
    }
    /* without parts: all of it, but no part by name */
    d = table("path,label\na.jpg,x\nb.jpg,y\n", &row[1].how, NULL);
    cr_expect_eq(vt_dataset_count(d), 2);
    vt_dataset_free(d);
    table("path,label\na.jpg,x\n", &row[3].how, "no column split");
    table("path,label,split\na.jpg,x,val\n", &row[1].how, "split train");
    table("path,label,split\na.jpg,x,train\n", &row[0].how, "test or val");
    table("path,label,split\na.jpg,x,train\n", &row[3].how, "split 'val'");
}

static void check_rows(const vt_json *rows, vt_csv_text *text, size_t number)
{
    const char *want;
    char *field[4];
    size_t n;

    for (const vt_json *row = vt_json_first(rows); row;
         row = vt_json_next(row)) {
        cr_assert_eq(vt_csv_row(field, &n, VT_COUNT(field), text), VITCL_OK,
                     "%zu: %s", number, vt_message());
        cr_assert_eq(n, vt_json_count(row), "%zu", number);
        for (size_t i = 0; i < n; i++) {
            cr_assert(vt_json_string(&want, vt_json_at(row, i)));
            cr_expect_str_eq(field[i], want, "%zu", number);
        }
    }
    cr_assert_eq(vt_csv_row(field, &n, VT_COUNT(field), text), VITCL_OK);
    cr_expect_eq(n, 0, "%zu", number);
}

/* What pandas reads: tools/golden_csv.py. */
Test(dataset, rows_of_pandas)
{
    vt_json *root = NULL;
    const char *text;
    size_t number = 0;

    cr_assert_eq(vt_json_load(&root, VT_DATA "/csv/tables.json", 1 << 20, 5),
                 VITCL_OK, "%s", vt_message());
    for (const vt_json *m = vt_json_first(root); m; m = vt_json_next(m)) {
        char room[400];
        vt_csv_text t;

        cr_assert(vt_json_string(&text, vt_json_get(m, "text")));
        cr_assert(strlen(text) < sizeof room);
        strcpy(room, text);
        t = vt_csv_begin(room, strlen(text));
        check_rows(vt_json_get(m, "rows"), &t, number++);
    }
    cr_expect_eq(number, 80);
    vt_json_free(root);
}

/* Lines are counted by their ends: LF, CR, or both. */
Test(dataset, lines_of_a_table)
{
    char text[] = "a\r\rb\r\n\"c\r\n\rd\"\re\n";
    static const uint32_t line[] = {1, 3, 4, 7};
    vt_csv_text t = vt_csv_begin(text, strlen(text));
    char *field[1];
    size_t n;

    for (size_t i = 0; i < VT_COUNT(line); i++) {
        cr_assert_eq(vt_csv_row(field, &n, 1, &t), VITCL_OK);
        cr_expect_eq(t.line, line[i], "%zu: %u", i, t.line);
    }
}

static const char *const twins[] = {"\xC3\xA9t\xC3\xA9.jpg",
                                    "e\xCC\x81te\xCC\x81.jpg"};

/* Tables as other programs write them. */
Test(dataset, table_of_others, .init = setup, .fini = vt_test_tidy)
{
    static const vt_dataset_options all = {.split = NULL};
    static const vt_dataset_options val = {.split = "VALID"};
    static const vt_dataset_options training = {.training = true};
    char text[1200], other[600];
    vt_dataset *d;

    put("a.jpg", "1", 1), put("b.JPEG", "2", 1), put("c", "3", 1);
    d = table("File_Name,label\ra.jpg,x\rb,y\rc,y\r", &all, NULL);
    cr_assert_eq(vt_dataset_count(d), 3);
    cr_expect_str_eq(vt_dataset_name(d, 1), "b.JPEG");
    cr_expect_str_eq(vt_dataset_name(d, 2), "c");
    cr_expect_str_eq(vt_dataset_class(d, 1), "y");
    vt_dataset_free(d);
    table("path,label,file_name\na.jpg,x,\n", &all,
          "line 1: two columns 'path' or 'file_name'; leave one out");
    table("path,label\nsub\\a.jpg,x\n", &all,
          "No such file or directory; write / between folders");
    put("b.png", "2", 1);
    table("path,label\nb,y\n", &all,
          "line 2: path 'b' has no suffix, and there are files with .JPEG and "
          ".png");
    table("path,label\nd,y\n", &all, "line 2: path 'd': No such file");

    d = table("path,label,split\na.jpg,x,Train\nc,y,VALID\n", &training, NULL);
    cr_expect_eq(vt_dataset_count(d), 1);
    vt_dataset_free(d);
    d = table("path,label,split\na.jpg,x,Train\nc,y,Val\n", &val, NULL);
    cr_expect_str_eq(vt_dataset_name(d, 0), "c");
    vt_dataset_free(d);

    /* a whole path; one below the table's folder has its name from there */
    snprintf(other, sizeof other, "%s/sample.jpg", VT_DATA);
    snprintf(text, sizeof text, "path,label\n%s,x\n%s/a.jpg,y\n", other,
             folder);
    d = table(text, &all, NULL);
    cr_assert_eq(vt_dataset_count(d), 2);
    cr_expect_str_eq(vt_dataset_name(d, 0), other);
    cr_expect_str_eq(vt_dataset_path(d, 0), other);
    cr_expect_str_eq(vt_dataset_name(d, 1), "a.jpg");
    vt_dataset_free(d);

    for (size_t i = 0; !getenv("VITCL_NO_WORDS") && i < 2; i++) {
        put(twins[i], "4", 1);
        snprintf(text, sizeof text, "path,label\n%s,x\n%.*s,y\n", twins[!i],
                 (int)strcspn(twins[!i], "."), twins[!i]);
        table(text, &all, "is the file of line 2");
        snprintf(text, sizeof text, "path,label\n%s,x\n", twins[!i]);
        d = table(text, &all, NULL);
        cr_expect_str_eq(vt_dataset_name(d, 0), twins[i]);
        vt_dataset_free(d);
        cr_assert_eq(remove(at(twins[i])), 0);
    }
}

Test(dataset, table_is_hostile, .init = setup, .fini = vt_test_tidy)
{
    static const vt_dataset_options all = {.split = NULL};
    static const struct {
        const char *text, *why;
    } row[] = {
        {"", "line 1: no column 'path'"},
        {"path;label\na.jpg;x\n", "line 1: no column 'path'"},
        {"path,class\na.jpg,x\n", "line 1: no column 'label'"},
        {"path,label\n", "names no pictures"},
        {"path,label\na.jpg\n", "line 2: 1 field, fewer"},
        {"path,label\n\n,x\n", "line 3: no path"},
        {"path,label\na.jpg,x\na.jpg,\n", "line 3: no label for 'a.jpg'"},
        {"path,label\n/no/a.jpg,x\n", "line 2: path '/no/a.jpg': No such"},
        {"path,label\nnone.jpg,x\n", "line 2: path 'none.jpg': No such"},
        {"path,label\nin,x\n", "line 2: path 'in' is not a file"},
        {"path,label,split\na.jpg,x,\n", "line 2: split '' is none"},
        {"path,label,split\na.jpg,x,dev\n", "line 2: split 'dev' is none"},
        {"path,label\n\"a\n\",x\nb", "line 4: 1 field"},
        {"path,label\na.jpg,\"x\n", "line 2: a field begins with a quote"},
        {"path,label\na.jpg,\"x\"y\n", "line 2: text after the quote"},
        {"path,label\na.jpg,x\n./a.jpg,y\n", "'./a.jpg' is the file of line 2"},
    };
    char text[6000] = "path,label\n";
    vt_dataset *d = NULL;

    put("a.jpg", "1", 1);
    mkdir(at("in"), 0700);
    for (size_t i = 0; i < VT_COUNT(row); i++)
        table(row[i].text, &all, row[i].why);
    put("table.csv", "path,label\na\0b,x\n", 17);
    cr_expect_eq(vt_dataset_open(&d, at("table.csv"), PART(NULL)),
                 VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "line 2: a zero byte"), "%s", vt_message());
    for (size_t i = 0; i < 2500; i++)
        strcat(text, "./");
    table(strcat(text, "a.jpg,x\n"), &all, "is too long");
    snprintf(text, sizeof text, "path,label\na.jpg,%0256d\n", 7);
    table(text, &all, "line 2: label '0000");
    snprintf(text, sizeof text, "path,label\na.jpg,%0255d\n", 7);
    d = table(text, &all, NULL);
    cr_expect_eq(vt_dataset_classes(d), 1);
    vt_dataset_free(d);
    cr_expect_eq(vt_dataset_open(&d, at("none.csv"), PART(NULL)), VITCL_EIO);
}
