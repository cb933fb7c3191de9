/*
 * attention_grad.cl - gradients of attention.cl, probabilities recomputed, on
 * GPU-class devices; the others have attention_grad_heads.cl.
 *
 *     x[i,j]  = scale * sum_d q[i,d] k[j,d] + bias[h,i,j];  p = softmax_j x
 *     dp[i,j] = sum_d dout[i,d] v[j,d]
 *     dx[i,j] = p[i,j] * (dp[i,j] - sum_j p[i,j] dp[i,j])
 *     dq = scale * dx k;  dk = scale * dx^T q;  dv = p^T dout;
 *     dbias = sum_b dx, or dx where each picture has its own bias
 *
 * attention_grad__q     dq, stat <- dout, out, q, kv, bias
 * attention_grad__kv    dk, dv   <- dout, stat, q, kv, bias
 * attention_grad__bias  dbias    <- dout, stat, q, kv, bias
 * attention_grad__product  p * dp <- dout, q, kv, bias; any class, for
 *                          inspection
 *
 * Tensors lie as in attention.cl: dq as q, dk and dv as kv (one buffer or two);
 * dout and out are [B,Tq,H*D], bias and dbias [H,Tq,T] or, with BIAS=2,
 * [B,H,Tq,T]. stat[B,H,Tq,2]: (log sum exp x, sum p dp).
 * Memory grows with T, not T x T; only dbias is as large as bias.
 *
 * q, kv     A work-item has one query, or one key.
 *           Launch: global {ceil(Tq/WG)*WG or the same of T, H, B}, local
 *           {WG, 1, 1}.
 * bias      Launch: global {T, Tq, H}, or {T, Tq, B*H} with BIAS=2.
 * product   A work-item has one query. Stores T x T: product[B,H,Tq,T].
 *           Launch: global {Tq, H, B}.
 * Defines   D; BIAS if there is one (2: one for each picture); LINES as in
 *           common_attention.cl, without a bias; WG.
 * Numerics  Every sum has a fixed order, no atomics: equal bits.
 * Paper     Dao et al. 2022, arXiv:2205.14135, appendix B.2.
 * Host      host/ops/attention_grad.c
 * Test      tests/ops/test_attention_grad.c
 */
#ifndef D
#define D 64
#endif

/* scale * q . k + bias, and dout . v */
static inline float2 pair(const float *x, const float *g, global const float *k,
                          global const float *v)
{
    float2 s = (float2)(0.0f);

    for (int d = 0; d < D; d++) {
        s.x = fma(x[d], k[d], s.x);
        s.y = fma(g[d], v[d], s.y);
    }
    return s;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
attention_grad__q(global float *dq, global float *restrict stat,
                  global const float *dout, global const float *out, VT_QKV)
{
    const int i = get_global_id(0), h = get_group_id(1), b = get_group_id(2);
    float x[D], g[D], o[D], top = -INFINITY, all = 0.0f, delta = 0.0f;

    if (i >= Tq)
        return;
    q += VT_Q_AT(b) + (size_t)i * ldq + h * D;
    dq += VT_Q_AT(b) + (size_t)i * ldq + h * D;
    dout += VT_OUT_AT(b, i) + h * D;
    out += VT_OUT_AT(b, i) + h * D;
    kv += VT_KV_AT(b) + h * D;
    for (int d = 0; d < D; d++) {
        x[d] = q[d] * scale;
        g[d] = dout[d];
        o[d] = 0.0f;
        delta = fma(g[d], out[d], delta);
    }
#ifdef BIAS
    bias += (VT_BIAS_OF(b, h) * Tq + i) * T;
#endif
    for (int j = 0; j < T; j++) {
        float y = 0.0f;
        for (int d = 0; d < D; d++)
            y = fma(x[d], kv[(size_t)j * ldk + koff + d], y);
#ifdef BIAS
        y += bias[j];
#endif
        const float m = fmax(top, y);
        all = all * vt_exp(top - m) + vt_exp(y - m);
        top = m;
    }
    const float lse = top + log(all);
    for (int j = 0; j < T; j++) {
        global const float *k = kv + (size_t)j * ldk + koff;
        float2 s = pair(x, g, k, k - koff + voff);
#ifdef BIAS
        s.x += bias[j];
#endif
        const float w = vt_exp(s.x - lse) * (s.y - delta) * scale;
        for (int d = 0; d < D; d++)
            o[d] = fma(w, k[d], o[d]);
    }
    for (int d = 0; d < D; d++)
        dq[d] = o[d];
    stat += (((size_t)b * H + h) * Tq + i) * 2;
    stat[0] = lse;
    stat[1] = delta;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
attention_grad__kv(global float *dkv, global const float *dout,
                   global const float *restrict stat, VT_QKV)
{
    const int j = get_global_id(0), h = get_group_id(1), b = get_group_id(2);
    float k[D], v[D], dk[D], dv[D];

    if (j >= T)
        return;
    q += VT_Q_AT(b) + h * D;
    dout += VT_OUT_AT(b, 0) + h * D;
    stat += ((size_t)b * H + h) * Tq * 2;
    kv += VT_KV_AT(b) + (size_t)j * ldk + h * D;
    dkv += VT_KV_AT(b) + (size_t)j * ldk + h * D;
    for (int d = 0; d < D; d++) {
        k[d] = kv[koff + d] * scale;
        v[d] = kv[voff + d];
        dk[d] = dv[d] = 0.0f;
    }
    for (int i = 0; i < Tq; i++) {
        global const float *x = q + (size_t)i * ldq;
        global const float *g = dout + (size_t)i * VT_LDO;
        float2 s = pair(k, v, x, g);
#ifdef BIAS
        s.x += bias[(VT_BIAS_OF(b, h) * Tq + i) * T + j];
#endif
        const float p = vt_exp(s.x - stat[2 * i]);
        const float w = p * (s.y - stat[2 * i + 1]) * scale;
        for (int d = 0; d < D; d++) {
            dk[d] = fma(w, x[d], dk[d]);
            dv[d] = fma(p, g[d], dv[d]);
        }
    }
    for (int d = 0; d < D; d++) {
        dkv[koff + d] = dk[d];
        dkv[voff + d] = dv[d];
    }
}

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
