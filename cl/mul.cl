/*
 * mul.cl - products of two tensors, with repeated rows, or with a number.
 *
 * mul            out[n] = a[n] * b[n]
 * mul_rows       out[N,R] = x[N,R] * y[R]                       (layer scale)
 * mul_scalar     out[n] = x[n] * factor
 * mul_rows_grad  dy[R] += sum_n dout[n,R] * x[n,R]
 *
 * Launch    mul, mul_scalar: global {ceil(n / (PER*V))}
 *           mul_rows: global {ceil(R / (PER*V)), N}
 *           mul_rows_grad: global {8 * ceil(R / 8), 32}, local {8, 32}
 *           mul_rows_grad__cols: for CPUs, global {ceil(R / 4V)}
 * Local     mul_rows_grad: 256 floats.
 * Defines   V, PER (common.cl); mul_scalar: XT and YT, how x and out are
 *           stored.
 *
 * Host      host/ops/mul.c            Test  tests/ops/test_mul.c
 */
kernel void mul(global float *restrict out, global const float *a,
                global const float *b, int n)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V)
        vstorev(vloadv(0, a + i) * vloadv(0, b + i), 0, out + i);
    for (; i < end; i++)
        out[i] = a[i] * b[i];
}

kernel void mul_scalar(global VT_TYPE(YT) *restrict out,
                       global const VT_TYPE(XT) *restrict x, int n,
                       float factor)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V)
        VT_STOREV(YT, out, i, VT_LOADV(XT, x, i) * factor);
    for (; i < end; i++)
        VT_STORE(YT, out, i, VT_LOAD(XT, x, i) * factor);
}

kernel void mul_rows(global float *restrict out, global const float *restrict x,
                     global const float *restrict y, int R)
{
    const size_t row = block_row(R);
    const int end = block_end(R);
    int i = block_begin(R);

    x += row * R;
    out += row * R;
    for (; i + V <= end; i += V)
        vstorev(vloadv(0, x + i) * vloadv(0, y + i), 0, out + i);
    for (; i < end; i++)
        out[i] = x[i] * y[i];
}

kernel void mul_rows_grad(global float *restrict dy,
                          global const float *restrict dout,
                          global const float *restrict x, int N, int R)
{
    local float tmp[COLUMNS_HIGH][COLUMNS_WIDE];
    const int c = get_global_id(0), j = get_local_id(1);
    float s = 0.0f;

    if (c < R)
        for (int n = j; n < N; n += COLUMNS_HIGH)
            s = fma(dout[(size_t)n * R + c], x[(size_t)n * R + c], s);
    s = column_sum(s, tmp);
    if (j == 0 && c < R)
        dy[c] += s;
}

kernel void mul_rows_grad__cols(global float *restrict dy,
                                global const float *restrict dout,
                                global const float *restrict x, int N, int R)
{
    const int first = get_global_id(0) * 4 * V;
    const int end = min(first + 4 * V, R);

    if (end - first == 4 * V) {
        floatv s[4];
        EACH(k, 4)
            s[k] = 0.0f;
        for (int n = 0; n < N; n++) {
            const size_t at = (size_t)n * R + first;
            EACH(k, 4)
                s[k] = fma(vloadv(k, dout + at), vloadv(k, x + at), s[k]);
        }
        EACH(k, 4)
            vstorev(vloadv(k, dy + first) + s[k], k, dy + first);
        return;
    }
    for (int c = first; c < end; c++) {
        float s = 0.0f;
        for (int n = 0; n < N; n++)
            s = fma(dout[(size_t)n * R + c], x[(size_t)n * R + c], s);
        dy[c] += s;
    }
}
