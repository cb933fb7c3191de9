/*
 * test_form.c - how unlike pictures and their mirror images are: data whose
 * answer is known.
 */
#include "data/form.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

typedef enum { LEFT, BY_CLASS, EITHER, MIDDLE } side;

/* 100 pictures of two classes with a bright bar where `s` says. */
static double asymmetry(side s)
{
    char *root = vt_test_folder();
    vt_dataset *d = NULL;
    double out = -9;

    for (int part = 1; part <= 5; part++) {
        char name[32];
        FILE *f;

        snprintf(name, sizeof name, "data_batch_%d.bin", part);
        f = fopen(vt_test_path(root, name), "wb");
        cr_assert_not_null(f);
        for (int i = 0; i < 20; i++) {
            const int label = i % 2;
            const bool left = s == LEFT || (s == BY_CLASS && label == 0) ||
                              (s == EITHER && i / 2 % 2 == 0);

            fputc(label, f);
            for (int k = 0; k < 3072; k++) {
                const int x = k % 32;
                const bool bar = s == MIDDLE ? x >= 12 && x < 20
                                 : left      ? x < 8
                                             : x >= 24;

                fputc(bar ? 200 : 20, f);
            }
        }
        fclose(f);
    }
    cr_assert_eq(
        vt_dataset_open(&d, root, &(vt_dataset_options){.split = "train"}),
        VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_dataset_asymmetry(&out, d), VITCL_OK, "%s", vt_message());
    vt_dataset_free(d);
    vt_test_remove(root);
    return out;
}

Test(form, tells_sides)
{
    cr_expect_float_eq(asymmetry(LEFT), 1, 1e-12);
    cr_expect_float_eq(asymmetry(BY_CLASS), 1, 1e-12);
    /* 25 to 25 in each class: the pairs cancel but for the pictures themselves,
     * -1 / (n - 1) */
    cr_expect_float_eq(asymmetry(EITHER), -1.0 / 49, 1e-12);
    cr_expect_eq(asymmetry(MIDDLE), 0);
}
