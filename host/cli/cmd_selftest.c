/*
 * cmd_selftest.c - does this device compute what it should? Driver bugs are
 * found where the driver is.
 *
 * A small model runs with every matrix multiplication that the device has, in
 * batches of different sizes; all must agree, a picture's bits must not depend
 * on its neighbours, and nothing may be built between two runs.
 */
#include "cmd.h"

#include <vitcl_tune.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct selftest {
    model_options common;
} selftest;

static const opt options[] = {OPT_DEVICE(selftest), OPT_DONE};

enum { SIDE = 224, PICTURES = 3 };

static int check(bool good, const char *what, double figure)
{
    printf("%-44s %s (%.2g)\n", what, good ? "ok" : "FAILED", figure);
    return good ? EXIT_OK : EXIT_FAILED;
}

/* Logits of all pictures, `batch` at a time, into out. */
static int logits_of(float *out, vitcl_model *model, const char *gemm,
                     uint32_t batch, const uint8_t *rgb, uint32_t *classes)
{
    const vitcl_session_options o = {
        .size = sizeof o, .batch = batch, .gemm = gemm};
    vitcl_session *s = NULL;
    int code = EXIT_OK;

    if (vitcl_session_new(&s, model, &o) != VITCL_OK)
        return failed();
    *classes = vitcl_session_classes(s);
    for (uint32_t i = 0; i < PICTURES && code == EXIT_OK; i += batch) {
        uint32_t n = PICTURES - i < batch ? PICTURES - i : batch;

        if (vitcl_run_rgb(s, rgb + (size_t)i * SIDE * SIDE * 3, n) !=
                VITCL_OK ||
            vitcl_session_read(out + (size_t)i * *classes, (size_t)n * *classes,
                               s, "logits", n) != VITCL_OK)
            code = failed();
    }
    vitcl_session_free(s);
    return code;
}

static double worst(const float *a, const float *b, size_t n)
{
    double most = 0, off = 0;

    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)b[i]));
        off = isfinite(a[i]) ? fmax(off, fabs((double)a[i] - (double)b[i]))
                             : INFINITY;
    }
    return most > 0 ? off / most : INFINITY;
}

static int compare(vitcl_model *model, const uint8_t *rgb, float *want,
                   float *got)
{
    static const char *const gemms[] = {"native", "clblast"};
    uint32_t classes;
    size_t n;
    int code = logits_of(want, model, "plain", PICTURES, rgb, &classes), bad;

    if (code != EXIT_OK)
        return code;
    n = (size_t)PICTURES * classes;
    bad = logits_of(got, model, "plain", 1, rgb, &classes);
    if (bad == EXIT_OK)
        bad = check(memcmp(want, got, n * sizeof *want) == 0,
                    "same bits alone and among others", worst(got, want, n));
    code = bad;
    for (int i = 0; i < 2; i++) {
        char what[64];

        snprintf(what, sizeof what, "%s agrees with plain", gemms[i]);
        bad = logits_of(got, model, gemms[i], PICTURES, rgb, &classes);
        if (bad == EXIT_OK)
            bad = check(worst(got, want, n) < 1e-4, what, worst(got, want, n));
        code = bad == EXIT_OK ? code : bad;
    }
    return code;
}

/* By what it multiplies in 16 and 8 bits; a child tries what is untried. */
static void print_forms(const vitcl_device *device, const char *select)
{
    static const struct {
        vitcl_precision precision;
        const char *name;
    } all[] = {{VITCL_BF16, "bf16"}, {VITCL_INT8, "int8"}};
    char form[96];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        try_first(vitcl_device_untried(device, all[i].precision), select,
                  all[i].precision);
        if (vitcl_device_form(form, sizeof form, device, all[i].precision) ==
            VITCL_OK)
            printf("%s by %s\n", all[i].name, form);
    }
}

static int run(void *into, const words *operands)
{
    selftest *o = into;
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_device_info info = {.size = sizeof info};
    const size_t bytes = (size_t)PICTURES * SIDE * SIDE * 3;
    uint8_t *rgb = malloc(bytes);
    float *out = calloc(2 * PICTURES * 4096, sizeof *out);
    int code;

    if (operands->count || !rgb || !out) {
        free(rgb);
        free(out);
        return operands->count
                   ? usage("takes no argument such as '%s'", operands->item[0])
                   : fail("out of memory");
    }
    for (size_t i = 0; i < bytes; i++)
        rgb[i] = (uint8_t)(i * 2654435761u >> 13);
    o->common.preset = "vit-ti/16";
    code = open_model(&device, &model, &o->common);
    if (code == EXIT_OK) {
        if (vitcl_device_describe(&info, device) == VITCL_OK)
            printf("%s %s, driver %s\n", info.id, info.name, info.driver);
        print_forms(device, o->common.device);
        code = compare(model, rgb, out, out + PICTURES * 4096);
    }
    vitcl_model_free(model);
    vitcl_device_free(device);
    free(rgb);
    free(out);
    return code;
}

const command cmd_selftest = {
    "selftest",
    "",
    "Check a device's numbers",
    "Runs a small model with every matrix multiplication and compares. Takes "
    "some\nseconds.",
    options,
    sizeof(selftest),
    run};
