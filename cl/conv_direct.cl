/*
 * conv_direct.cl - convolution for CPU-class devices: planes to planes, no
 * im2col matrix in memory.
 *
 *     y[b,o,p] = sum_k w[o,k] x[b,k,p]     K = C*kh*kw in the order (c, i, j)
 *
 * where x[b,k,p] is the pixel of channel c that the window of output pixel
 * p = (oy, ox) has at (i, j): line oy*stride - top + i, column
 * ox*stride - left + j of planes whose pixels lie `apart` from each other, with
 * zeros in between and around.
 *
 * conv_direct            y[B,O,Ho,Wo] <- x[B,C,H,W], w[O,K]
 * conv_direct_transpose  w'[C,O*kh*kw] <- w[O,C*kh*kw]: channels swapped,
 *                        windows rotated by 180 degrees. The gradient of x is
 *                        the convolution of dy, dilated by the stride, by w'.
 * conv_direct_grad_w     part[slices,K,O] <- dy[B,O,Ho,Wo], x[B,C,H,W]
 * conv_direct_sum        dw[O,K] (+)= the sum of part's slices, in order
 *
 * How       A tile is `high` lines by `wide` columns of all pictures' outputs,
 *           at most TILE pixels. A work-item gathers its windows, KC terms at a
 *           time, in the order of use, and multiplies them while they are in
 *           L2: blocks of RA rows by NW = NV*V columns in registers, a panel of
 *           columns in L1. The rows are w's (conv_direct) or the windows' terms
 *           (_grad_w, whose columns are dy's channels). Partial sums stay in
 *           the work-item's memory.
 * Launch    conv_direct: global {tiles, ceil(O / outs)}, local {1, 1}, outs <=
 *           OUTS
 *           _grad_w: global {ceil(C / (KC/(kh*kw))), ceil(O / outs), slices},
 *           local {1, 1, 1}
 *           _transpose: global {C}; _sum: global {ceil(K / 16)}
 * Limits    kh*kw <= KC; high*max(kh,stride)*((wide - 1)*stride + kw) <= LINES.
 * Memory    Private; _grad_w, the larger: KC*(TILE + OUTS) + OUTS*TILE +
 *           2*(LINES + TILE) words, and a few more where RA does not divide KC.
 * Defines   V (common.cl).
 * Numerics  y: one chain of fma() over ascending k. dw: one chain over the
 *           pixels of a slice; slices depend on the shapes, never on the
 *           device.
 *
 * Surprise  No local memory, because the bodies are OUTLINED: LLVM may replace
 *           a local argument of such a function by the kernel's variable, which
 *           PoCL 3.1 then moves, and threads would share it.
 *
 * Longer than most: forward and backward gather, tile and multiply alike.
 *
 * Source    Goto, van de Geijn 2008 (blocking); Chetlur et al. 2014,
 *           arXiv:1410.0759, section 3 (windows gathered when needed).
 * Host      host/ops/conv_direct.c    Test  tests/ops/test_conv.c
 */
#define TILE 64
#define KC 288
#define OUTS 192
#define LINES 2048
#define NV 2
#define NW (NV * V)
#if V == 16
#define RA 14
#else
#define RA 6
#endif
#define BLOCKS(n) (((n) + RA - 1) / RA)

typedef struct {
    int C, H, W, Ho, Wo, kh, kw, stride, top, left, apart;
    int lines, high, wide; /* B*Ho; a tile's */
} shape;
#define SHAPE                                                                  \
    int C, int H, int W, int Ho, int Wo, int kh, int kw, int stride, int top,  \
        int left, int apart, int lines, int high, int wide
#define THE_SHAPE                                                              \
    {                                                                          \
        C, H, W, Ho, Wo, kh, kw, stride, top, left, apart, lines, high, wide   \
    }

typedef struct {
    int line, column, high, wide, n; /* n = high * wide pixels */
} tile;

static inline tile tile_at(const shape *s, int i)
{
    const int across = (s->Wo + s->wide - 1) / s->wide;
    tile t;

    t.line = i / across * s->high;
    t.column = i % across * s->wide;
    t.high = min(s->high, s->lines - t.line);
    t.wide = min(s->wide, s->Wo - t.column);
    t.n = t.high * t.wide;
    return t;
}

/* How a tile's windows are gathered, the same for every channel: first the
 * lines of a plane that the tile reads, padded with zeros; from these the
 * terms, `unit` pixels at a time. */
typedef struct {
    int span, lines;     /* pixels of a line; lines */
    int at, from, count; /* of the plane's pixels: in `line`, in x, how many */
    int unit, units, next; /* terms: rows of `next` pixels, KC to a panel */
    float *line;
    int *start; /* of each line in picture 0's first plane, or -1 */
    int *spot;  /* of each unit: in the lines, and in the terms */
} windows;

static inline windows windows_of(float *line, int *start, int *spot,
                                 const shape *s, const tile *t, int next)
{
    const int u = t->column * s->stride - s->left;
    int oy = t->line % s->Ho, b = t->line / s->Ho, slot = 0, n = 0;
    windows w;

    w.line = line, w.start = start, w.spot = spot, w.next = next;
    w.span = (t->wide - 1) * s->stride + s->kw;
    w.lines = 0;
    w.from = u > 0 ? (u + s->apart - 1) / s->apart : 0;
    w.at = w.from * s->apart - u;
    w.count =
        max(0, min((w.span - w.at + s->apart - 1) / s->apart, s->W - w.from));
    w.unit = s->stride > 1 ? 1 : t->wide % V == 0 ? V : t->wide % 4 ? 1 : 4;
    w.units = t->n / w.unit;
    for (int r = 0; r < t->high; r++) {
        for (; w.lines < slot + s->kh; w.lines++) {
            const int y = oy * s->stride - s->top + w.lines - slot;
            const int in = y >= 0 && y % s->apart == 0 && y / s->apart < s->H;

            start[w.lines] =
                in ? (b * s->C * s->H + y / s->apart) * s->W + w.from : -1;
        }
        for (int i = 0; i < t->wide; i += w.unit, n += w.unit) {
            *spot++ = slot * w.span + i * s->stride;
            *spot++ = n / next * KC * next + n % next;
        }
        slot += s->stride;
        if (++oy == s->Ho) /* the next picture has other lines */
            oy = 0, b++, slot = w.lines;
    }
    for (int i = 0; i < w.lines * w.span; i++)
        line[i] = 0.0f;
    return w;
}

/* Channels c0 .. c1 - 1 of a tile's windows. */
static inline void gather(float *restrict to, global const float *restrict x,
                          const shape *s, const windows *w, int c0, int c1)
{
    for (int c = c0; c < c1; c++) {
        for (int l = 0; l < w->lines; l++) {
            float *line = w->line + l * w->span + w->at;
            global const float *from = x + c * s->H * s->W + w->start[l];
            int i = 0;

            if (w->start[l] < 0)
                continue;
            if (s->apart == 1)
                for (; i + 4 <= w->count; i += 4)
                    vstore4(vload4(0, from + i), 0, line + i);
            for (; i < w->count; i++)
                line[i * s->apart] = from[i];
        }
        for (int k = 0; k < s->kh * s->kw; k++, to += w->next) {
            const float *from = w->line + k / s->kw * w->span + k % s->kw;
            const int *spot = w->spot;

            if (w->unit == V)
                for (int i = 0; i < w->units; i++, spot += 2)
                    vstorev(vloadv(0, from + spot[0]), 0, to + spot[1]);
            else if (w->unit == 4)
                for (int i = 0; i < w->units; i++, spot += 2)
                    vstore4(vload4(0, from + spot[0]), 0, to + spot[1]);
            else
                for (int i = 0; i < w->units; i++, spot += 2)
                    to[spot[1]] = from[spot[0]];
        }
    }
}

/* sum[R][NW] (+)= a[R][n], of stride lda, times b[n][NW] */
#define BLOCK(NAME, R, SPACE)                                                  \
    static inline void NAME(float *restrict sum,                               \
                            SPACE const float *restrict a, int lda,            \
                            const float *restrict b, int n, int first)         \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(v, NV)                                                        \
                x[r][v] = first ? (floatv)(0.0f) : vloadv(r * NV + v, sum);    \
        for (int k = 0; k < n; k++) {                                          \
            floatv w[NV];                                                      \
            EACH(v, NV)                                                        \
                w[v] = vloadv(v, b + k * NW);                                  \
            EACH(r, R) {                                                       \
                const floatv e = (floatv)(a[r * lda + k]);                     \
                EACH(v, NV)                                                    \
                    x[r][v] = fma(e, w[v], x[r][v]);                           \
            }                                                                  \
        }                                                                      \
        EACH(r, R)                                                             \
            EACH(v, NV)                                                        \
                vstorev(x[r][v], v + r * NV, sum);                             \
    }

BLOCK(block, RA, global)
BLOCK(one, 1, global)
BLOCK(block_private, RA, private)
BLOCK(one_private, 1, private)

/* The number of blocks of `rows` rows, and the first row of block i. The last
 * block begins early, so that it is full, and repeats some rows. Rows too few
 * for a block are multiplied one at a time. */
static inline int blocks(int rows)
{
    return rows < RA ? rows : BLOCKS(rows);
}
static inline int begin(int i, int rows)
{
    return rows < RA ? i : min(i * RA, rows - RA);
}

static inline OUTLINED void outputs_of_tile(global float *restrict y,
                                            global const float *restrict x,
                                            global const float *restrict w,
                                            int O, int outs, SHAPE, int i,
                                            int o0)
{
    float terms[TILE * KC] __attribute__((aligned(64)));
    float sum[TILE * BLOCKS(OUTS) * RA] __attribute__((aligned(64)));
    float line[LINES] __attribute__((aligned(64)));
    int start[LINES], spot[2 * TILE];
    const shape s = THE_SHAPE;
    const tile t = tile_at(&s, i);
    const int rows = min(outs, O - o0);
    const int K = C * kh * kw, each = KC / (kh * kw), plane = Ho * Wo;
    const int panels = (t.n + NW - 1) / NW, count = blocks(rows);

    const windows win = windows_of(line, start, spot, &s, &t, NW);

    for (int n = t.n; n < panels * NW; n++) /* unused pixels: no garbage */
        for (int k = 0; k < KC; k++)
            terms[(n / NW * KC + k) * NW + n % NW] = 0.0f;
    w += (size_t)o0 * K;
    for (int c = 0; c < C; c += each) {
        const int end = min(c + each, C), kc = (end - c) * kh * kw;

        gather(terms, x, &s, &win, c, end);
        for (int p = 0; p < panels; p++)
            for (int i = 0; i < count; i++) {
                float *to = sum + (p * count + i) * RA * NW;
                global const float *a =
                    w + (size_t)begin(i, rows) * K + c * kh * kw;

                if (rows < RA)
                    one(to, a, K, terms + p * KC * NW, kc, !c);
                else
                    block(to, a, K, terms + p * KC * NW, kc, !c);
            }
    }
    for (int p = 0; p < panels * NV; p++) {
        const int n = p * V, r = n / t.wide, left = min(V, t.n - n);
        const int at = (t.line + r) * Wo + t.column + n % t.wide;
        const int b = at / plane, q = at % plane; /* of the first pixel */
        /* V pixels, contiguous in one plane */
        const int whole = left == V && q + V <= plane &&
                          (t.wide == Wo || n % t.wide + V <= t.wide);

        for (int i = 0; i < count && left > 0; i++) {
            const int o = begin(i, rows), height = rows < RA ? 1 : RA;
            const float *from =
                sum + ((p / NV * count + i) * RA * NV + p % NV) * V;

            for (int e = 0; e < height; e++) {
                if (whole) {
                    vstorev(vloadv(0, from + e * NW), 0,
                            y + ((size_t)b * O + o0 + o + e) * plane + q);
                    continue;
                }
                for (int l = 0; l < left; l++) {
                    const int to = (t.line + (n + l) / t.wide) * Wo + t.column +
                                   (n + l) % t.wide;
                    y[((size_t)(to / plane) * O + o0 + o + e) * plane +
                      to % plane] = from[e * NW + l];
                }
            }
        }
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_direct(global float *restrict y, global const float *restrict x,
            global const float *restrict w, int O, int outs, SHAPE)
{
    outputs_of_tile(y, x, w, O, outs, C, H, W, Ho, Wo, kh, kw, stride, top,
                    left, apart, lines, high, wide, get_group_id(0),
                    get_group_id(1) * outs);
}

/* to[panel][pixel][NW] <- a tile of dy, channels o0 .. o0 + outs - 1 */
static inline void transpose_pixels(float *restrict to,
                                    global const float *restrict dy,
                                    const shape *s, const tile *t, int O,
                                    int o0, int outs)
{
    for (int o = 0; o < outs; o += 4) {
        float *p = to + o / NW * TILE * NW + o % NW;
        int oy = t->line % s->Ho, b = t->line / s->Ho;
        const size_t plane = (size_t)s->Ho * s->Wo;

        for (int r = 0; r < t->high; r++) {
            global const float *f =
                dy + ((size_t)b * O + o0 + o) * plane + oy * s->Wo + t->column;
            int u = 0;

            for (; o + 4 <= outs && u + 4 <= t->wide; u += 4, p += 4 * NW) {
                const float4 e = vload4(0, f + u), g = vload4(0, f + plane + u);
                const float4 h = vload4(0, f + 2 * plane + u);
                const float4 k = vload4(0, f + 3 * plane + u);

                VT_STORE_TRANSPOSED(e, g, h, k, p, NW);
            }
            for (; u < t->wide; u++, p += NW)
                for (int l = 0; l < min(4, outs - o); l++)
                    p[l] = f[l * plane + u];
            if (++oy == s->Ho)
                oy = 0, b++;
        }
    }
}

static inline OUTLINED void slice_of_grad(global float *restrict part,
                                          global const float *restrict dy,
                                          global const float *restrict x, int O,
                                          int outs, int tiles, SHAPE, int c,
                                          int o0, int slice, int slices)
{
    float terms[TILE * KC] __attribute__((aligned(64)));
    float columns[TILE * OUTS] __attribute__((aligned(64)));
    float sum[BLOCKS(KC) * RA * OUTS] __attribute__((aligned(64)));
    float line[LINES] __attribute__((aligned(64)));
    int start[LINES], spot[2 * TILE];
    const shape s = THE_SHAPE;
    const int end = min(c + KC / (kh * kw), C), rows = (end - c) * kh * kw;
    const int wide_o = min(outs, O - o0);
    const int panels = (wide_o + NW - 1) / NW, count = blocks(rows);
    const int t0 = vt_part(slice, tiles, slices);
    const int t1 = vt_part(slice + 1, tiles, slices);

    for (int o = wide_o; o < panels * NW; o++) /* unused channels: no garbage */
        for (int n = 0; n < TILE; n++)
            columns[(o / NW * TILE + n) * NW + o % NW] = 0.0f;
    for (int i = t0; i < t1; i++) {
        const tile t = tile_at(&s, i);
        const windows win = windows_of(line, start, spot, &s, &t, TILE);

        gather(terms, x, &s, &win, c, end);
        transpose_pixels(columns, dy, &s, &t, O, o0, wide_o);
        for (int p = 0; p < panels; p++)
            for (int j = 0; j < count; j++) {
                float *to = sum + (p * count + j) * RA * NW;
                const float *a = terms + begin(j, rows) * TILE;
                const float *b = columns + p * TILE * NW;

                if (rows < RA)
                    one_private(to, a, TILE, b, t.n, i == t0);
                else
                    block_private(to, a, TILE, b, t.n, i == t0);
            }
    }
    part += ((size_t)slice * C + c) * kh * kw * O + o0;
    for (int p = 0; p < panels * NV; p++)
        for (int j = 0; j < count; j++) {
            const int left = min(V, wide_o - p * V);
            const float *from =
                sum + ((p / NV * count + j) * RA * NV + p % NV) * V;
            global float *to = part + (size_t)begin(j, rows) * O + p * V;

            for (int e = 0; e < (rows < RA ? 1 : RA); e++, to += O)
                if (left >= V)
                    vstorev(vloadv(0, from + e * NW), 0, to);
                else
                    for (int l = 0; l < left; l++)
                        to[l] = from[e * NW + l];
        }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_direct_grad_w(global float *restrict part, global const float *restrict dy,
                   global const float *restrict x, int O, int outs, int tiles,
                   SHAPE)
{
    slice_of_grad(part, dy, x, O, outs, tiles, C, H, W, Ho, Wo, kh, kw, stride,
                  top, left, apart, lines, high, wide,
                  get_group_id(0) * (KC / (kh * kw)), get_group_id(1) * outs,
                  get_group_id(2), get_num_groups(2));
}

kernel void conv_direct_sum(global float *restrict dw,
                            global const float *restrict part, int O, int K,
                            int slices, int add)
{
    const int k0 = get_global_id(0) * 16, n = min(16, K - k0);

    for (int o = 0; o < O; o += V) {
        const int left = min(V, O - o);
        float s[16 * V];

        for (int k = 0; k < n; k++) {
            global const float *from = part + (size_t)(k0 + k) * O + o;

            for (int l = 0; l < left; l++)
                s[k * V + l] = from[l];
            for (int i = 1; i < slices; i++)
                for (int l = 0; l < left; l++)
                    s[k * V + l] += from[(size_t)i * K * O + l];
        }
        for (int l = 0; l < left; l++)
            for (int k = 0; k < n; k++) {
                global float *to = dw + (size_t)(o + l) * K + k0 + k;
                *to = add ? *to + s[k * V + l] : s[k * V + l];
            }
    }
}

kernel void conv_direct_transpose(global float *restrict out,
                                  global const float *restrict w, int O,
                                  int taps)
{
    const int c = get_global_id(0), C = get_global_size(0);

    out += (size_t)c * O * taps;
    w += (size_t)c * taps;
    for (int o = 0; o < O; o++, out += taps, w += (size_t)C * taps)
        for (int k = 0; k < taps; k++)
            out[k] = w[taps - 1 - k];
}
