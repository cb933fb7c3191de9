/*
 * test_arch_spec.c - read architectures from configs; a config written from one
 * must read back the same.
 */
#include "base/memory.h"
#include "train/arch_spec.h"

#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define RESNET(wide, args)                                                     \
    "{\"architecture\": \"resnetv2_50x" wide "_bit\"" args "}"

#define ARGS(args) ", \"model_args\": {" args "}"
#define TWO "\"layers\": [1, 2], \"channels\": [128, 256]"
/* widths, layers and stages of a ResNet-50 */
#define STAGES(wide)                                                           \
    {256 * (wide), 512 * (wide), 1024 * (wide), 2048 * (wide)}, {3, 4, 6, 3}, 4

static void read_text(vt_arch_spec *c, vt_json **json, const char *text)
{
    cr_assert_eq(vt_json_parse(json, text, strlen(text), 8, "test"), VITCL_OK,
                 "%s", vt_message());
    cr_assert_eq(vt_arch_spec_read(c, NULL, *json, "test", 0, 0), VITCL_OK,
                 "%s: %s", text, vt_message());
}

/* timm's channels and stem width are given before the width factor, which is in
 * the name: timm.create_model("resnetv2_50x3_bit", stem_chs=32) has a stem of
 * 96. */
Test(arch_spec, resnets)
{
    static const struct {
        const char *config;
        int stem, widths[4], layers[4], stages;
        const char *says, *says_not; /* the config that is written */
    } cases[] = {{RESNET("1", ""), 64, STAGES(1), NULL, "layers"},
                 {RESNET("3", ""), 192, STAGES(3), NULL, "channels"},
                 {RESNET("1", ARGS("\"stem_chs\": 32")), 32, STAGES(1),
                  "\"stem_chs\": 32", "layers"},
                 {RESNET("3", ARGS("\"stem_chs\": 96")), 288, STAGES(3),
                  "\"stem_chs\": 96", "channels"},
                 {RESNET("2", ARGS(TWO ", \"stem_chs\": 64")),
                  128,
                  {256, 512},
                  {1, 2},
                  2,
                  TWO,
                  "stem_chs"}};
    char *folder = vt_test_folder();
    vt_dataset *d = NULL;

    vt_test_cifar(folder, 10, 1);
    cr_assert_eq(
        vt_dataset_open(&d, folder, &(vt_dataset_options){.split = "train"}),
        VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        const size_t n = sizeof *cases[i].widths * (size_t)cases[i].stages;
        const char *at = cases[i].config;
        vt_json *json = NULL, *again = NULL;
        vt_arch_spec c, back;
        char *text = NULL;

        read_text(&c, &json, at);
        cr_expect_eq(c.stem_width, cases[i].stem, "%s: stem of %d", at,
                     c.stem_width);
        cr_expect_eq(c.stages, cases[i].stages, "%s", at);
        cr_expect(memcmp(c.widths, cases[i].widths, n) == 0, "%s", at);
        cr_expect(memcmp(c.layers, cases[i].layers, n) == 0, "%s", at);
        cr_assert_eq(vt_arch_spec_config(&text, &c, json, d, "test"), VITCL_OK,
                     "%s", vt_message());
        cr_expect(!cases[i].says || strstr(text, cases[i].says), "%s: %s", at,
                  text);
        cr_expect_null(strstr(text, cases[i].says_not), "%s: %s", at, text);
        read_text(&back, &again, text);
        cr_expect(back.stem_width == c.stem_width && back.stages == c.stages &&
                      memcmp(back.widths, c.widths, n) == 0 &&
                      memcmp(back.layers, c.layers, n) == 0,
                  "%s: does not say the same as %s", text, at);
        vt_json_free(json);
        vt_json_free(again);
        free(text);
    }
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* timm has vit_tiny with patches of 16 only; model_args have the size. */
Test(arch_spec, timm_names)
{
    static const struct {
        const char *preset, *says;
    } cases[] = {{"vit-ti/4", "\"vit_tiny_patch16_224\""},
                 {"vit-ti/16", "\"vit_tiny_patch16_224\""},
                 {"vit-b/8", "\"vit_base_patch8_224\""},
                 {"vit-h/16", "\"vit_huge_patch14_224\""}};

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        vt_arch_spec c;
        char *text = NULL;

        cr_assert_eq(vt_arch_spec_read(&c, cases[i].preset, NULL, "test", 0, 0),
                     VITCL_OK, "%s", vt_message());
        cr_assert_eq(vt_arch_spec_config(&text, &c, NULL, NULL, "test"),
                     VITCL_OK, "%s", vt_message());
        cr_expect(strstr(text, cases[i].says), "%s: %s", cases[i].preset, text);
        free(text);
    }
}
