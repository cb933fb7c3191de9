/*
 * test_settings.c - a training's default settings (as the header and vitcl(1)
 * document them), overrides, bounds, and training.json.
 */
#include "train/settings.h"

#include "base/memory.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <string.h>

#define ok(expr) cr_assert_eq((expr), VITCL_OK, "%s", vt_message())

static char *root;
static vt_dataset *data;

static void setup(void)
{
    root = vt_test_folder();
    vt_test_cifar(root, 20, 1);
    ok(vt_dataset_open(&data, root, &(vt_dataset_options){.split = "train"}));
}

static void teardown(void)
{
    vt_dataset_free(data);
    vt_test_remove(root);
}

static void settings_of(vt_optimizer_config *r, vt_schedule *s,
                        vitcl_train_options o, long steps)
{
    vt_settings settings = {0};

    o.data = o.output = root;
    ok(vt_settings_new(&settings, &o, data));
    ok(vt_settings_optimizer(r, s, &settings, steps));
    cr_expect_eq(settings.pictures, 20);
    cr_expect_eq(settings.classes, 10);
    vt_settings_free(&settings);
}

Test(settings, have_documented_defaults, .init = setup, .fini = teardown)
{
    static const struct {
        vitcl_train_options o;
        long steps, warmup;
        vt_optimizer optimizer;
        double lr, decay, smoothing;
        int micro;
    } cases[] = {
        {{.preset = "p"}, 1000, 50, VT_ADAMW, 1e-4, 0.05, 0, 1},
        {{.preset = "p", .batch = 1024, .micro = 256},
         1000000,
         10000,
         VT_ADAMW,
         1e-3,
         0.05,
         0,
         4},
        {{.config = "c", .augment = "full", .lr = 0.25},
         19,
         0,
         VT_ADAMW,
         0.25,
         0.05,
         0.1,
         1},
        {{.config = "c", .augment = "none"}, 40, 2, VT_ADAMW, 1e-4, 0.05, 0, 1},
        {{.model = "m"}, 2000, 100, VT_SGD, 0.01, 0, 0, 1},
        {{.model = "m", .augment = "full"},
         20000,
         500,
         VT_SGD,
         0.01,
         0,
         0.1,
         1},
        {{.preset = "p", .objective = "masked-patch"},
         1000,
         50,
         VT_ADAM,
         2e-4,
         0,
         0,
         1},
        {{.preset = "p", .objective = "classes"},
         1000,
         50,
         VT_ADAMW,
         1e-4,
         0.05,
         0,
         1}};

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        vt_optimizer_config r;
        vt_schedule s;

        settings_of(&r, &s, cases[i].o, cases[i].steps);
        cr_expect_eq(r.optimizer, cases[i].optimizer, "case %zu", i);
        cr_expect_eq(s.lr, cases[i].lr, "case %zu: %g", i, s.lr);
        cr_expect_eq(s.warmup, cases[i].warmup, "case %zu: %ld", i, s.warmup);
        cr_expect_eq(s.steps, cases[i].steps);
        cr_expect(s.decay == VT_COSINE && s.floor == 0);
        cr_expect_eq(r.weight_decay, cases[i].decay, "case %zu", i);
        cr_expect_eq(r.label_smoothing, cases[i].smoothing, "case %zu", i);
        cr_expect_eq(r.micro_batches, cases[i].micro, "case %zu", i);
        cr_expect(r.momentum == 0.9 && r.beta1 == 0.9 && r.beta2 == 0.999 &&
                  r.eps == 1e-8 && r.clip_norm == 1 && r.decay_matrices);
        cr_expect(r.ema == 0 && r.dropout == 0 && r.drop_path == 0);
    }
}

/* The rate is the optimiser's, which the file may name. */
Test(settings, rate_of_the_optimiser, .init = setup, .fini = teardown)
{
    vt_optimizer_config r;
    vt_schedule s;
    vitcl_train_options o = {.size = sizeof o, .model = "m", .batch = 1024};

    vt_test_text(root, "s.json", "{\"optimizer\": \"adamw\"}");
    o.settings = vt_test_path(root, "s.json");
    settings_of(&r, &s, o, 100);
    cr_expect(r.optimizer == VT_ADAMW && s.lr == 1e-3, "%g", s.lr);
    vt_test_text(root, "s.json", "{\"optimizer\": \"sgd\"}");
    o.model = NULL, o.preset = "p";
    settings_of(&r, &s, o, 100);
    cr_expect(r.optimizer == VT_SGD && s.lr == 0.01, "%g", s.lr);
}

/* Every setting of the file reaches its member. */
Test(settings, follow_the_file, .init = setup, .fini = teardown)
{
    vt_optimizer_config r;
    vt_schedule s;

    vt_test_text(
        root, "s.json",
        "{\"optimizer\": \"adam\", \"betas\": [0.8, 0.95], \"eps\": 1e-6, "
        "\"weight_decay\": 0.3, \"clip_grad_norm\": 2, "
        "\"label_smoothing\": 0.2, \"dropout\": 0.1, \"drop_path\": 0.4, "
        "\"ema\": 0.99, \"schedule\": \"linear\", \"warmup_steps\": 7, "
        "\"min_lr\": 0.001}");
    settings_of(&r, &s,
                (vitcl_train_options){.size = sizeof(vitcl_train_options),
                                      .preset = "p",
                                      .lr = 0.5,
                                      .settings = vt_test_path(root, "s.json")},
                100);
    cr_expect_eq(r.optimizer, VT_ADAM);
    cr_expect(r.beta1 == 0.8 && r.beta2 == 0.95 && r.eps == 1e-6);
    cr_expect(r.weight_decay == 0.3 && r.clip_norm == 2);
    cr_expect(r.label_smoothing == 0.2 && r.dropout == 0.1);
    cr_expect(r.drop_path == 0.4 && r.ema == 0.99);
    cr_expect(s.decay == VT_LINEAR && s.warmup == 7 && s.floor == 0.001);

    vt_test_text(root, "s.json", "{\"momentum\": 0.7}");
    settings_of(&r, &s,
                (vitcl_train_options){.size = sizeof(vitcl_train_options),
                                      .model = "m",
                                      .settings = vt_test_path(root, "s.json")},
                100);
    cr_expect(r.optimizer == VT_SGD && r.momentum == 0.7);
}

/* Values just inside and just outside the limits. */
Test(settings, have_bounds, .init = setup, .fini = teardown)
{
    static const char *const nothing[] = {NULL};
    static const struct {
        vitcl_train_options o;
        vitcl_status want;
    } cases[] = {
        {{.preset = "p"}, VITCL_OK},
        {{.preset = "p", .batch = 65536}, VITCL_OK},
        {{.preset = "p", .batch = 65537}, VITCL_EINVAL},
        {{.preset = "p", .batch = 12, .micro = 4}, VITCL_OK},
        {{.preset = "p", .batch = 12, .micro = 5}, VITCL_EINVAL},
        {{.preset = "p", .epochs = 1000000}, VITCL_OK},
        {{.preset = "p", .epochs = 1000001}, VITCL_EINVAL},
        {{.preset = "p", .lr = 999999}, VITCL_OK},
        {{.preset = "p", .lr = 1e6}, VITCL_EINVAL},
        {{.preset = "p", .lr = -1e-9}, VITCL_EINVAL},
        {{.preset = "p", .random_state = (UINT64_C(1) << 53) - 1}, VITCL_OK},
        {{.preset = "p", .random_state = UINT64_C(1) << 53}, VITCL_EINVAL},
        {{.preset = "p", .model = "m"}, VITCL_EINVAL},
        {{.preset = "p", .config = "c"}, VITCL_EINVAL},
        {{.batch = 1}, VITCL_EINVAL},
        {{.preset = "p", .augment = "heavy"}, VITCL_EINVAL},
        {{.preset = "p", .objective = "x"}, VITCL_EINVAL},
        {{.model = "m", .objective = "masked-patch"}, VITCL_EUNSUPPORTED},
        {{.model = "m", .objective = "classes"}, VITCL_OK},
        {{.model = "m", .freeze = nothing}, VITCL_OK},
        {{.preset = "p", .precision = VITCL_BF16}, VITCL_OK},
        {{.preset = "p", .precision = VITCL_INT8}, VITCL_EUNSUPPORTED}};

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        vitcl_train_options o = cases[i].o;
        vt_settings s = {0};

        o.data = o.output = root;
        cr_expect_eq(vt_settings_new(&s, &o, data), cases[i].want,
                     "case %zu: %s", i, vt_message());
        if (cases[i].want == VITCL_OK) {
            cr_expect_eq(s.o.random_state, o.random_state);
            cr_expect_eq(s.o.precision, o.precision);
            cr_expect_null(s.o.freeze);
        }
        vt_settings_free(&s);
    }
}

static vitcl_status load(vt_settings *s, const char *text)
{
    const vitcl_train_options o = {.output = root};

    vt_test_text(root, "training.json", text);
    return vt_settings_load(s, &o);
}

#define OLD(more)                                                              \
    "{\"format\": \"vitcl-training\", \"data\": \"d\", \"augment\": "          \
    "\"light\", \"epochs\": 1, \"batch\": 4, \"micro\": 2, \"lr\": 0.1" more   \
    "}"

/* A hostile training.json: settings that no training can have are refused
 * before anything starts. */
Test(settings, refuses_invalid_training_json, .init = setup, .fini = teardown)
{
    static const struct {
        const char *text, *says; /* NULL: it is good */
    } cases[] = {
        {OLD(", \"preset\": \"p\""), NULL},
        {OLD(", \"model\": \"m\""), NULL},
        {OLD(", \"preset\": \"p\", \"settings\": {\"min_lr\": 0.1}"), NULL},
        {OLD(", \"preset\": \"p\", \"settings\": {\"min_lr\": 0.5}"),
         "training.json: \"min_lr\" 0.5 is above the learning rate 0.1"},
        {OLD(", \"preset\": \"p\", \"settings\": {\"momentum\": 0.5}"), NULL},
        {OLD(""), "exactly one of preset, config and model"},
        {OLD(", \"preset\": \"p\", \"model\": \"m\""), "exactly one of preset"},
        {OLD(", \"preset\": \"p\", \"objective\": \"x\""), "objective \"x\""},
        {OLD(", \"model\": \"m\", \"objective\": \"masked-patch\""),
         "training from scratch"},
        {OLD(", \"preset\": \"p\", \"precision\": \"int8\""), "int8"},
        {OLD(", \"preset\": \"p\", \"precision\": \"f8\""), "\"f8\""},
        {OLD(", \"preset\": \"p\", \"random_state\": 9007199254740992"),
         "must be a whole number"},
        {OLD(", \"preset\": \"p\", \"settings\": {\"colour\": 1}"), "colour"},
        {OLD(", \"preset\": \"p\", \"settings\": {\"schedule\": \"steep\"}"),
         "steep"},
        {OLD(", \"preset\": \"p\", \"height\": 4294967296"),
         "\"height\" must be a whole number"},
        {OLD(", \"preset\": \"p\", \"freeze\": \"head\""), "list of patterns"},
        {OLD(", \"preset\": \"p\", \"freeze\": [1]"), "list of patterns"},
        {OLD(", \"preset\": \"p\", \"freeze\": [1, \"x\"]"),
         "list of patterns"},
        {OLD(", \"preset\": \"p\", \"freeze\": [\"x\", \"y\"]"), NULL},
        {OLD(", \"preset\": \"p\", \"settings\": {\"warmup_steps\": "
             "2147483647}"),
         NULL},
        {OLD(", \"preset\": \"p\", \"settings\": {\"warmup_steps\": "
             "2147483648}"),
         "\"warmup_steps\" must be a whole number"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1, \"batch\": 4, \"micro\": 4, \"lr\": 0.1}",
         "required settings are missing"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"epochs\": 1, \"batch\": 4, \"micro\": 4, \"lr\": 0.1}",
         "required settings are missing"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1, \"batch\": 4, \"micro\": 3, \"lr\": 0.1}",
         "4 pictures cannot be split into equal parts of 3"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"heavy\", "
         "\"epochs\": 1, \"batch\": 4, \"micro\": 4, \"lr\": 0.1}",
         "\"heavy\""},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1000001, \"batch\": 4, \"micro\": 4, \"lr\": 0.1}",
         "epochs must be at most 1000000"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1, \"batch\": 65537, \"micro\": 65537, \"lr\": 0.1}",
         "batch must be at most 65536"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1, \"batch\": 4, \"micro\": 4, \"lr\": 1e6}",
         "below 1e+06"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1, \"batch\": 4, \"micro\": 4, \"lr\": -1}",
         "lr"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"batch\": 4, \"micro\": 4, \"lr\": 0.1}",
         "required settings are missing"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1, \"batch\": 4, \"lr\": 0.1}",
         "required settings are missing"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"data\": \"d\", "
         "\"augment\": \"light\", "
         "\"epochs\": 1, \"batch\": 4, \"micro\": 4}",
         "required settings are missing"},
        {"{\"format\": \"vitcl-training\", \"preset\": \"p\", \"epochs\": "
         "\"one\"}",
         "\"epochs\" must be a whole number"},
        {"{\"format\": \"vitcl-training\"}", "required settings are missing"}};

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        vt_settings s = {0};
        const vitcl_status st = load(&s, cases[i].text);

        if (!cases[i].says) {
            cr_expect_eq(st, VITCL_OK, "%s: %s", cases[i].text, vt_message());
        } else {
            cr_expect_eq(st, VITCL_ECORRUPT, "%s", cases[i].text);
            cr_expect(strstr(vt_message(), "/training.json: ") &&
                          strstr(vt_message(), cases[i].says),
                      "%s: %s", cases[i].text, vt_message());
            cr_expect_null(s.json);
        }
        vt_settings_free(&s);
    }
}

static vitcl_status resume(vt_settings *s, const char *preset,
                           const char *moved)
{
    const vitcl_train_options o = {
        .preset = preset, .data = moved, .output = root};

    return vt_settings_load(s, &o);
}

/* Data may have moved since; what makes the model must agree. */
Test(settings, given_again, .init = setup, .fini = teardown)
{
    vt_settings s = {0};

    cr_expect_eq(resume(&s, NULL, NULL), VITCL_EIO);
    cr_expect(strstr(vt_message(), "no training to resume"), "%s",
              vt_message());
    vt_test_text(root, "training.json", OLD(", \"preset\": \"p\""));
    cr_expect_eq(resume(&s, "p", "elsewhere"), VITCL_OK, "%s", vt_message());
    cr_expect_str_eq(s.o.data, "d");
    vt_settings_free(&s);
    cr_expect_eq(resume(&s, "q", "d"), VITCL_EINVAL);
    cr_expect(
        strstr(vt_message(), "began with preset \"p\", which cannot become "),
        "%s", vt_message());
    cr_expect_null(s.json);
}

/* A caller of the library that leaves out what no training can do without. */
Test(settings, need_data_and_a_folder, .init = setup, .fini = teardown)
{
    for (int i = 0; i < 2; i++) {
        const vitcl_train_options o = {
            .preset = "p", .data = i ? root : NULL, .output = i ? NULL : root};
        vt_settings s = {0};

        cr_expect_eq(vt_settings_new(&s, &o, data), VITCL_EINVAL);
        cr_expect_str_eq(vt_message(),
                         "training needs data and an output folder");
        cr_expect_null(s.json);
    }
}
