/*
 * table_6.c - the cost of the paper's models, by arithmetic.
 *
 * exaFLOPs = 6 * multiply-accumulates of a picture * pictures * epochs: two
 * operations each, and a training does them three times (forward, and two
 * products backward). JFT-300M has 303 million pictures; the head is left out.
 *
 * Easy to get wrong: a 3x3 convolution at the edge multiplies with padding. A
 * device does that, and so it is part of GMAC, but XLA's cost analysis, which
 * the paper's numbers come close to, counts only positions inside of the
 * picture (HloCostAnalysis::HandleConvolution).
 */
#include "study/table_6.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"

#include <string.h>

static const double jft = 303e6;
enum { SIDE = 224, JSON_MOST = 1 << 16 };

#define R50 {3, 4, 6, 3}, 1
#define R50_EXTENDED {3, 4, 9, 0}, 1
static const vt_cost_row table[VT_TABLE_6] = {
    {"ViT-B/32", "vit-b/32", 7, 55, {0}, 0, 0, 0, 0, 0, 0},
    {"ViT-B/16", "vit-b/16", 7, 224, {0}, 0, 0, 0, 0, 0, 0},
    {"ViT-L/32", "vit-l/32", 7, 196, {0}, 0, 0, 0, 0, 0, 0},
    {"ViT-L/16", "vit-l/16", 7, 783, {0}, 0, 0, 0, 0, 0, 0},
    {"ViT-L/16", "vit-l/16", 14, 1567, {0}, 0, 0, 0, 0, 0, 0},
    {"ViT-H/14", "vit-h/14", 14, 4262, {0}, 0, 0, 0, 0, 0, 0},
    {"ResNet50x1", "resnet50x1", 7, 50, R50, 0, 0, 0, 0, 0},
    {"ResNet50x2", "resnet50x2", 7, 199, {3, 4, 6, 3}, 2, 0, 0, 0, 0, 0},
    {"ResNet101x1", "resnet101x1", 7, 96, {3, 4, 23, 3}, 1, 0, 0, 0, 0, 0},
    {"ResNet152x1", "resnet152x1", 7, 141, {3, 8, 36, 3}, 1, 0, 0, 0, 0, 0},
    {"ResNet152x2", "resnet152x2", 7, 563, {3, 8, 36, 3}, 2, 0, 0, 0, 0, 0},
    {"ResNet152x2", "resnet152x2", 14, 1126, {3, 8, 36, 3}, 2, 0, 0, 0, 0, 0},
    {"ResNet200x3", "resnet200x3", 14, 3306, {3, 24, 36, 3}, 3, 0, 0, 0, 0, 0},
    {"R50x1+ViT-B/32", "r50+vit-b/32", 7, 106, R50, 0, 0, 0, 0, 0},
    {"R50x1+ViT-B/16", "r50+vit-b/16", 7, 274, R50_EXTENDED, 0, 0, 0, 0, 0},
    {"R50x1+ViT-L/32", "r50+vit-l/32", 7, 246, R50, 0, 0, 0, 0, 0},
    {"R50x1+ViT-L/16", "r50+vit-l/16", 7, 859, R50_EXTENDED, 0, 0, 0, 0, 0},
    {"R50x1+ViT-L/16", "r50+vit-l/16", 14, 1668, R50_EXTENDED, 0, 0, 0, 0, 0}};

/* Along one axis of n pixels: how many of kernel * outputs positions of a
 * convolution with `before` pixels of padding are padding. */
static double outside(int n, int kernel, int stride, int before)
{
    const int outputs = (n + stride - 1) / stride;
    int count = 0;

    for (int i = 0; i < outputs; i++)
        for (int k = 0; k < kernel; k++) {
            const int at = i * stride + k - before;

            count += at < 0 || at >= n;
        }
    return count;
}

/* Multiply-accumulates of a convolution with its padding. */
static double wasted(int n, int kernel, int stride, double in, double out)
{
    const double outputs = (n + stride - 1) / stride;
    const double line = outputs * kernel,
                 inside = line - outside(n, kernel, stride, kernel / 2);

    return in * out * (line * line - inside * inside);
}

/* Those of all convolutions of a ResNet: the 7x7, and a 3x3 in each block. */
static double padding(const vt_cost_row *r)
{
    int side = SIDE / 4;
    double macs;

    if (!r->factor)
        return 0;
    macs = wasted(SIDE, 7, 2, 3, 64.0 * r->factor);
    for (int s = 0; s < 4; s++)
        for (int b = 0; b < r->blocks[s]; b++) {
            const double width = 64.0 * r->factor * (1 << s);
            const int stride = s && !b ? 2 : 1;

            macs += wasted(side, 3, stride, width, width);
            side /= stride;
        }
    return macs;
}

static bool read_size(vt_size *out, const vt_json *json)
{
    return vt_json_number(&out->gmac, vt_json_get(json, "gmac")) &&
           vt_json_number(&out->weights, vt_json_get(json, "weights_bytes")) &&
           vt_json_number(&out->activations,
                          vt_json_get(json, "activation_bytes")) &&
           vt_json_number(&out->tensor, vt_json_get(json, "tensor_bytes")) &&
           vt_json_uint(&out->parameters, vt_json_get(json, "parameters")) &&
           vt_json_uint(&out->width, vt_json_get(json, "width")) &&
           vt_json_uint(&out->classes, vt_json_get(json, "classes"));
}

vitcl_status vt_table_6_size(vt_size *out, const vt_experiment *e,
                             const char *preset, unsigned pixels,
                             unsigned batch)
{
    char to[VT_STUDY_PATH], messages[VT_STUDY_PATH], size[16], count[16];
    const char *const words[] = {"info",   "--preset", preset,
                                 "--size", size,       "--batch",
                                 count,    "--json",   NULL};
    vitcl_status st;
    vt_json *json = NULL;

    vt_snprint(size, sizeof size, "%u", pixels);
    vt_snprint(count, sizeof count, "%u", batch);
    VT_TRY(vt_study_path(to, e, "measure/info.json"));
    VT_TRY(vt_study_path(messages, e, "measure/messages.txt"));
    VT_TRY(vt_process_run(e, words, to, messages, "counting a model"));
    VT_TRY(vt_json_load(&json, to, JSON_MOST, 8));
    if (!read_size(out, json))
        st = vt_fail(VITCL_EIO, "%s: a number is missing", to);
done:
    vt_json_free(json);
    return st;
}

vitcl_status vt_table_6(vt_cost_row rows[VT_TABLE_6], const vt_experiment *e)
{
    memcpy(rows, table, sizeof table);
    for (size_t i = 0; i < VT_TABLE_6; i++) {
        vt_cost_row *r = &rows[i];
        const double pictures = jft * r->epochs;
        vt_size s;

        VT_RET(vt_table_6_size(&s, e, r->preset, SIDE, 1));
        r->parameters = s.parameters;
        r->memory = s.weights + s.activations;
        r->gmac = s.gmac - (double)s.width * (double)s.classes / 1e9;
        r->all = 6 * r->gmac * 1e9 * pictures / 1e18;
        r->inside = r->all - 6 * padding(r) * pictures / 1e18;
    }
    return VITCL_OK;
}
