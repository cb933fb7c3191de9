/*
 * device.c - the device that tests run on.
 */
#include "support/device.h"

#include "gemm/parts.h"
#include "ocl/objects.h"
#include "ocl/source.h"
#include "support/branches.h"
#include "support/pictures.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

vt_dev *vt_test_device(void)
{
    static vt_dev *dev;
    const char *select = getenv("VITCL_TEST_DEVICE");

    if (!dev)
        cr_assert_eq(vt_product_open(&dev, select && *select ? select : "any"),
                     VITCL_OK, "%s", vt_message());
    return dev;
}

vt_product vt_test_product(const char *provider, const vt_gemm_desc *d)
{
    vt_product p;

    cr_assert_eq(vt_product_of(&p, vt_test_device(), provider, d), VITCL_OK,
                 "%s", vt_message());
    return p;
}

/* The name in a line #line 1 "cl/NAME.cl"; false: it is another line, or that
 * of a common text. */
static bool source_of(char name[64], const char *line)
{
    const char *from = strrchr(line, '/');

    return strncmp(line, "#line 1 \"", 9) == 0 && from &&
           sscanf(from + 1, "%63[a-z0-9_].cl", name) == 1 &&
           strncmp(name, "common", 6) != 0;
}

void vt_test_sources(vt_subject s)
{
    const char *folder = vt_test_folder();
    char command[512], line[512], name[64];
    int n = 0;
    FILE *f;

    cr_assert_eq(vt_dev_save_programs(vt_test_device(), folder), VITCL_OK, "%s",
                 vt_message());
    snprintf(command, sizeof command, "cat %s/*.cl", folder);
    f = popen(command, "r");
    cr_assert(f);
    while (fgets(line, sizeof line, f))
        if (source_of(name, line)) {
            const char *const *at = s.sources;

            while (*at && strcmp(*at, name) != 0)
                at++;
            cr_expect(*at, "%s: a trial compiles cl/%s.cl, too", s.question,
                      name);
            n++;
        }
    cr_expect_eq(pclose(f), 0);
    cr_expect_gt(n, 0, "no program was asked for");
    vt_test_remove(folder);
}

void vt_test_divide(bool on)
{
    static double usual;
    vt_dev *dev = vt_test_device();

    if (on)
        usual = dev->launch_macs;
    dev->launch_macs = on ? 1000 : usual;
}

void vt_test_class(vt_class c)
{
    if (c == VT_CLASS_GPU)
        setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 1);
    else
        unsetenv("POCL_EXTRA_BUILD_FLAGS");
}

void vt_test_can_emulate(void)
{
    if (vt_test_own_branches())
        return;
    vt_test_tidy();
    vt_skip("this driver takes the first work-item's branch for all");
}

void vt_test_emulate(const char *kind)
{
    char word[32];

    if (strncmp(kind, "dot", 3) != 0)
        vt_test_can_emulate();
    snprintf(word, sizeof word, "emulate-%s", kind);
    setenv("VITCL_MMA", word, 1);
    vt_test_class(VT_CLASS_GPU);
}

vt_queue *vt_test_queue(void)
{
    static vt_queue *q;

    if (!q)
        cr_assert_eq(vt_queue_new(&q, vt_test_device(), VT_TIMES_NONE),
                     VITCL_OK, "%s", vt_message());
    return q;
}

vt_buf *vt_test_floats(const float *data, size_t n)
{
    vt_buf *b = NULL;

    cr_assert_eq(vt_buf_new(&b, vt_test_device(), n * sizeof(float)), VITCL_OK,
                 "%s", vt_message());
    cr_assert_eq(
        data ? vt_buf_write(vt_test_queue(), b, 0, data, n * sizeof(float))
             : vt_buf_fill(vt_test_queue(), b, 0x7fc00000u),
        VITCL_OK, "%s", vt_message());
    /* Other queues may use it at once. */
    cr_assert_eq(vt_queue_finish(vt_test_queue()), VITCL_OK, "%s",
                 vt_message());
    return b;
}

void vt_test_read(float *out, vt_buf *b, size_t n)
{
    cr_assert_eq(vt_buf_read(vt_test_queue(), b, 0, out, n * sizeof(float)),
                 VITCL_OK, "%s", vt_message());
}

void vt_test_kernel(const char *folder, const char *name, const char *text)
{
    char file[64];

    snprintf(file, sizeof file, "%s.cl", name);
    vt_test_text(folder, file, text);
}

void vt_test_kernels(const char *folder, const char *common)
{
    setenv("VITCL_CL_DIR", folder, 1);
    for (const vt_cl_source *s = vt_cl_sources; s->name; s++)
        if (strncmp(s->name, "common", 6) == 0)
            vt_test_kernel(folder, s->name,
                           strcmp(s->name, "common") == 0 ? common : "");
}

void vt_test_mutant(const char *folder, const char *name, const char *right,
                    const char *wrong)
{
    cr_assert_eq(strlen(right), strlen(wrong));
    for (const vt_cl_source *s = vt_cl_sources; s->name; s++) {
        char *text = calloc(s->size + 1, 1), *at;

        cr_assert(text);
        memcpy(text, s->text, s->size);
        if (strcmp(s->name, name) == 0) {
            at = strstr(text, right);
            cr_assert(at);
            memcpy(at, wrong, strlen(wrong));
        }
        vt_test_kernel(folder, s->name, text);
        free(text);
    }
}
