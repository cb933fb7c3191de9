/*
 * dot.c - matrix multiplication with a CPU's dot-product instructions, where it
 * has them and they are faster. For native.c.
 *
 * Surprising: the kernels are inline assembly. dot_choice.c decides, once per
 * device, driver and version, whether one is used. The trial itself may crash;
 * it is implemented here, but run by the program vitcl-try.
 */
#include "gemm/dot.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "gemm/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NONE = VT_DOT_NONE, S16 = VT_DOT_S16, BF16 = VT_DOT_BF16 };

static const struct {
    const char *layout;
    int lanes, terms; /* width in floats; terms per word */
} kinds[VT_DOT_KINDS] = {
    [VT_DOT_S16] = {"dot16-s16", 8, 2},
    [VT_DOT_U8] = {"dot32-u8", 16, 4},
    [VT_DOT_BF16] = {"dot32-bf16", 16, 2},
};

/* ---- sizes ---- */

static int words(const vt_gemm_desc *d, int kind)
{
    return (d->K + kinds[kind].terms - 1) / kinds[kind].terms;
}

/* Never a multiple of 4096 bytes. */
static int stride(const vt_gemm_desc *d, int kind)
{
    const int w = words(d, kind);

    return w % 1024 == 0 ? w + 16 : w;
}

static size_t packed_bytes(const vt_gemm_desc *d, int kind)
{
    const size_t nw = (size_t)(VT_ROWS_VECTORS * kinds[kind].lanes),
                 columns = ((size_t)d->N + nw - 1) / nw * nw;

    return columns * ((size_t)words(d, kind) + 2) * sizeof(int32_t);
}

static size_t temp_bytes(const vt_gemm_desc *d, int kind)
{
    return (size_t)d->batch * (size_t)d->M * ((size_t)stride(d, kind) + 2) *
           sizeof(int32_t);
}

/* The largest integer whose sum of squares over K cannot overflow. s16 has room
 * for more than int8's 127, at no cost in time: the logits of a Ti/16 are ten
 * times closer to those of f32. */
static int top(const vt_gemm_desc *d, int kind)
{
    const int most = (int)sqrt((double)INT32_MAX / d->K);

    return VT_MIN(most, kind == S16 ? 4095 : 127);
}

/* ---- kernels ---- */

static vitcl_status pack_kernel(vt_kernel **out, vt_dev *dev, int kind,
                                const vt_gemm_desc *d, vt_buf *packed,
                                vt_buf *b, bool scales)
{
    const int lanes = kinds[kind].lanes, nw = VT_ROWS_VECTORS * lanes;
    const size_t panels = ((size_t)d->N + (size_t)nw - 1) / (size_t)nw;
    const size_t global[3] = {scales ? panels * (size_t)nw : panels,
                              ((size_t)words(d, kind) + 63) / 64, 1};
    char defines[96];
    vitcl_status st;

    snprintf(defines, sizeof defines, "-DV=%d -DNV=%d -DDOT=%d -DTOP=%d%s",
             lanes, VT_ROWS_VECTORS, kind, top(d, kind),
             d->trans_b ? " -DTRANS_B" : "");
    VT_TRY(vt_kernel_new(out, dev, "gemm_dot",
                         scales ? "gemm_dot_scale" : "gemm_dot_pack", defines));
    VT_TRY(vt_kernel_buf(*out, 0, packed));
    VT_TRY(vt_kernel_buf(*out, 1, b));
    VT_TRY(vt_kernel_int(*out, 2, d->N));
    VT_TRY(vt_kernel_int(*out, 3, d->K));
    VT_TRY(vt_kernel_int(*out, 4, d->ldb));
    vt_kernel_size(*out, scales ? 1 : 2, global, (size_t[3]){1, 1, 1});
done:
    return st;
}

static vitcl_status pack(vt_queue *q, int kind, const vt_gemm_desc *d,
                         vt_buf *packed, vt_buf *b)
{
    vt_kernel *k[2] = {NULL, NULL};
    vitcl_status st = VITCL_OK;

    for (int i = kind == BF16 ? 1 : 0; i < 2; i++) {
        VT_TRY(pack_kernel(&k[i], vt_queue_dev(q), kind, d, packed, b, i == 0));
        VT_TRY(vt_kernel_launch(q, k[i]));
    }
done:
    vt_kernel_free(k[0]);
    vt_kernel_free(k[1]);
    return st;
}

static vitcl_status rows_kernel(vt_gemm *g, int kind)
{
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    const int v[] = {rows, d->K, d->lda, stride(d, kind)};
    vt_kernel *k;
    char defines[96];
    vitcl_status st;

    snprintf(defines, sizeof defines, "-DV=%d -DNV=%d -DDOT=%d -DTOP=%d",
             kinds[kind].lanes, VT_ROWS_VECTORS, kind, top(d, kind));
    VT_TRY(vt_kernel_new(&g->kernel[0], g->dev, "gemm_dot", "gemm_dot_rows",
                         defines));
    k = g->kernel[0];
    VT_TRY(vt_kernel_buf(k, 0, g->bufs.temp));
    VT_TRY(vt_kernel_buf(k, 1, g->bufs.a));
    for (unsigned i = 0; i < VT_COUNT(v); i++)
        VT_TRY(vt_kernel_int(k, 2 + i, v[i]));
    vt_kernel_size(k, 1, (size_t[3]){(size_t)rows, 1, 1}, (size_t[3]){1, 1, 1});
done:
    return st;
}

static vitcl_status bind(vt_gemm *g, int kind)
{
    const vt_gemm_desc *d = &g->d;
    const vt_rows_shape t =
        vt_params_rows(g->dev, VT_PARAMS_DOT, d->type, kinds[kind].lanes);
    const vt_rows s =
        vt_rows_divide(g->dev, t, d->batch * d->M, d->N, words(d, kind));
    const int v[] = {s.rows,   d->N,  words(d, kind), stride(d, kind), d->ldc,
                     s.blocks, s.big, s.chunks,       s.group,         s.most};
    vt_buf *const bufs[] = {g->bufs.c,    g->bufs.temp,  g->bufs.b,
                            g->bufs.bias, g->bufs.scale, g->bufs.residual};
    char epilogue[96], defines[256];
    vitcl_status st;

    VT_TRY(rows_kernel(g, kind));
    snprintf(defines, sizeof defines,
             "-DV=%d -DNV=%d -DDOT=%d -DRA=%d -DRB=%d -DSAVED=%d %s", t.lanes,
             VT_ROWS_VECTORS, kind, s.ra, s.rb, s.saved,
             vt_gemm_defines(epilogue, d));
    VT_TRY(
        vt_kernel_new(&g->kernel[1], g->dev, "gemm_dot", "gemm_dot", defines));
    for (unsigned i = 0; i < VT_COUNT(bufs); i++)
        VT_TRY(vt_kernel_buf(g->kernel[1], i, bufs[i]));
    for (unsigned i = 0; i < VT_COUNT(v); i++)
        VT_TRY(vt_kernel_int(g->kernel[1], (unsigned)VT_COUNT(bufs) + i, v[i]));
    VT_TRY(vt_kernel_tiles(g->kernel[1],
                           (unsigned)(VT_COUNT(bufs) + VT_COUNT(v)),
                           vt_divide_up(s.panels, s.group) * s.chunks));
    snprintf(g->note, sizeof g->note, "native %s %dx%d%s",
             vt_dot_kinds[kind].name, s.ra, s.nw,
             vt_params_for(g->dev, VT_PARAMS_DOT, d->type) ? ", tuned" : "");
done:
    return st;
}

/* ---- trial ---- */

#define PROBE_M 96
#define PROBE_N 384
#define PROBE_K 768

/* A product by one kind of instruction (NONE: FMAs), with its own data. */
typedef struct trial {
    vt_gemm g;
    vt_buf *plain; /* B before packing */
    int kind;
} trial;

static void trial_free(trial *t)
{
    vt_gemm *g = &t->g;

    vt_rows_free(g);
    for (size_t i = 0; i < VT_COUNT(g->kernel); i++)
        vt_kernel_free(g->kernel[i]);
    vt_buf_free(g->bufs.a);
    vt_buf_free(g->bufs.b);
    vt_buf_free(g->bufs.c);
    vt_buf_free(g->bufs.temp);
    vt_buf_free(t->plain);
}

/* Pseudo-random in [-1, 1) (Wellons' lowbias32). */
static float element(size_t i)
{
    uint32_t x = (uint32_t)i + 1;

    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return (float)(x >> 8) / 8388608.0f - 1.0f;
}

static vitcl_status fill(vt_buf **out, vt_queue *q, size_t n)
{
    float *x = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&x, n));
    for (size_t i = 0; i < n; i++)
        x[i] = element(i);
    VT_TRY(vt_buf_new(out, vt_queue_dev(q), n * sizeof *x));
    VT_TRY(vt_buf_write(q, *out, 0, x, n * sizeof *x));
done:
    free(x);
    return st;
}

static vitcl_status trial_new(trial *t, vt_queue *q, vt_dtype type, int kind)
{
    vt_gemm *g = &t->g;
    vt_kernel *k[2] = {NULL, NULL};
    unsigned n = 0;
    vitcl_status st;

    *t = (trial){.kind = kind};
    g->dev = vt_queue_dev(q);
    g->d = (vt_gemm_desc){.batch = 1,
                          .M = PROBE_M,
                          .N = PROBE_N,
                          .K = PROBE_K,
                          .lda = PROBE_K,
                          .ldb = PROBE_K,
                          .ldc = PROBE_N,
                          .b_packed = true,
                          .type = type,
                          .device_class = VT_CLASS_CPU};
    VT_TRY(fill(&g->bufs.a, q, PROBE_M * PROBE_K));
    VT_TRY(fill(&t->plain, q, PROBE_N * PROBE_K));
    VT_TRY(vt_buf_new(&g->bufs.c, g->dev, PROBE_M * PROBE_N * sizeof(float)));
    /* Room for every type: f32 panels are the largest. */
    VT_TRY(vt_buf_new(&g->bufs.b, g->dev, 2 * PROBE_N * PROBE_K * 4));
    VT_TRY(vt_buf_new(&g->bufs.temp, g->dev, PROBE_M * (PROBE_K + 64) * 4));
    if (kind == NONE) {
        VT_TRY(vt_rows_pack(k, &n, g->dev, &g->d, g->bufs.b, t->plain));
        for (unsigned i = 0; i < n; i++)
            VT_TRY(vt_kernel_launch(q, k[i]));
        VT_TRY(vt_rows_bind(g));
    } else {
        VT_TRY(pack(q, kind, &g->d, g->bufs.b, t->plain));
        VT_TRY(bind(g, kind));
    }
done:
    vt_kernel_free(k[0]);
    vt_kernel_free(k[1]);
    return st;
}

/* Seconds; negative after an error. */
static double trial_run(trial *t, vt_queue *q)
{
    const double from = vt_now_ms();

    for (size_t i = 0; i < VT_COUNT(t->g.kernel) && t->g.kernel[i]; i++)
        if (vt_kernel_launch(q, t->g.kernel[i]) != VITCL_OK)
            return -1;
    if (vt_queue_finish(q) != VITCL_OK)
        return -1;
    return 1e-3 * (vt_now_ms() - from);
}

/* Checks every fifth element, within the rounding error of the format. */
static bool right(trial *t, vt_queue *q)
{
    static const size_t n = PROBE_M * PROBE_N;
    float *c = NULL;
    bool yes = VT_NEW(&c, n) == VITCL_OK &&
               vt_buf_read(q, t->g.bufs.c, 0, c, n * sizeof *c) == VITCL_OK;

    for (size_t i = 0; yes && i < n; i += 5) {
        const size_t m = i / PROBE_N, col = i % PROBE_N;
        double want = 0;
        for (size_t k = 0; k < PROBE_K; k++)
            want += (double)element(m * PROBE_K + k) *
                    (double)element(col * PROBE_K + k);
        yes = fabs((double)c[i] - want) < 0.25; /* 7 sigma for int8 */
    }
    free(c);
    return yes;
}

vt_dot_verdict vt_dot_try(vt_dev *dev, int kind)
{
    const vt_dtype type = vt_dot_kinds[kind].type;
    const char *name = vt_dot_kinds[kind].name;
    trial dot = {0}, fma = {0};
    double best[2] = {1e9, 1e9};
    vt_queue *q = NULL;
    bool works, yes;

    yes = works = vt_queue_new(&q, dev, false) == VITCL_OK &&
                  trial_new(&dot, q, type, kind) == VITCL_OK &&
                  trial_run(&dot, q) >= 0 && right(&dot, q);
    yes = yes && trial_new(&fma, q, type, NONE) == VITCL_OK;
    for (int i = 0; yes && i < 24; i++) {
        const double a = trial_run(&dot, q), b = trial_run(&fma, q);
        yes = a >= 0 && b >= 0;
        best[0] = VT_MIN(best[0], a), best[1] = VT_MIN(best[1], b);
    }
    trial_free(&dot);
    trial_free(&fma);
    vt_queue_free(q);
    if (yes)
        vt_log("tried %s: %.3f ms, by FMAs %.3f ms", name, 1e3 * best[0],
               1e3 * best[1]);
    else
        vt_log("tried %s: it %s", name,
               works ? "could not be timed" : "does not work");
    return !works                             ? VT_DOT_WRONG
           : yes && best[0] * 7 < best[1] * 6 ? VT_DOT_FASTER
                                              : VT_DOT_SLOWER;
}

static int kind_of(vt_dev *dev, const vt_gemm_desc *d)
{
    if ((d->type != VT_I8 && d->type != VT_BF16) || !d->b_packed ||
        d->trans_a || d->accumulate || d->device_class != VT_CLASS_CPU ||
        vt_dev_class(dev) != VT_CLASS_CPU || d->K > 65536)
        return NONE;
    return vt_dot_ask(dev, d->type);
}

#define CHAINS 12 /* at most two units with six cycles each */

vitcl_status vt_dot_peak(vt_kernel **out, double *flops, vt_dev *dev,
                         vt_dtype type)
{
    const int kind =
        type == VT_I8 || type == VT_BF16 ? vt_dot_ask(dev, type) : (int)NONE;
    char defines[64];

    *out = NULL;
    if (kind == NONE)
        return VITCL_OK;
    *flops = 2.0 * CHAINS * kinds[kind].lanes * kinds[kind].terms;
    snprintf(defines, sizeof defines, "-DV=%d -DDOT=%d -DCHAINS=%d",
             kinds[kind].lanes, kind, CHAINS);
    return vt_kernel_new(out, dev, "gemm_dot", "gemm_dot_peak", defines);
}

/* ---- interface of native.c ---- */

bool vt_dot_for(vt_dev *dev, const vt_gemm_desc *d)
{
    return kind_of(dev, d) != NONE;
}

const char *vt_dot_layout(vt_dev *dev, const vt_gemm_desc *d)
{
    return kinds[kind_of(dev, d)].layout;
}

size_t vt_dot_packed_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    return packed_bytes(d, kind_of(dev, d));
}

size_t vt_dot_temp_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    return temp_bytes(d, kind_of(dev, d));
}

vitcl_status vt_dot_pack(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                         vt_buf *b)
{
    return pack(q, kind_of(vt_queue_dev(q), d), d, packed, b);
}

vitcl_status vt_dot_bind(vt_gemm *g)
{
    return bind(g, kind_of(g->dev, &g->d));
}
