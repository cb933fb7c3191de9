/*
 * test_answers.c - what becomes of answers, without a device: the best classes,
 * rows and tensors in files.
 */
#include "api/program.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vitcl.h>

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

Test(answers, top_is_a_sort_and_a_softmax)
{
    const float logits[] = {0.5f, 2.0f, -1.0f, 2.0f, NAN, 1.5f};
    const uint32_t order[] = {1, 3, 5, 0, 2, 4};
    vitcl_class top[6];
    double sum = 0;

    vitcl_class_choose(top, 6, logits, 5 + 1, VITCL_ONE_CLASS);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(top[i].label, order[i], "%d: %u", i, top[i].label);
    vitcl_class_choose(top, 4, logits, 4, VITCL_ONE_CLASS);
    for (int i = 0; i < 4; i++) {
        double want = exp((double)logits[top[i].label]) /
                      (exp(0.5) + 2 * exp(2.0) + exp(-1.0));

        cr_expect_float_eq((double)top[i].probability, want, 1e-6);
        sum += (double)top[i].probability;
    }
    cr_expect_float_eq(sum, 1, 1e-6);
}

Test(answers, rows_come_back)
{
    static const float data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const vitcl_shape row = {.name = "features", .rank = 2, .shape = {2, 3}};
    char *folder = vt_test_folder(), path[400];
    unsigned char *head;
    size_t size = 0;
    vitcl_rows *rows = NULL;
    vt_tensors *t = NULL;
    vitcl_shape shape;
    float back[12];

    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    need(vitcl_rows_new(&rows, path, &row));
    need(vitcl_rows_add(rows, data, 1));
    need(vitcl_rows_add(rows, data + 6, 1));
    cr_expect(!vt_have(path), "there before it is whole");
    need(vitcl_rows_finish(rows));
    cr_expect_eq(vitcl_rows_add(rows, data, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_rows_finish(rows), VITCL_EINVAL);
    vitcl_rows_free(rows), rows = NULL;
    need(vt_tensors_open(&t, path));
    need(vt_tensors_shape(&shape, t, "features"));
    cr_expect_eq(shape.rank, 3);
    cr_expect(shape.shape[0] == 2 && shape.shape[1] == 2 &&
              shape.shape[2] == 3);
    need(vt_tensors_read(back, t, "features", 12));
    cr_expect_eq(memcmp(back, data, sizeof data), 0);
    cr_expect_eq(vt_tensors_read(back, t, "features", 11), VITCL_EINVAL);
    cr_expect_eq(vt_tensors_shape(&shape, t, "other"), VITCL_EINVAL);
    vt_tensors_free(t);
    remove(path);

    /* NumPy format 1.0: magic, version, little-endian length, a dict that
     * ends in a newline, 64-byte alignment (numpy.lib.format). */
    snprintf(path, sizeof path, "%s/a.npy", folder);
    need(vitcl_rows_new(&rows, path, &row));
    need(vitcl_rows_add(rows, data, 2));
    need(vitcl_rows_finish(rows));
    vitcl_rows_free(rows), rows = NULL;
    head = vt_test_bytes(&size, folder, "a.npy");
    cr_assert(head && size == 512 + sizeof data);
    cr_expect_eq(memcmp(head, "\x93NUMPY\x01\x00", 8), 0);
    cr_expect_eq(head[8] + 256 * head[9], 512 - 10);
    cr_expect_eq(memcmp(head + 10,
                        "{'descr': '<f4', 'fortran_order': False, "
                        "'shape': (2,2,3), } ",
                        61),
                 0);
    cr_expect_eq(head[511], '\n');
    cr_expect_eq(memcmp(head + 512, data, sizeof data), 0);
    free(head);
    remove(path);

    snprintf(path, sizeof path, "%s/gone.npy", folder);
    need(vitcl_rows_new(&rows, path, &row));
    need(vitcl_rows_add(rows, data, 2));
    vitcl_rows_free(rows); /* not finished */
    cr_expect(!vt_have(path));
    cr_expect_eq(rmdir(folder), 0, "a temporary file was left");
}

Test(answers, tensors_come_back)
{
    static const float a[] = {1.5f, -2, 3, 4}, b[] = {7};
    const float *const data[] = {a, b};
    const vitcl_shape shapes[] = {{.name = "first", .rank = 2, .shape = {2, 2}},
                                  {.name = "second", .rank = 1, .shape = {1}}};
    char *folder = vt_test_folder(), path[400];
    vt_tensors *t = NULL;
    float back[4];

    snprintf(path, sizeof path, "%s/t.safetensors", folder);
    need(vt_tensors_write(path, shapes, data, 2));
    need(vt_tensors_open(&t, path));
    need(vt_tensors_read(back, t, "first", 4));
    cr_expect_eq(memcmp(back, a, sizeof a), 0);
    need(vt_tensors_read(back, t, "second", 1));
    cr_expect_eq(back[0], 7);
    vt_tensors_free(t);
    cr_expect_eq(vt_tensors_write("/no/such/folder/x", shapes, data, 2),
                 VITCL_EIO);
    remove(path);
    rmdir(folder);
}
