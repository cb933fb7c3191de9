/*
 * test_locale.c - in any locale of the host, files are read back and have the
 * same bytes as in the locale "C".
 */
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "support/oneplan.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

/* Decimal points: a comma, and a character of two bytes. */
static const char *const locales[] = {"de_DE", "ps_AF"};

static void take_locale(const char *folder, const char *name)
{
    char command[600], full[32];

    snprintf(full, sizeof full, "%s.UTF-8", name);
    snprintf(command, sizeof command, "localedef -i %s -f UTF-8 %s/%s", name,
             folder, full);
    cr_assert_eq(system(command), 0, "%s: the package `locales` is needed",
                 command);
    cr_assert_eq(setenv("LOCPATH", folder, 1), 0);
    cr_assert_not_null(setlocale(LC_ALL, full));
    cr_assert_str_neq(localeconv()->decimal_point, ".");
}

static void compare_files(const char *a, const char *b, const char *name)
{
    char path[600];
    vt_file x = {0}, y = {0};

    snprintf(path, sizeof path, "%s/%s", a, name);
    vt_check(vt_file_read(&x, path, 1 << 30));
    snprintf(path, sizeof path, "%s/%s", b, name);
    vt_check(vt_file_read(&y, path, 1 << 30));
    cr_expect(x.size == y.size && memcmp(x.data, y.data, x.size) == 0,
              "%s is another", path);
    vt_file_close(&x);
    vt_file_close(&y);
}

static void convert(const char *folder, const char *name)
{
    static const char *const models[] = {"timm_vit", "hf_beit_resized",
                                         "hf_vit_resized"};
    char from[512], out[512], back[512];
    vitcl_model *model = NULL;

    for (size_t i = 0; i < 3; i++) {
        snprintf(from, sizeof from, "%s/models/%s", VT_DATA, models[i]);
        snprintf(out, sizeof out, "%s/%s-%s", folder, name, models[i]);
        vt_check(vitcl_convert(out, from, i ? "timm" : "hf", NULL));
        vt_check(vitcl_model_load(&model, NULL, out));
        vitcl_model_free(model);
        model = NULL;
        snprintf(back, sizeof back, "%s/C-%s", folder, models[i]);
        if (strcmp(name, "C") != 0)
            compare_files(back, out, "config.json");
    }
}

static void train(const char *folder, const char *name, vitcl_device *device)
{
    char config[512], settings[512], out[512], c[512];
    vitcl_train_options o = {.size = sizeof o,
                             .config = config,
                             .settings = settings,
                             .data = folder,
                             .output = out,
                             .epochs = 1,
                             .batch = 10,
                             .lr = 0.5};
    vitcl_train_event last = {.size = sizeof last};
    vitcl_model *model = NULL;
    FILE *f;

    snprintf(config, sizeof config, "%s/config.json", folder);
    snprintf(settings, sizeof settings, "%s/settings.json", folder);
    snprintf(out, sizeof out, "%s/%s-trained", folder, name);
    f = fopen(config, "w");
    fputs("{\"architecture\": \"vit_tiny_patch16_224\", \"model_args\": {"
          "\"img_size\": 32, \"patch_size\": 16, \"embed_dim\": 32, "
          "\"depth\": 1, \"num_heads\": 2, \"mlp_ratio\": 2.5, "
          "\"init_values\": 0.25}}",
          f);
    fclose(f);
    f = fopen(settings, "w");
    fputs("{\"weight_decay\": 0.125, \"dropout\": 0.25}", f);
    fclose(f);
    vt_check(vitcl_train(&last, device, &o, NULL, NULL));
    vt_check(vitcl_model_load(&model, NULL, out));
    vitcl_model_free(model);
    o.resume = 1;
    vt_check(vitcl_train(&last, device, &o, NULL, NULL));
    if (strcmp(name, "C") == 0)
        return;
    snprintf(c, sizeof c, "%s/C-trained", folder);
    compare_files(c, out, "config.json");
    compare_files(c, out, "model.safetensors");
}

Test(locale, what_is_written_is_read)
{
    static const char text[] = "{\"a\": [0.5, -1.25e-3, 7]}";
    char *folder = vt_test_folder(), line[64];
    const char *select = getenv("VITCL_TEST_DEVICE");
    vitcl_device *device = NULL;

    vt_check(vitcl_device_open(&device, select && *select ? select : "any"));
    vt_test_cifar(folder, 40, 1);
    convert(folder, "C");
    train(folder, "C", device);
    for (size_t i = 0; i < 2; i++) {
        const vt_json *a;
        vt_json *root = NULL;
        double v;

        take_locale(folder, locales[i]);
        vt_check(vt_json_parse(&root, text, strlen(text), 3, "text"));
        a = vt_json_get(root, "a");
        cr_expect(vt_json_number(&v, vt_json_at(a, 0)) && v == 0.5);
        cr_expect(vt_json_number(&v, vt_json_at(a, 1)) && v == -1.25e-3);
        cr_expect(vt_json_number(&v, vt_json_at(a, 2)) && v == 7);
        vt_json_free(root);
        vt_snprint(line, sizeof line, "%.17g %.2f", 0.5, 1.25);
        cr_expect_str_eq(line, "0.5 1.25");
        /* the host's own number format is unchanged */
        snprintf(line, sizeof line, "%.1f", 0.5);
        cr_expect(!strchr(line, '.'), "%s", line);
        convert(folder, locales[i]);
        train(folder, locales[i], device);
    }
    vitcl_device_free(device);
    vt_test_remove(folder);
}
