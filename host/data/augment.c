/*
 * augment.c - crops, flips, erasing and the mixing of batches.
 */
#include "data/augment.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Pictures up to this side are small (CIFAR, MNIST): padded, then cropped. */
#define SMALL 64

bool vt_augment_named(vt_augment *out, const char *name, uint32_t height,
                      uint32_t width)
{
    bool small = VT_MIN(height, width) <= SMALL;
    vt_augment a = {.magnitude = 0.9, .mixup_prob = 1};

    if (strcmp(name, "none") != 0) {
        a.flip = strcmp(name, "crop") != 0;
        a.pad = small ? (int)VT_MIN(height, width) / 8 : 0;
        a.crop_scale = small ? 0 : 0.35;
    }
    if (strcmp(name, "full") == 0) { /* DeiT's, arXiv 2012.12877, table 9 */
        a.crop_scale = small ? 0 : 0.08;
        a.jitter = 0.3;
        a.randaugment = 2;
        a.erase = 0.25;
        a.mixup = 0.8;
        a.cutmix = 1.0;
    } else if (strcmp(name, "light") != 0 && strcmp(name, "crop") != 0 &&
               strcmp(name, "none") != 0)
        return false;
    *out = a;
    return true;
}

vitcl_status vt_augment_change(vt_augment *out, const vt_json *settings,
                               const char *name)
{
    vt_augment a = *out;
    double operations = a.randaugment;
    const vt_json *aa = vt_json_get(settings, "aa");
    const char *text = NULL;
    const struct {
        const char *key;
        double *to, high;
    } words[] = {{"color_jitter", &a.jitter, 1},  {"aa", &operations, 16},
                 {"magnitude", &a.magnitude, 1},  {"reprob", &a.erase, 1},
                 {"mixup", &a.mixup, 100},        {"cutmix", &a.cutmix, 100},
                 {"mixup_prob", &a.mixup_prob, 1}};

    if (vt_json_string(&text, aa)) {
        if (vt_json_get(settings, "magnitude"))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: \"magnitude\" is the m of \"%.80s\"; omit it",
                           name, text);
        VT_RET(vt_augment_rand(&a, text, name));
        a.jitter = 0; /* as in timm, unless it is asked for */
        operations = a.randaugment;
    }
    for (size_t i = 0; i < VT_COUNT(words); i++) {
        const vt_json *v = vt_json_get(settings, words[i].key);

        VT_RET(vt_json_within(words[i].to, text && v == aa ? NULL : v,
                              words[i].key, 0, words[i].high, name));
    }
    if (operations != floor(operations))
        return vt_fail(VITCL_ECORRUPT, "%s: \"aa\" must be a whole number",
                       name);
    a.randaugment = (int)operations;
    *out = a;
    return VITCL_OK;
}

bool vt_augment_any(const vt_augment *how)
{
    return how->crop_scale > 0 || how->pad > 0 || how->flip ||
           how->randaugment > 0 || how->jitter > 0 || how->erase > 0;
}

static vitcl_status cut(vt_picture *out, const vt_picture *in, uint32_t x,
                        uint32_t y, uint32_t w, uint32_t h)
{
    vt_picture p = {w, h, NULL};

    VT_RET(vt_new(&p.rgb, (size_t)w * h, 3));
    for (uint32_t i = 0; i < h; i++)
        memcpy(p.rgb + (size_t)i * w * 3,
               in->rgb + ((size_t)(y + i) * in->width + x) * 3, (size_t)w * 3);
    *out = p;
    return VITCL_OK;
}

/* A box with a random share of the area and a random aspect ratio from 3/4 to
 * 4/3 (Szegedy et al. 2014; torchvision's RandomResizedCrop). After ten failed
 * tries: the largest centred box within these ratios. */
static void random_box(uint32_t box[4], const vt_picture *in, double scale,
                       vt_random *r)
{
    double area = (double)in->width * in->height, w = 0, h = 0;
    double low = log(3.0 / 4.0), high = log(4.0 / 3.0);

    for (int i = 0; i < 10; i++) {
        double want = area * (scale + (1 - scale) * vt_random_uniform(r));
        double aspect = exp(low + (high - low) * vt_random_uniform(r));

        w = floor(sqrt(want * aspect) + 0.5);
        h = floor(sqrt(want / aspect) + 0.5);
        if (w >= 1 && h >= 1 && w <= in->width && h <= in->height) {
            box[0] = (uint32_t)vt_random_below(r, in->width - (uint64_t)w + 1);
            box[1] = (uint32_t)vt_random_below(r, in->height - (uint64_t)h + 1);
            box[2] = (uint32_t)w, box[3] = (uint32_t)h;
            return;
        }
    }
    w = VT_MIN((double)in->width, in->height * 4.0 / 3.0);
    h = VT_MIN((double)in->height, in->width * 4.0 / 3.0);
    box[2] = (uint32_t)VT_MAX(w, 1.0), box[3] = (uint32_t)VT_MAX(h, 1.0);
    box[0] = (in->width - box[2]) / 2, box[1] = (in->height - box[3]) / 2;
}

static void flip(vt_picture *p)
{
    for (uint32_t y = 0; y < p->height; y++) {
        uint8_t *row = p->rgb + (size_t)y * p->width * 3;

        for (uint32_t a = 0, b = p->width - 1; a < b; a++, b--)
            for (int c = 0; c < 3; c++) {
                uint8_t t = row[3 * a + (uint32_t)c];
                row[3 * a + (uint32_t)c] = row[3 * b + (uint32_t)c];
                row[3 * b + (uint32_t)c] = t;
            }
    }
}

/* Moves the picture's window over the picture padded with zeros. */
static vitcl_status shift(vt_picture *p, int dx, int dy)
{
    uint8_t *moved = NULL;

    VT_RET(vt_new(&moved, (size_t)p->width * p->height, 3));
    for (int y = 0; y < (int)p->height; y++)
        for (int x = 0; x < (int)p->width; x++) {
            int fx = x + dx, fy = y + dy;

            if (fx >= 0 && fy >= 0 && fx < (int)p->width && fy < (int)p->height)
                memcpy(moved + ((size_t)y * p->width + (size_t)x) * 3,
                       p->rgb + ((size_t)fy * p->width + (size_t)fx) * 3, 3);
        }
    free(p->rgb);
    p->rgb = moved;
    return VITCL_OK;
}

/* Random erasing (arXiv 1708.04896): fills a box of 2 to 33 % of the area with
 * noise. */
static void erase(vt_picture *p, vt_random *r)
{
    uint32_t box[4] = {0, 0, 1, 1};
    double area = (double)p->width * p->height;
    double want = area * (0.02 + 0.31 * vt_random_uniform(r));
    double aspect = exp(log(0.3) * (1 - 2 * vt_random_uniform(r)));

    box[2] = (uint32_t)VT_MIN(VT_MAX(sqrt(want * aspect), 1.0), p->width);
    box[3] = (uint32_t)VT_MIN(VT_MAX(sqrt(want / aspect), 1.0), p->height);
    box[0] = (uint32_t)vt_random_below(r, p->width - box[2] + 1);
    box[1] = (uint32_t)vt_random_below(r, p->height - box[3] + 1);
    for (uint32_t y = box[1]; y < box[1] + box[3]; y++)
        for (uint32_t x = box[0] * 3; x < (box[0] + box[2]) * 3; x++)
            p->rgb[(size_t)y * p->width * 3 + x] =
                (uint8_t)(vt_random_next(r) >> 56);
}

static void jitter(vt_picture *p, double amount, vt_random *r)
{
    static const vt_augment_op ops[] = {VT_BRIGHTNESS, VT_CONTRAST, VT_COLOR};
    size_t order[3];

    vt_shuffle(order, 3, vt_random_next(r));
    for (int i = 0; i < 3; i++)
        vt_enhance(p, ops[order[i]],
                   1 + amount * (2 * vt_random_uniform(r) - 1));
}

static vitcl_status rand_operation(vt_picture *p, const vt_augment *how,
                                   vt_random *r)
{
    const vt_augment_op op = (vt_augment_op)vt_random_below(
        r, (uint64_t)vt_augment_ops(how->levels));
    const int sign = vt_random_below(r, 2) ? 1 : -1;
    double level = how->magnitude;

    if (how->levels != VT_LEVELS) {
        if (how->chance < 1 && vt_random_uniform(r) > how->chance)
            return VITCL_OK;
        if (isinf(how->spread))
            level *= vt_random_uniform(r);
        else if (how->spread > 0)
            level += how->spread * vt_random_normal(r);
        level = VT_MAX(0.0, VT_MIN(level, how->most));
    }
    return vt_augment_apply(p, op, level, sign, how->levels);
}

vitcl_status vt_augment_picture(vt_picture *out, const vt_picture *in,
                                uint32_t width, uint32_t height,
                                vt_pixels pixels, vt_filter filter,
                                const vt_augment *how, vt_random *r)
{
    vitcl_status st = VITCL_OK;
    vt_picture p = {0}, part = {0};
    uint32_t box[4] = {0, 0, in->width, in->height};

    if (how->crop_scale > 0)
        random_box(box, in, how->crop_scale, r);
    VT_TRY(cut(&part, in, box[0], box[1], box[2], box[3]));
    VT_TRY(vt_resize(&p, &part, pixels, width, height, filter));
    if (how->pad > 0) {
        int dx = (int)vt_random_below(r, 2 * (uint64_t)how->pad + 1);
        int dy = (int)vt_random_below(r, 2 * (uint64_t)how->pad + 1);

        VT_TRY(shift(&p, dx - how->pad, dy - how->pad));
    }
    if (how->flip && vt_random_below(r, 2))
        flip(&p);
    for (int i = 0; i < how->randaugment; i++)
        VT_TRY(rand_operation(&p, how, r));
    if (how->jitter > 0)
        jitter(&p, how->jitter, r);
    if (how->erase > 0 && vt_random_uniform(r) < how->erase)
        erase(&p, r);
    *out = p, p = (vt_picture){0};
done:
    vt_picture_free(&p);
    vt_picture_free(&part);
    return st;
}

/* ---- batches ---- */

static void mix(float *a, const float *b, size_t n, float share)
{
    for (size_t i = 0; i < n; i++)
        a[i] = share * a[i] + (1 - share) * b[i];
}

/* x[i] is mixed with x[n-1-i], both with their old values, so pairs are handled
 * together. */
static void mix_pairs(float *x, int n, size_t each, float share)
{
    for (int i = 0; i < n / 2; i++) {
        float *a = x + (size_t)i * each, *b = x + (size_t)(n - 1 - i) * each;

        for (size_t k = 0; k < each; k++) {
            float old = a[k];

            mix(&a[k], &b[k], 1, share);
            mix(&b[k], &old, 1, share);
        }
    }
}

static void swap_box(float *pixels, int batch, int height, int width,
                     const int box[4])
{
    size_t plane = (size_t)height * (size_t)width;

    for (int i = 0; i < batch / 2; i++)
        for (size_t c = 0; c < 3; c++)
            for (int y = box[1]; y < box[3]; y++)
                for (int x = box[0]; x < box[2]; x++) {
                    size_t at =
                        c * plane + (size_t)y * (size_t)width + (size_t)x;
                    float *a = &pixels[(size_t)i * 3 * plane + at];
                    float *b =
                        &pixels[(size_t)(batch - 1 - i) * 3 * plane + at];
                    float t = *a;

                    *a = *b, *b = t;
                }
}

void vt_mix_batch(float *pixels, float *targets, int batch, int height,
                  int width, int classes, const vt_augment *how, vt_random *r)
{
    bool cutmix;
    double share;

    if (how->mixup <= 0 && how->cutmix <= 0)
        return;
    if (how->mixup_prob < 1 && vt_random_uniform(r) >= how->mixup_prob)
        return;
    cutmix = how->cutmix > 0 && (how->mixup <= 0 || vt_random_below(r, 2));
    share = vt_random_beta(r, cutmix ? how->cutmix : how->mixup);
    if (cutmix) {
        double side = sqrt(1 - share);
        int w = (int)(width * side), h = (int)(height * side);
        int cx = (int)vt_random_below(r, (uint64_t)width);
        int cy = (int)vt_random_below(r, (uint64_t)height);
        int box[4] = {VT_MAX(cx - w / 2, 0), VT_MAX(cy - h / 2, 0),
                      VT_MIN(cx + w / 2, width), VT_MIN(cy + h / 2, height)};

        swap_box(pixels, batch, height, width, box);
        share = 1 - (double)(box[2] - box[0]) * (box[3] - box[1]) /
                        ((double)width * height);
    } else
        mix_pairs(pixels, batch, 3 * (size_t)height * (size_t)width,
                  (float)share);
    mix_pairs(targets, batch, (size_t)classes, (float)share);
}
