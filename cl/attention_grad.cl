/*
 * attention_grad.cl - gradients of attention.cl, probabilities recomputed: what
 * the formulas are, the gradient of the bias, and a product for inspection. dq,
 * dk and dv have attention_grad_tiles.cl on GPU-class devices; the others have
 * attention_grad_heads.cl.
 *
 *     x[i,j]  = scale * sum_d q[i,d] k[j,d] + bias[h,i,j];  p = softmax_j x
 *     dp[i,j] = sum_d dout[i,d] v[j,d]
 *     dx[i,j] = p[i,j] * (dp[i,j] - sum_j p[i,j] dp[i,j])
 *     dq = scale * dx k;  dk = scale * dx^T q;  dv = p^T dout;
 *     dbias = sum_b dx, or dx where each picture has its own bias
 *
 * attention_grad__bias  dbias    <- dout, stat, q, kv, bias
 * attention_grad__product  p * dp <- dout, q, kv, bias; any class, for
 *                          inspection
 *
 * Tensors lie as in attention.cl: dq as q, dk and dv as kv (one buffer or two);
 * dout and out are [B,Tq,H*D], bias and dbias [H,Tq,T] or, with BIAS=2,
 * [B,H,Tq,T]. stat[B,H,Tq,2]: (log sum exp x, sum p dp).
 * Memory grows with T, not T x T; only dbias is as large as bias.
 *
 * bias      Launch: global {T, Tq, H}, or {T, Tq, B*H} with BIAS=2.
 * product   A work-item has one query. Stores T x T: product[B,H,Tq,T].
 *           Launch: global {Tq, H, B}.
 * Defines   D; BIAS if there is one (2: one for each picture).
 * Numerics  Every sum has a fixed order, no atomics: equal bits.
 * Paper     Dao et al. 2022, arXiv:2205.14135, appendix B.2.
 * Host      host/ops/attention_grad.c
 * Test      tests/ops/test_attention_grad.c
 */
#ifndef D
#define D 64
#endif

kernel void attention_grad__bias(global float *restrict dbias,
                                 global const float *dout,
                                 global const float *restrict stat, VT_QKV)
{
    const int j = get_global_id(0), i = get_global_id(1);
    const int h = get_global_id(2) % H, first = get_global_id(2) / H;
    const size_t at = ((size_t)get_global_id(2) * Tq + i) * T + j;
#if BIAS == 2
    const int end = first + 1;
#else
    const int end = B;
#endif
    float sum = 0.0f;

    for (int b = first; b < end; b++) {
        global const float *x = q + (size_t)b * qb + (size_t)i * ldq + h * D;
        global const float *g = dout + ((size_t)b * Tq + i) * (H * D) + h * D;
        global const float *k = kv + ((size_t)b * T + j) * ldk + h * D;
        global const float *s = stat + (((size_t)b * H + h) * Tq + i) * 2;
        float y = 0.0f, dp = 0.0f;

        for (int d = 0; d < D; d++) {
            y = fma(x[d] * scale, k[koff + d], y);
            dp = fma(g[d], k[voff + d], dp);
        }
#ifdef BIAS
        y += bias[at];
#endif
        sum += vt_exp(y - s[0]) * (dp - s[1]);
    }
    dbias[at] = sum;
}

kernel void attention_grad__product(global float *restrict product,
                                    global const float *dout, VT_QKV)
{
    const int i = get_global_id(0), h = get_global_id(1), b = get_global_id(2);
    float top = -INFINITY, all = 0.0f;

    q += VT_Q_AT(b) + (size_t)i * ldq + h * D;
    kv += VT_KV_AT(b) + h * D;
    dout += VT_OUT_AT(b, i) + h * D;
    product += (((size_t)b * H + h) * Tq + i) * T;
    for (int j = 0; j < T; j++) {
        float y = 0.0f;
        for (int d = 0; d < D; d++)
            y = fma(q[d] * scale, kv[(size_t)j * ldk + koff + d], y);
#ifdef BIAS
        y += bias[(VT_BIAS_OF(b, h) * Tq + i) * T + j];
#endif
        product[j] = y;
        top = fmax(top, y);
    }
    for (int j = 0; j < T; j++)
        all += product[j] = vt_exp(product[j] - top);
    for (int j = 0; j < T; j++) {
        float dp = 0.0f;
        for (int d = 0; d < D; d++)
            dp = fma(dout[d], kv[(size_t)j * ldk + voff + d], dp);
        product[j] = product[j] / all * dp;
    }
}
