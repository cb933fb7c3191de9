/*
 * test_preprocess.c - resize and crop against pixels from timm, transformers
 * and Pillow, and all forms of their configs.
 */
#include "base/file.h"
#include "base/memory.h"
#include "image/image.h"
#include "models/family.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <string.h>

static bool load(vt_picture *out, const char *path, bool on_white)
{
    vt_file f = {0};
    bool ok = vt_file_read(&f, path, 1 << 30) == VITCL_OK &&
              (on_white ? vt_image_decode_on_white : vt_image_decode)(
                  out, f.data, f.size, path) == VITCL_OK;

    cr_expect(ok, "%s: %s", path, ok ? "" : vt_message());
    vt_file_close(&f);
    return ok;
}

/* The picture PICTURES/<stem>.* */
static bool find_source(char *out, size_t size, const char *pictures,
                        const char *png)
{
    size_t n = strlen(png) - strlen(".png");
    DIR *d = opendir(pictures);
    bool found = false;

    for (struct dirent *e; d && !found && (e = readdir(d));)
        if (strncmp(e->d_name, png, n) == 0 && e->d_name[n] == '.') {
            snprintf(out, size, "%s/%s", pictures, e->d_name);
            found = true;
        }
    if (d)
        closedir(d);
    return found;
}

/* The expected picture's own size is what the model reads. */
static vitcl_status configure(vt_preprocess *how, const char *folder,
                              const vt_picture *want)
{
    char path[2048];
    vt_json *json = NULL;
    vitcl_status st;
    bool hf;

    snprintf(path, sizeof path, "%s/preprocessor_config.json", folder);
    hf = vt_have(path);
    if (!hf)
        snprintf(path, sizeof path, "%s/config.json", folder);
    VT_TRY(vt_json_load(&json, path, 1 << 20, 8));
    VT_TRY(hf ? vt_preprocess_hf(how, json, VT_PROCESSORS("ViT"), want->height,
                                 want->width, path)
              : vt_preprocess_timm(how, json, want->height, want->width, path));
done:
    vt_json_free(json);
    return st;
}

static bool same_case(const char *folder, const char *pictures, const char *png)
{
    vt_picture in = {0}, want = {0}, got = {0};
    vt_preprocess how = {0};
    char path[2048];
    bool same = false;

    snprintf(path, sizeof path, "%s/%s", folder, png);
    if (!load(&want, path, false) ||
        !find_source(path, sizeof path, pictures, png))
        goto done;
    if (configure(&how, folder, &want) != VITCL_OK ||
        !load(&in, path, how.on_white) ||
        vt_prepare(&got, &in, &how) != VITCL_OK) {
        cr_expect(false, "%s %s: %s", folder, png, vt_message());
        goto done;
    }
    same = got.width == want.width && got.height == want.height &&
           memcmp(got.rgb, want.rgb, (size_t)got.width * got.height * 3) == 0;
    cr_expect(same, "%s %s: other pixels", folder, png);
done:
    vt_picture_free(&in);
    vt_picture_free(&want);
    vt_picture_free(&got);
    return same;
}

/* Every ROOT/<config>/<picture>.png; returns how many were equal. */
static int run_cases(const char *root, const char *pictures)
{
    DIR *d = opendir(root);
    int same = 0;

    cr_assert(d, "%s", root);
    for (struct dirent *e; (e = readdir(d));) {
        char folder[800];
        DIR *f;

        if (e->d_name[0] == '.')
            continue;
        snprintf(folder, sizeof folder, "%s/%s", root, e->d_name);
        f = opendir(folder);
        for (struct dirent *p; f && (p = readdir(f));)
            if (strstr(p->d_name, ".png"))
                same += same_case(folder, pictures, p->d_name);
        if (f)
            closedir(f);
    }
    closedir(d);
    return same;
}

Test(preprocess, pixels)
{
    int n = run_cases(VT_DATA "/preprocess/cases", VT_DATA "/preprocess/in");

    cr_expect_geq(n, 70, "only %d of the small cases", n);
}

static void run_published(const char *golden, const char *pictures, int want)
{
    char cases[512], in[512];

    vt_test_data(cases, golden);
    vt_test_data(in, pictures);
    const int n = run_cases(cases, in);
    cr_expect_eq(n, want, "%d of %d", n, want);
}

Test(preprocess, published)
{
    run_published("golden_preprocess", "pictures/preprocess", 143);
}

Test(preprocess, transparency)
{
    run_published("golden_transparency", "pictures/transparency", 44);
}

/* ---- configs ------------------------------------------------------------ */

static vitcl_status parse(vt_preprocess *how, const char *text,
                          const char *model, uint32_t height, uint32_t width)
{
    vt_json *json = NULL;
    vitcl_status st = vt_json_parse(&json, text, strlen(text), 8, "config");

    cr_assert_eq(st, VITCL_OK, "%s", text);
    st = model ? vt_preprocess_hf(how, json, VT_PROCESSORS(model), height,
                                  width, "config")
               : vt_preprocess_timm(how, json, height, width, "config");
    vt_json_free(json);
    return st;
}

typedef struct spelling {
    const char *text, *model;
    uint32_t height, width;
    vt_fit fit;
    vt_crop crop;
    vt_filter filter;
    uint32_t resize_height, resize_width;
} spelling;

static const spelling spellings[] = {
    /* HF: bare numbers, lists, old names, missing keys */
    {"{\"size\":224,\"resample\":2,\"feature_extractor_type\":"
     "\"ViTFeatureExtractor\",\"do_normalize\":true}",
     "ViT", 224, 224, VT_FIT_SQUASH, VT_CROP_NONE, VT_BILINEAR, 224, 224},
    {"{\"size\":224,\"crop_size\":224,\"resample\":3,\"do_center_crop\":true,"
     "\"feature_extractor_type\":\"CLIPFeatureExtractor\"}",
     "CLIP", 224, 224, VT_FIT_SHORTEST, VT_CROP_HF, VT_BICUBIC, 224, 224},
    {"{\"size\":256,\"crop_size\":224,\"do_center_crop\":true,\"resample\":3,"
     "\"feature_extractor_type\":\"DeiTFeatureExtractor\"}",
     "DeiT", 224, 224, VT_FIT_SQUASH, VT_CROP_HF, VT_BICUBIC, 256, 256},
    {"{\"size\":256,\"crop_size\":224}", "Bit", 224, 224, VT_FIT_SHORTEST,
     VT_CROP_HF, VT_BICUBIC, 256, 256},
    {"{\"size\":[192,256]}", "ViT", 192, 256, VT_FIT_SQUASH, VT_CROP_NONE,
     VT_BILINEAR, 192, 256},
    {"{\"size\":{\"height\":384,\"width\":384}}", "Siglip", 384, 384,
     VT_FIT_SQUASH, VT_CROP_NONE, VT_BICUBIC, 384, 384},
    {"{\"do_resize\":false,\"do_center_crop\":true}", "ViT", 224, 224,
     VT_FIT_NONE, VT_CROP_HF, VT_BILINEAR, 224, 224},
    {"{\"do_pad\":false,\"pad_size\":null,\"do_convert_rgb\":true,"
     "\"processor_class\":\"CLIPProcessor\",\"image_processor_type\":"
     "\"CLIPImageProcessorFast\"}",
     "x", 224, 224, VT_FIT_SHORTEST, VT_CROP_HF, VT_BICUBIC, 224, 224},
    /* HF, another size than trained: all scales along */
    {"{\"size\":{\"shortest_edge\":256},\"crop_size\":{\"height\":224,"
     "\"width\":224}}",
     "Bit", 448, 448, VT_FIT_SHORTEST, VT_CROP_HF, VT_BICUBIC, 512, 512},
    {"{\"size\":{\"height\":224,\"width\":224}}", "ViT", 384, 384,
     VT_FIT_SQUASH, VT_CROP_NONE, VT_BILINEAR, 384, 384},
    {"{\"size\":256,\"crop_size\":224}", "DeiT", 384, 384, VT_FIT_SQUASH,
     VT_CROP_HF, VT_BICUBIC, 438, 438},
    /* one number in a list is the shorter side where a bare number is; two are
     * both sides */
    {"{\"size\":[256]}", "Bit", 224, 224, VT_FIT_SHORTEST, VT_CROP_HF,
     VT_BICUBIC, 256, 256},
    {"{\"size\":[240,256]}", "Bit", 224, 224, VT_FIT_SQUASH, VT_CROP_HF,
     VT_BICUBIC, 240, 256},
    {"{\"size\":[192]}", "ViT", 192, 192, VT_FIT_SQUASH, VT_CROP_NONE,
     VT_BILINEAR, 192, 192},
    /* a bare number is what default_to_square or the processor's class says */
    {"{\"size\":256,\"default_to_square\":false,\"do_center_crop\":true,"
     "\"crop_size\":224}",
     "ViT", 224, 224, VT_FIT_SHORTEST, VT_CROP_HF, VT_BILINEAR, 256, 256},
    {"{\"size\":224,\"default_to_square\":true}", "CLIP", 224, 224,
     VT_FIT_SQUASH, VT_CROP_HF, VT_BICUBIC, 224, 224},
    {"{\"size\":256,\"default_to_square\":null,\"do_center_crop\":true}", "ViT",
     224, 224, VT_FIT_SHORTEST, VT_CROP_HF, VT_BILINEAR, 256, 256},
    {"{\"do_center_crop\":null}", "DeiT", 256, 256, VT_FIT_SQUASH, VT_CROP_NONE,
     VT_BICUBIC, 256, 256},
    {"{\"do_resize\":null}", "CLIP", 224, 224, VT_FIT_NONE, VT_CROP_HF,
     VT_BICUBIC, 224, 224},
    {"{\"size\":224,\"default_to_square\":null}", "CLIP", 224, 224,
     VT_FIT_SHORTEST, VT_CROP_HF, VT_BICUBIC, 224, 224},
    {"{\"size\":384}", "Siglip", 384, 384, VT_FIT_SHORTEST, VT_CROP_NONE,
     VT_BICUBIC, 384, 384},
    {"{\"default_to_square\":true,\"size\":384}", "Siglip", 384, 384,
     VT_FIT_SQUASH, VT_CROP_NONE, VT_BICUBIC, 384, 384},
    {"{\"default_to_square\":false}", "Siglip", 224, 224, VT_FIT_SQUASH,
     VT_CROP_NONE, VT_BICUBIC, 224, 224},
    {"{\"default_to_square\":false,\"size\":{\"height\":96,\"width\":96}}",
     "ViT", 96, 96, VT_FIT_SQUASH, VT_CROP_NONE, VT_BILINEAR, 96, 96},
    {"{\"size\":null,\"crop_size\":null,\"resample\":null}", "CLIP", 224, 224,
     VT_FIT_SHORTEST, VT_CROP_HF, VT_BICUBIC, 224, 224},
    {"{\"size\":{\"shortest_edge\":null,\"height\":96,\"width\":128}}", "ViT",
     96, 128, VT_FIT_SQUASH, VT_CROP_NONE, VT_BILINEAR, 96, 128},
    /* timm */
    {"{\"pretrained_cfg\":null,\"input_size\":null,\"crop_pct\":20}", NULL, 20,
     224, VT_FIT_SHORTEST, VT_CROP_TORCHVISION, VT_BICUBIC, 1, 11},
    {"{\"pretrained_cfg\":{\"crop_pct\":0.9,\"interpolation\":\"bicubic\"}}",
     NULL, 224, 224, VT_FIT_SHORTEST, VT_CROP_TORCHVISION, VT_BICUBIC, 248,
     248},
    {"{\"pretrained_cfg\":{\"crop_pct\":0.9}}", NULL, 384, 384, VT_FIT_SHORTEST,
     VT_CROP_TORCHVISION, VT_BICUBIC, 426, 426},
    {"{\"pretrained_cfg\":{}}", NULL, 224, 224, VT_FIT_SHORTEST,
     VT_CROP_TORCHVISION, VT_BICUBIC, 256, 256},
    {"{\"architecture\":\"x\",\"crop_pct\":1.0,\"crop_mode\":\"squash\","
     "\"interpolation\":\"bilinear\",\"global_pool\":\"token\"}",
     NULL, 224, 160, VT_FIT_SQUASH, VT_CROP_TORCHVISION, VT_BILINEAR, 224, 160},
};

Test(preprocess, spellings)
{
    for (size_t i = 0; i < VT_COUNT(spellings); i++) {
        const spelling *s = &spellings[i];
        vt_preprocess p = {0};
        vitcl_status st = parse(&p, s->text, s->model, s->height, s->width);

        cr_expect_eq(st, VITCL_OK, "%s: %s", s->text, vt_message());
        cr_expect(p.fit == s->fit && p.crop == s->crop && p.filter == s->filter,
                  "%s: fit %d crop %d filter %d", s->text, p.fit, p.crop,
                  p.filter);
        cr_expect(p.resize_height == s->resize_height &&
                      p.resize_width == s->resize_width,
                  "%s: resize to %ux%u", s->text, p.resize_height,
                  p.resize_width);
        cr_expect(p.height == s->height && p.width == s->width, "%s", s->text);
    }
}

Test(preprocess, numbers)
{
    vt_preprocess p = {0};

    cr_expect_eq(parse(&p, "{}", "ViT", 224, 224), VITCL_OK);
    cr_expect_float_eq(p.scale, 1.0 / 255, 1e-9); /* rescale_factor missing */
    cr_expect_float_eq(p.mean[0], 0.5, 1e-9);
    cr_expect_eq(parse(&p, "{\"do_rescale\":false,\"do_normalize\":false}",
                       "ViT", 224, 224),
                 VITCL_OK);
    cr_expect(p.scale == 1 && p.mean[1] == 0 && p.std[2] == 1);
    cr_expect_eq(parse(&p, "{\"do_rescale\":null,\"do_convert_rgb\":null}",
                       "CLIP", 224, 224),
                 VITCL_OK);
    cr_expect(p.scale == 1 && p.mean[1] == 0.4578275f && !p.on_white);
    cr_expect_eq(parse(&p,
                       "{\"image_mean\":[0.1,0.2,0.3],\"image_std\":[1,2,3],"
                       "\"rescale_factor\":0.5}",
                       "CLIP", 224, 224),
                 VITCL_OK);
    cr_expect(p.scale == 0.5f && p.mean[2] == 0.3f && p.std[1] == 2);
    cr_expect_eq(parse(&p, "{\"pretrained_cfg\":{\"crop_mode\":\"border\"}}",
                       NULL, 224, 224),
                 VITCL_OK);
    cr_expect(p.fill[0] == 124 && p.fill[1] == 116 && p.fill[2] == 104);
    cr_expect_float_eq(p.std[0], 0.229, 1e-6);
    /* timm: int(round(255 * v)) between 0 and 255 */
    cr_expect_eq(parse(&p,
                       "{\"crop_mode\":\"border\",\"mean\":[-0.1,0.5,1.5],"
                       "\"std\":[0.25]}",
                       NULL, 224, 224),
                 VITCL_OK);
    cr_expect(p.fill[0] == 0 && p.fill[1] == 128 && p.fill[2] == 255);
    cr_expect(p.std[0] == 0.25f && p.std[1] == 0.25f && p.std[2] == 0.25f);
    /* in double, where 255 * .3 and 255 * .9 are ties, and to even */
    cr_expect_eq(parse(&p, "{\"crop_mode\":\"border\",\"mean\":[0.3,0.9,0.7]}",
                       NULL, 224, 224),
                 VITCL_OK);
    cr_expect(p.fill[0] == 76 && p.fill[1] == 230 && p.fill[2] == 178,
              "%u %u %u", p.fill[0], p.fill[1], p.fill[2]);
    cr_expect_eq(parse(&p, "{\"rescale_factor\":999999,\"image_mean\":0.25}",
                       "ViT", 224, 224),
                 VITCL_OK);
    cr_expect(p.scale == 999999 && p.mean[0] == 0.25f && p.mean[2] == 0.25f);
    vt_preprocess_default(&p, 32, 48);
    cr_expect(p.resize_height == 32 && p.resize_width == 48 &&
              p.fit == VT_FIT_SQUASH && p.std[0] == 0.5f);
}

Test(preprocess, refused)
{
    static const struct {
        const char *text, *model, *word;
    } cases[] = {
        {"{\"do_flip_channel_order\":true}", "ViT", "do_flip_channel_order"},
        {"{\"do_pad\":true}", "ViT", "do_pad"},
        {"{\"device\":\"cuda\"}", "ViT", "device"},
        {"{\"device\":false}", "ViT", "device"},
        {"{\"crop_pct\":0.875}", "ViT", "crop_pct"},
        {"{\"image_processor_type\":\"LevitImageProcessor\"}", "ViT", "Levit"},
        {"{\"size\":{\"shortest_edge\":224,\"longest_edge\":300}}", "CLIP",
         "longest_edge"},
        {"{\"size\":{\"height\":224}}", "ViT", "size"},
        {"{\"size\":0}", "ViT", "size"},
        {"{\"size\":-1}", "ViT", "size"},
        {"{\"size\":99999}", "ViT", "size"},
        {"{\"size\":[1,2,3]}", "ViT", "size"},
        {"{\"resample\":6}", "ViT", "resample"},
        {"{\"resample\":\"bicubic\"}", "ViT", "resample"},
        {"{\"do_resize\":1}", "ViT", "do_resize"},
        {"{\"image_mean\":[1,2]}", "ViT", "image_mean"},
        {"{\"image_std\":[1,0,1]}", "ViT", "image_std"},
        {"{\"rescale_factor\":-1}", "ViT", "rescale_factor"},
        {"{\"pretrained_cfg\":{\"gamma\":2}}", NULL, "gamma"},
        {"{\"pretrained_cfg\":{\"global_pool\":\"avg\"}}", NULL, "global_pool"},
        {"{\"pretrained_cfg\":{\"crop_pct\":0}}", NULL, "crop_pct"},
        {"{\"pretrained_cfg\":{\"crop_pct\":1e-300}}", NULL, "crop_pct"},
        {"{\"pretrained_cfg\":{\"crop_mode\":\"random\"}}", NULL, "crop_mode"},
        {"{\"pretrained_cfg\":{\"interpolation\":\"random\"}}", NULL,
         "interpolation"},
        {"{\"pretrained_cfg\":{\"input_size\":[4,224,224]}}", NULL,
         "input_size"},
        {"{\"pretrained_cfg\":{\"std\":[0,0,0]}}", NULL, "std"},
        {"{\"pretrained_cfg\":{\"input_size\":224}}", NULL, "input_size"},
        {"{\"pretrained_cfg\":{\"input_size\":[3,224]}}", NULL, "input_size"},
        {"{\"input_size\":[\"3\",224,224]}", NULL, "input_size"},
        {"{\"input_size\":[3,0,224]}", NULL, "input_size"},
        {"{\"input_size\":[3,224,16385]}", NULL, "input_size"},
        {"{\"interpolation\":3}", NULL, "interpolation"},
        {"{\"crop_mode\":3}", NULL, "crop_mode"},
        {"{\"crop_pct\":20.5}", NULL, "crop_pct"},
        {"{\"crop_pct\":\"1\"}", NULL, "crop_pct"},
        {"{\"mean\":[0.5,0.5,1e6]}", NULL, "mean"},
        {"{\"mean\":[]}", NULL, "mean"},
        {"{\"mean\":\"0.5\"}", NULL, "mean"},
        {"{\"image_processor_type\":\"ViTProcessor\"}", "ViT", "ViTProcessor"},
        {"{\"feature_extractor_type\":\"Vi\"}", "ViT", "\"Vi\""},
        {"{\"size\":{\"shortest_edge\":224,\"height\":224}}", "CLIP", "size"},
        {"{\"size\":{\"shortest_edge\":0}}", "CLIP", "size"},
        {"{\"size\":{\"height\":224,\"width\":0}}", "ViT", "size"},
        {"{\"size\":[224,0]}", "ViT", "size"},
        {"{\"size\":[]}", "ViT", "size"},
        {"{\"crop_size\":[0,224]}", "ViT", "crop_size"},
        {"{\"rescale_factor\":1e6}", "ViT", "rescale_factor"},
        {"{\"do_rescale\":0}", "ViT", "do_rescale"},
        {"{\"do_normalize\":\"no\"}", "ViT", "do_normalize"},
        {"{\"do_center_crop\":1}", "ViT", "do_center_crop"},
        {"{\"do_convert_rgb\":1}", "ViT", "do_convert_rgb"},
        {"{\"default_to_square\":1}", "ViT", "default_to_square"},
        {"{\"crop_size\":{\"shortest_edge\":224}}", "CLIP", "crop_size"},
        {"{\"vitcl_pixels\":\"cairo\"}", NULL, "vitcl_pixels"},
        {"[]", "ViT", "not an object"},
        {"{}", "resnet", "resnet"},
    };

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        vt_preprocess p = {0};
        vitcl_status st = parse(&p, cases[i].text, cases[i].model, 224, 224);

        cr_expect_neq(st, VITCL_OK, "%s", cases[i].text);
        cr_expect(strstr(vt_message(), cases[i].word), "%s: %s", cases[i].text,
                  vt_message());
    }
}

/* Whose resize a checkpoint gets by its files. */
Test(preprocess, libraries)
{
    static const struct {
        const char *processor, *config;
        bool joined, torchvision;
    } cases[] = {
        {NULL, NULL, false, false},
        {"{}", "{}", false, false},
        {"{\"image_processor_type\":\"ViTImageProcessorFast\"}", NULL, false,
         true},
        {"{\"image_processor_type\":\"ViTImageProcessor\"}", NULL, false,
         false},
        {"{\"image_processor_type\":\"ViTImageProcessor\"}",
         "{\"transformers_version\":\"4.57.1\"}", false, false},
        {"{\"image_processor_type\":\"ViTImageProcessor\"}",
         "{\"transformers_version\":\"5.0.0.dev0\"}", false, true},
        {"{\"image_processor_type\":\"ViTImageProcessor\"}",
         "{\"transformers_version\":\"10.1\"}", false, true},
        {"{\"image_processor_type\":\"ViTImageProcessorPil\"}",
         "{\"transformers_version\":\"5.24.0\"}", false, false},
        {"{\"image_processor_type\":\"ViTImageProcessorFast\"}",
         "{\"transformers_version\":\"4.57.1\"}", false, true},
        {"{\"feature_extractor_type\":\"ViTFeatureExtractor\"}",
         "{\"transformers_version\":\"5.24.0\"}", false, false},
        {"{\"feature_extractor_type\":\"x\",\"image_processor_type\":\"y\"}",
         "{\"transformers_version\":\"5.24.0\"}", false, true},
        {"{\"transformers_version\":\"4.1\"}",
         "{\"transformers_version\":\"5.24.0\"}", false, false},
        {"{\"transformers_version\":\"5.1\"}", "{}", false, true},
        {"{\"image_processor_type\":\"CLIPImageProcessor\"}",
         "{\"transformers_version\":\"4.4\"}", true, true},
        {"{\"image_processor_type\":\"CLIPImageProcessorPil\"}", NULL, true,
         false},
        {NULL, "{\"transformers_version\":\"5.24.0\"}", false, true},
        {"{\"image_processor_type\":7}", "{\"transformers_version\":5}", false,
         false},
    };

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        vt_json *json[2] = {NULL};
        const char *text[2] = {cases[i].processor, cases[i].config};

        for (int k = 0; k < 2; k++)
            cr_assert(!text[k] ||
                      vt_json_parse(&json[k], text[k], strlen(text[k]), 4,
                                    "x") == VITCL_OK);
        cr_expect_eq(vt_hf_pixels(json[0], cases[i].joined, json[1]),
                     cases[i].torchvision ? VT_PIXELS_TORCHVISION
                                          : VT_PIXELS_PILLOW,
                     "case %zu", i);
        vt_json_free(json[0]);
        vt_json_free(json[1]);
    }
}

/* A one-pixel-high picture would be resized to millions of pixels; only the
 * crop may be computed. A crop larger than the picture is an error. */
Test(preprocess, extremes)
{
    uint8_t line[3 * 60000] = {1, 2, 3};
    vt_picture in = {60000, 1, line}, out = {0};
    vt_preprocess p = {0};

    cr_expect_eq(parse(&p, "{}", NULL, 224, 224), VITCL_OK);
    cr_expect_eq(vt_prepare(&out, &in, &p), VITCL_OK, "%s", vt_message());
    cr_expect(out.width == 224 && out.height == 224);
    vt_picture_free(&out);
    in.width = 1, in.height = 60000;
    cr_expect_eq(vt_prepare(&out, &in, &p), VITCL_OK, "%s", vt_message());
    vt_picture_free(&out);
    cr_expect_eq(parse(&p, "{\"pretrained_cfg\":{\"crop_mode\":\"border\"}}",
                       NULL, 224, 224),
                 VITCL_OK);
    cr_expect_neq(vt_prepare(&out, &in, &p), VITCL_OK);
    cr_expect_eq(parse(&p, "{\"do_resize\":false}", "ViT", 224, 224), VITCL_OK);
    cr_expect_neq(vt_prepare(&out, &in, &p), VITCL_OK);
    cr_expect_null(out.rgb);
}

/* What a model reads is bounded before anything is computed from it. */
Test(preprocess, target)
{
    static const struct {
        uint32_t height, width;
        const char *crop; /* crop_pct; NULL: good */
    } cases[] = {
        {1, 1, "1"},        {16384, 16384, "1"}, {0, 224, NULL}, {224, 0, NULL},
        {16385, 224, NULL}, {224, 16385, NULL},  {20, 20, "20"},
    };
    vt_preprocess p = {0};
    char text[64], size[32];

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        const uint32_t h = cases[i].height, w = cases[i].width;
        const vitcl_status want = cases[i].crop ? VITCL_OK : VITCL_EINVAL;

        snprintf(text, sizeof text, "{\"crop_pct\":%s}",
                 cases[i].crop ? cases[i].crop : "1");
        snprintf(size, sizeof size, "%ux%u pixels", w, h);
        cr_expect_eq(parse(&p, text, NULL, h, w), want, "%s", size);
        cr_expect(want == VITCL_OK || strstr(vt_message(), size), "%s",
                  vt_message());
        cr_expect_eq(parse(&p, "{}", "ViT", h, w), want, "%s", size);
    }
    /* a crop of more than the picture: nothing would be left to resize to */
    cr_expect_eq(parse(&p, "{\"crop_pct\":20}", NULL, 19, 224), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "crop_pct"), "%s", vt_message());
    cr_expect_eq(parse(&p, "{\"crop_pct\":20}", NULL, 224, 19), VITCL_ECORRUPT);
}

/* The size that a processor alone gives to every picture. */
Test(preprocess, a_processors_size)
{
    static const struct {
        const char *text;
        uint32_t height, width; /* 0: pictures differ */
    } cases[] = {
        {"{}", 224, 224},
        {"{\"crop_size\":{\"height\":96,\"width\":128}}", 96, 128},
        {"{\"do_center_crop\":false,\"size\":{\"height\":96,\"width\":128}}",
         96, 128},
        {"{\"do_center_crop\":false,\"size\":{\"shortest_edge\":96}}", 0, 0},
        {"{\"do_center_crop\":false,\"do_resize\":false,\"size\":[96,96]}", 0,
         0},
    };

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        const char *text = cases[i].text;
        uint32_t h = 0, w = 0;
        vt_json *json = NULL;
        vitcl_status st;

        cr_assert_eq(vt_json_parse(&json, text, strlen(text), 8, "x"),
                     VITCL_OK);
        st = vt_preprocess_hf_size(&h, &w, json, VT_PROCESSORS("Bit"), "x");
        cr_expect_eq(st, cases[i].height ? VITCL_OK : VITCL_EUNSUPPORTED,
                     "%s: %s", text, vt_message());
        cr_expect(h == cases[i].height && w == cases[i].width, "%s: %ux%u",
                  text, h, w);
        if (st != VITCL_OK)
            cr_expect(strstr(vt_message(), "x: the preprocessor does not make "
                                           "pictures of one size"),
                      "%s", vt_message());
        vt_json_free(json);
    }
}

/* As timm's get_image_size_for_seq() and transformers'
 * get_image_size_for_max_num_patches(), which agree: height, width, patch,
 * most; rows, columns. */
Test(preprocess, patches)
{
    static const uint32_t cases[][6] = {
        {10, 218, 14, 256, 3, 66},      {71, 11016, 14, 256, 1, 156},
        {16594, 3, 8, 2, 2, 1},         {20, 1667, 14, 2, 1, 2},
        {10, 2, 14, 256, 35, 7},        {4, 14, 8, 9, 2, 4},
        {1323, 35, 14, 1024, 189, 5},   {124, 194, 14, 64, 6, 10},
        {5741, 10267, 16, 256, 12, 21}, {1, 199, 14, 2, 1, 2},
        {3294, 12302, 8, 1024, 17, 60}, {1, 1, 16, 1, 1, 1},
        {65500, 65500, 16, 1, 1, 1},
    };

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        const uint32_t *c = cases[i];
        uint32_t rows = 0, columns = 0;

        vt_patches_fit(&rows, &columns, c[0], c[1], c[2], c[3]);
        cr_expect(rows == c[4] && columns == c[5], "%ux%u: %ux%u, not %ux%u",
                  c[0], c[1], rows, columns, c[4], c[5]);
    }
}

/* A prepared picture says its grid; other bytes are no grid. That of many
 * patches has more rows of pixels than any other picture may have. */
Test(preprocess, grid_of_patches)
{
    vt_preprocess how = {.filter = VT_BILINEAR};
    uint8_t rgb[30 * 20 * 3];
    const vt_picture in = {.width = 30, .height = 20, .rgb = rgb};
    vt_picture out = {0};
    uint32_t rows = 0, columns = 0;

    memset(rgb, 7, sizeof rgb);
    vt_preprocess_any(&how, 8, 12);
    cr_assert_eq(vt_prepare(&out, &in, &how), VITCL_OK, "%s", vt_message());
    cr_expect(out.width == how.width && out.height == how.height);
    cr_expect(vt_patches_grid(&rows, &columns, out.rgb, &how));
    cr_expect(rows == 3 && columns == 4, "%ux%u", rows, columns);
    cr_expect_eq(out.rgb[0], 7);
    cr_expect_eq(out.rgb[(size_t)3 * 8 * 4 * 8 * 3 - 1], 7);
    memset(out.rgb, 0, (size_t)out.width * out.height * 3);
    cr_expect_not(vt_patches_grid(&rows, &columns, out.rgb, &how));
    memset(out.rgb, 0xff, (size_t)out.width * out.height * 3);
    cr_expect_not(vt_patches_grid(&rows, &columns, out.rgb, &how));
    vt_picture_free(&out);
    vt_preprocess_any(&how, 16, 16384);
    cr_assert_eq(vt_prepare(&out, &in, &how), VITCL_OK, "%s", vt_message());
    cr_expect(vt_patches_grid(&rows, &columns, out.rgb, &how));
    cr_expect(rows == 104 && columns == 156, "%ux%u", rows, columns);
    vt_picture_free(&out);
}
