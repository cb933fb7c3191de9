/*
 * add.cl - sums of two tensors, and of a tensor and repeated rows or channels.
 *
 * add            out[n] = a[n] + b[n]
 * add_rows       out[N,R] = x[N,R] + y[R]                   (positions, biases)
 * add_grid       out[b,R+y*gw+x] = in + (across[x], down[y])    (2-D positions)
 * add_grid_grad  dtable[n] += sum over b, m of dout[b,first+n*each+m*step]
 * add_channels   out[B,C,S] = relu(x[B,C,S] + b[C] + residual[B,C,S])
 * add_to         sum[n] += x[n]
 * add_rows_grad  dy[R] += sum_n dx[n,R]
 *
 * residual may be NULL; relu is 0 or 1.
 *
 * Launch    add, add_to: global {ceil(n / (PER*V))}
 *           add_rows: global {ceil(R / (PER*V)), N}
 *           add_grid: global {ceil(C / (PER*V)), B*T}
 *           add_channels: global {ceil(S / (PER*V)), B*C}
 *           add_grid_grad: global {C/2, rows of dtable}
 *           add_rows_grad: global {8 * ceil(R / 8), 32}, local {8, 32}
 *           add_rows_grad__cols: for CPUs, global {ceil(R / 4V)}
 * Local     add_rows_grad: 256 floats.
 * Defines   V, PER (common.cl); forward kernels: XT (a, x), RST (b, residual)
 *           and YT (out), how they are stored.
 * Numerics  No atomics: equal inputs give equal bits.
 *
 * Host      host/ops/add.c            Test  tests/ops/test_add.c
 */
kernel void add(global VT_TYPE(YT) *restrict out, global const VT_TYPE(XT) * a,
                global const VT_TYPE(RST) * b, int n)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V)
        VT_STOREV(YT, out, i, VT_LOADV(XT, a, i) + VT_LOADV(RST, b, i));
    for (; i < end; i++)
        VT_STORE(YT, out, i, VT_LOAD(XT, a, i) + VT_LOAD(RST, b, i));
}

kernel void add_to(global float *restrict sum, global const float *restrict x,
                   int n)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V)
        vstorev(vloadv(0, sum + i) + vloadv(0, x + i), 0, sum + i);
    for (; i < end; i++)
        sum[i] += x[i];
}

kernel void add_rows(global VT_TYPE(YT) *restrict out,
                     global const VT_TYPE(XT) *restrict x,
                     global const float *restrict y, int R)
{
    const size_t row = block_row(R);
    const int end = block_end(R);
    int i = block_begin(R);

    x += row * R;
    out += row * R;
    for (; i + V <= end; i += V)
        VT_STOREV(YT, out, i, VT_LOADV(XT, x, i) + vloadv(0, y + i));
    for (; i < end; i++)
        VT_STORE(YT, out, i, VT_LOAD(XT, x, i) + y[i]);
}

/* The first half of the channels is the position in x, the second in y. */
kernel void add_grid(global VT_TYPE(YT) *restrict out,
                     global const VT_TYPE(XT) *restrict x,
                     global const float *restrict across,
                     global const float *restrict down, int T, int C, int R,
                     int gw)
{
    const size_t row = block_row(C);
    const int t = (int)(row % T) - R, side = C / 2;
    const int end = block_end(C);

    x += row * C;
    out += row * C;
    across += t < 0 ? 0 : t % gw * side;
    down += t < 0 ? 0 : t / gw * side;
    for (int i = block_begin(C); i < end; i++) {
        const float v = VT_LOAD(XT, x, i);
        VT_STORE(YT, out, i,
                 t < 0 ? v : v + (i < side ? across[i] : down[i - side]));
    }
}

kernel void add_channels(global VT_TYPE(YT) *restrict out,
                         global const VT_TYPE(XT) *restrict x,
                         global const float *restrict b,
                         global const VT_TYPE(RST) *restrict residual, int C,
                         int S, int relu)
{
    const size_t row = block_row(S);
    const float shift = b[row % C];
    const int end = block_end(S);
    int i = block_begin(S);

    x += row * S;
    out += row * S;
    if (residual)
        residual += row * S;
    for (; i + V <= end; i += V) {
        floatv y = VT_LOADV(XT, x, i) + shift;
        if (residual)
            y += VT_LOADV(RST, residual, i);
        VT_STOREV(YT, out, i, relu ? vt_act(y, VT_ACT_RELU) : y);
    }
    for (; i < end; i++) {
        float y = VT_LOAD(XT, x, i) + shift;
        if (residual)
            y += VT_LOAD(RST, residual, i);
        VT_STORE(YT, out, i, relu ? vt_act(y, VT_ACT_RELU) : y);
    }
}

/* For one of the two tables: row n belongs to the tokens first + n * each + m *
 * step, m < M; its channels begin at `off`. */
kernel void add_grid_grad(global float *restrict dtable,
                          global const float *restrict dout, int B, int T,
                          int C, int off, int first, int each, int step, int M)
{
    const int c = item_x(C / 2), n = item_y(C / 2);
    float s = 0.0f;

    if (c >= C / 2)
        return;
    for (int b = 0; b < B; b++)
        for (int m = 0; m < M; m++)
            s += dout[((size_t)b * T + first + n * each + m * step) * C + off +
                      c];
    dtable[n * (C / 2) + c] += s;
}

kernel void add_rows_grad(global float *restrict dy,
                          global const float *restrict dx, int N, int R)
{
    local float tmp[COLUMNS_HIGH][COLUMNS_WIDE];
    const int c = get_global_id(0), j = get_local_id(1);
    float s = 0.0f;

    if (c < R)
        for (int n = j; n < N; n += COLUMNS_HIGH)
            s += dx[(size_t)n * R + c];
    s = column_sum(s, tmp);
    if (j == 0 && c < R)
        dy[c] += s;
}

kernel void add_rows_grad__cols(global float *restrict dy,
                                global const float *restrict dx, int N, int R)
{
    const int first = get_global_id(0) * 4 * V;
    const int end = min(first + 4 * V, R);

    if (end - first == 4 * V) {
        floatv s[4];
        EACH(k, 4)
            s[k] = 0.0f;
        for (int n = 0; n < N; n++)
            EACH(k, 4)
                s[k] += vloadv(k, dx + (size_t)n * R + first);
        EACH(k, 4)
            vstorev(vloadv(k, dy + first) + s[k], k, dy + first);
        return;
    }
    for (int c = first; c < end; c++) {
        float s = 0.0f;
        for (int n = 0; n < N; n++)
            s += dx[(size_t)n * R + c];
        dy[c] += s;
    }
}
