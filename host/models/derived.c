/*
 * derived.c - a parameter by name, read from the file or derived from it.
 *
 * Sessions of several picture sizes share one model and one store, so a resized
 * table has its own name, name@HxW, and is derived each time from that name.
 * Nothing is cached: a model stays immutable, and threads need no lock.
 */
#include "models/derived.h"
#include "models/model_private.h"

#include "base/memory.h"
#include "models/config.h"
#include "models/pos_resize.h"
#include "models/rope.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

size_t vt_name_grid(const char *name, int *h, int *w)
{
    const char *at = strchr(name, '@');
    int used = 0;

    if (!at || sscanf(at, "@%6dx%6d%n", h, w, &used) != 2 || at[used] ||
        *h < 1 || *w < 1)
        return 0;
    return (size_t)(at - name);
}

/* As vt_name_grid() for name@std. */
static size_t name_standard(const char *name)
{
    const char *at = strchr(name, '@');

    return at && strcmp(at, "@std") == 0 ? (size_t)(at - name) : 0;
}

/* ---- derived parameters ---- */

static bool is_table(const char *name)
{
    return strstr(name, "relative_position_bias_table") != NULL;
}

/* The paper's 2-D positions: a row for each column ('x') or row ('y') of the
 * grid, resized along that axis only. */
static vitcl_status derive_axis(float *out, const vt_model *m,
                                const char *plain, char axis, int h, int w,
                                uint64_t count)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c = &m->config;
    const bool x = axis == 'x';
    const int to = x ? w : h, half = c->width / 2;
    int gh = 0, gw = 0, n;
    float *in = NULL;

    vt_config_grid(&gh, &gw, c, c->height, c->width_px);
    n = x ? gw : gh;
    if ((uint64_t)to * (uint64_t)half != count)
        return vt_fail(VITCL_EINVAL, "%s: another size than the plan's", plain);
    VT_TRY(vt_stored_weight(&in, m, plain, (uint64_t)n * (uint64_t)half));
    VT_TRY(vt_pos_resize(out, in, n, 1, to, 1, half, c->pos_rule, false));
done:
    free(in);
    return st;
}

/* timm's factorised positions: each row's and each column's, resized along
 * their axis, are added. */
static vitcl_status derive_sum(float *out, const vt_model *m, int h, int w)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c = &m->config;
    const int longer = VT_MAX(h, w), most = VT_MAX(longer, 1);
    const size_t D = (size_t)c->width;
    float *in[2] = {NULL, NULL}, *to[2] = {NULL, NULL};

    for (int k = 0; k < 2; k++) {
        const int n = k ? c->pos_w : c->pos_h, own = k ? w : h;
        const int size = c->pos_square ? longer : own;

        VT_TRY(vt_stored_weight(&in[k], m, k ? "pos_embed.x" : "pos_embed.y",
                                (uint64_t)n * D));
        VT_TRY(VT_NEW(&to[k], (size_t)most * D));
        VT_TRY(vt_pos_resize(to[k], in[k], n, 1, size, 1, c->width,
                             VT_POS_LINEAR, false));
    }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (size_t i = 0; i < D; i++)
                *out++ = to[0][(size_t)y * D + i] + to[1][(size_t)x * D + i];
done:
    for (int k = 0; k < 2; k++) {
        free(in[k]);
        free(to[k]);
    }
    return st;
}

/* in: rows of the class token, the patches, `last` other tokens -> out: the
 * class token, the others, the patches. */
static void put_tokens_first(float *out, const float *in, size_t patches,
                             size_t last, size_t width)
{
    memcpy(out, in, width * sizeof *out);
    memcpy(out + width, in + (1 + patches) * width, last * width * sizeof *out);
    memcpy(out + (1 + last) * width, in + width, patches * width * sizeof *out);
}

/* YOLOS' positions: at the stem, or number i of those behind blocks. */
static vitcl_status derive_tokens_last(float *out, const vt_model *m,
                                       const char *plain, int i, int h, int w,
                                       uint64_t count)
{
    const vt_config *c = &m->config;
    const size_t wide = (size_t)c->width, last = (size_t)c->registers;
    vitcl_status st = VITCL_OK;
    float *in = NULL, *moved = NULL;
    size_t rows, tables;
    int gh = 0, gw = 0;

    vt_config_grid(&gh, &gw, c, c->height, c->width_px);
    rows = 1 + last + (size_t)gh * (size_t)gw;
    tables = i < 0 ? 1 : (size_t)c->depth - 1;
    if (count != (1 + last + (size_t)h * (size_t)w) * wide ||
        (i >= 0 && (size_t)i >= tables))
        return vt_fail(VITCL_EINVAL, "%s: another size than the plan's", plain);
    VT_TRY(vt_stored_weight(&in, m, i < 0 ? plain : "mid_pos_embed",
                            (uint64_t)tables * rows * wide));
    VT_TRY(VT_NEW(&moved, rows * wide));
    put_tokens_first(moved, in + (i < 0 ? 0 : (size_t)i * rows * wide),
                     rows - 1 - last, last, wide);
    memcpy(out, moved, (1 + last) * wide * sizeof *out);
    VT_TRY(vt_pos_resize(out + (1 + last) * wide, moved + (1 + last) * wide, gh,
                         gw, h, w, c->width, c->pos_rule, false));
done:
    free(moved);
    free(in);
    return st;
}

static vitcl_status derive_grid(float *out, const vt_model *m,
                                const char *plain, int h, int w, uint64_t count)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c = &m->config;
    int gh = 0, gw = 0;
    const int extra = c->class_token ? 3 : 0;
    const char *axis = strstr(plain, "pos_embed_");
    float *in = NULL;
    uint64_t need, have;

    vt_config_pos_grid(&gh, &gw, c);
    if (axis)
        return derive_axis(out, m, plain, axis[10], h, w, count);
    if (is_table(plain)) {
        const uint64_t heads = (uint64_t)c->heads;
        have = ((uint64_t)(2 * gh - 1) * (uint64_t)(2 * gw - 1) +
                (uint64_t)extra) *
               heads;
        need =
            ((uint64_t)(2 * h - 1) * (uint64_t)(2 * w - 1) + (uint64_t)extra) *
            heads;
    } else {
        const uint64_t rows = (uint64_t)c->pos_prefix;
        have = ((uint64_t)gh * (uint64_t)gw + rows) * (uint64_t)c->width;
        need = ((uint64_t)h * (uint64_t)w + rows) * (uint64_t)c->width;
    }
    if (c->source == VT_SOURCE_HF && gh != gw && !is_table(plain))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: transformers takes %s, for %dx%d patches, for a "
                       "square one, so it cannot be resized",
                       m->path, plain, gh, gw);
    if (need != count)
        return vt_fail(VITCL_EINVAL, "%s: %llu elements asked for, %llu made",
                       plain, (unsigned long long)count,
                       (unsigned long long)need);
    if (c->pos_axes)
        return derive_sum(out, m, h, w);
    VT_TRY(vt_stored_weight(&in, m, plain, have));
    if (is_table(plain)) {
        const bool turned = c->rel_pos_turned;
        st = vt_table_resize(out, in, turned ? gw : gh, turned ? gh : gw, h, w,
                             extra, c->heads, c->source != VT_SOURCE_HF);
    } else {
        const size_t skip = (size_t)c->pos_prefix * (size_t)c->width;
        const bool same = h == gh && w == gw;

        memcpy(out, in, (same ? have : skip) * sizeof *out);
        if (!same)
            st = vt_pos_resize(out + skip, in + skip, gh, gw, h, w, c->width,
                               c->pos_rule, c->pos_square);
    }
done:
    free(in);
    return st;
}

/* To mean 0 and variance 1, with eps 1e-8 added to the variance. In four sums
 * no addition waits for the one before it. */
static void standardise(float *w, uint64_t n)
{
    double sum[4] = {0}, squares[4] = {0}, mean, scale;
    uint64_t i;

    for (i = 0; i + 4 <= n; i += 4)
        for (uint64_t k = 0; k < 4; k++)
            sum[k] += w[i + k];
    for (; i < n; i++)
        sum[0] += w[i];
    mean = (sum[0] + sum[1] + sum[2] + sum[3]) / (double)n;
    for (i = 0; i + 4 <= n; i += 4)
        for (uint64_t k = 0; k < 4; k++)
            squares[k] += (w[i + k] - mean) * (w[i + k] - mean);
    for (; i < n; i++)
        squares[0] += (w[i] - mean) * (w[i] - mean);
    scale = squares[0] + squares[1] + squares[2] + squares[3];
    scale = 1 / sqrt(scale / (double)n + 1e-8);
    for (i = 0; i < n; i++)
        w[i] = (float)((w[i] - mean) * scale);
}

/* timm's StdConv2d: each filter by itself. The tensor's first axis counts the
 * filters. */
static vitcl_status derive_standard(float *out, const vt_model *m,
                                    const char *plain, uint64_t count)
{
    const vt_weight *t;

    if (!m->weights) /* a preset's are only for measurements */
        return vt_stored_read(out, m, plain, count);
    t = vt_weights_get(m->weights, plain);
    if (!t || t->count != count || t->shape[0] == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: %s is missing or misshapen",
                       m->path, plain);
    VT_RET(vt_weight_f32(out, m->weights, t));
    for (uint64_t o = 0, n = count / t->shape[0]; o < t->shape[0]; o++)
        standardise(out + o * n, n);
    return VITCL_OK;
}

static vitcl_status read_param(float *out, const vt_model *m, const char *name,
                               uint64_t count)
{
    char plain[96];
    int h = 0, w = 0, block;
    size_t n;

    if (vt_name_attention(name))
        return vt_attention_derive(out, m, name, count);
    n = vt_name_grid(name, &h, &w);
    if (!n)
        n = name_standard(name) + vt_name_folded(name);
    if (n && n < sizeof plain) {
        memcpy(plain, name, n);
        plain[n] = 0;
        if (vt_name_folded(name))
            return vt_batchnorm_derive(out, m, plain, count);
        if (h && sscanf(plain, "rope.freqs.%6d", &block) == 1)
            return vt_rope_derive(out, m, block, h, w, count);
        if (h && sscanf(plain, "mid_pos_embed.%6d", &block) == 1)
            return derive_tokens_last(out, m, plain, block, h, w, count);
        if (h && m->config.tokens_last)
            return derive_tokens_last(out, m, plain, -1, h, w, count);
        if (h && n > 7 && strcmp(plain + n - 7, "rel_pos") == 0)
            return vt_relpos_mlp(out, m, plain, h, w, count);
        return h ? derive_grid(out, m, plain, h, w, count)
                 : derive_standard(out, m, plain, count);
    }
    return vt_stored_read(out, m, name, count);
}

vitcl_status vt_model_read_param(float *out, void *model, const char *name,
                                 uint64_t count)
{
    return read_param(out, model, name, count);
}

vitcl_status vt_model_weight(float **out, const vt_model *m, const char *name,
                             uint64_t count)
{
    vitcl_status st = VITCL_OK;
    float *data = NULL;

    VT_TRY(vt_weight_room(&data, name, count));
    VT_TRY(read_param(data, m, name, count));
    *out = data, data = NULL;
done:
    free(data);
    return st;
}
