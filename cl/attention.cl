/*
 * attention.cl - softmax(scale * q k^T + bias) v, one head at a time, on
 * GPU-class devices; the others have attention_rows.cl.
 *
 *     x[i,j] = scale * sum_d q[i,d] k[j,d] + bias[h,i,j]
 *     out[i,d] = sum_j exp(x[i,j] - max_j x) v[j,d] / sum_j exp(x[i,j] - max)
 *
 * attention__tiled  out[B,Tq,H*D]   <- q, kv, bias
 * attention__probs  probs[B,H,Tq,T] <- q, kv, bias    any class, for inspection
 *
 * Query i of picture b, head h, is q[b*qb + i*ldq + h*D + d]; its keys are
 * kv[b*T*ldk + j*ldk + koff + h*D + d], its values the same with voff. q and kv
 * may be one buffer. qb = 0: all pictures share one set of queries. bias is
 * [H,Tq,T]; with BIAS=2, [B,H,Tq,T]; with BIAS=3, [Tq,T]. Only attention__probs
 * stores T x T.
 *
 * Tiled     A work-item has one query in registers; tiles of KT keys and values
 *           and their scores are in local memory (KT*(2*D+WG) floats), and
 *           with QUERY_LOCAL the queries (D*(WG+1)).
 *           Launch: global {ceil(Tq/WG)*WG, H, B}, local {WG, 1, 1}.
 * Probs     A work-item has one query. Launch: global {Tq, H, B}.
 * Defines   D; BIAS if there is one; LINES for the
 *           columns of a grid, QT and KVT for the storage of q and kv
 *           (common_attention.cl); YT for out's. Tiled: WG KT.
 * Numerics  Every sum runs over ascending d or j, so the bits of a query depend
 *           on its own data alone. log2(e) is folded into q: exponents are
 *           base 2.
 * Paper     Dao et al. 2022, arXiv:2205.14135 (blocks); Milakov, Gimelshein
 *           2018, arXiv:1805.02867 (the running maximum).
 * Host      host/ops/attention.c      Test  tests/ops/test_attention.c
 */
#ifndef KT
#define KT 16
#endif
#ifndef D
#define D 64
#endif
/* Unrolled, so that q and out are in registers; of wider heads they are not. */
#if D <= 96
#define EACH_D(d) EACH(d, D)
#else
#define EACH_D(d) for (int d = 0; d < D; d++)
#endif

/* Where a work-item has too few registers for q and out: q is in local memory,
 * from where a loop over the keys takes so many numbers. */
#if defined(XE) && D <= 96
#define QUERY_LOCAL (D <= 80 ? 16 : 8)
#define SUB_GROUP SUB_GROUP_16
#else
#define SUB_GROUP
#endif

kernel SUB_GROUP __attribute__((reqd_work_group_size(WG, 1, 1))) void
attention__tiled(global VT_TYPE(YT) *restrict out, VT_QKV)
{
    local float tk[KT][D] __attribute__((aligned(16)));
    local float tv[KT][D] __attribute__((aligned(16)));
    local float tp[KT][WG];
    const int lid = get_local_id(0), i = vt_group(0) * WG + lid;
    const int h = vt_group(1), b = vt_group(2);
    const int row = min(i, Tq - 1); /* the last group repeats the last query */
#ifdef QUERY_LOCAL
    local float tx[D][WG + 1];
    const int rows = min(WG, Tq - (i - lid)), column = min(lid, rows - 1);
#else
    float x[D];
#endif
    float o[D], top = -INFINITY, all = 0.0f;

    kv += VT_KV_AT(b) + h * D;
#ifdef QUERY_LOCAL
    q += VT_Q_AT(b) + (i - lid) * ldq + h * D;
    for (int e = lid; e < rows * D; e += WG)
        tx[e % D][e / D] =
            VT_LOAD(QT, q, (size_t)(e / D) * ldq + e % D) * (scale * VT_LOG2E);
#else
    q += VT_Q_AT(b) + row * ldq + h * D;
    EACH_D(d)
        x[d] = VT_LOAD(QT, q, d) * (scale * VT_LOG2E);
#endif
    EACH_D(d)
        o[d] = 0.0f;
#ifdef BIAS
    bias += (VT_BIAS_OF(b, h) * Tq + row) * T;
#endif
    for (int j0 = 0; j0 < T; j0 += KT) {
        const int keys = min(KT, T - j0);
        float m = top, keep;

        for (int e = lid; e < keys * D; e += WG) {
            const size_t at = (size_t)(j0 + e / D) * ldk + e % D;
            tk[e / D][e % D] = VT_LOAD(KVT, kv, at + koff);
            tv[e / D][e % D] = VT_LOAD(KVT, kv, at + voff);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#ifdef QUERY_LOCAL
        _Pragma("nounroll") for (int d0 = 0; d0 < D; d0 += QUERY_LOCAL)
        {
            float x[QUERY_LOCAL];

            EACH(d, QUERY_LOCAL)
                x[d] = D % QUERY_LOCAL == 0 || d0 + d < D ? tx[d0 + d][column]
                                                          : 0.0f;
            for (int j = 0; j < keys; j++) {
                float y = d0 ? tp[j][lid] : 0.0f;
                EACH(d, QUERY_LOCAL)
                    if (D % QUERY_LOCAL == 0 || d0 + d < D)
                        y = fma(x[d], tk[j][d0 + d], y);
                tp[j][lid] = y;
            }
        }
#endif
        for (int j = 0; j < keys; j++) {
#ifdef QUERY_LOCAL
            float y = tp[j][lid];
#else
            float y = 0.0f;
            EACH_D(d)
                y = fma(x[d], tk[j][d], y);
#endif
#ifdef BIAS
            y = fma(bias[j0 + j], VT_LOG2E, y);
#endif
            tp[j][lid] = y;
            m = y > m ? y : m;
        }
        keep = j0 ? vt_exp2_down(top - m) : 0.0f;
        top = m;
        all *= keep;
        EACH_D(d)
            o[d] *= keep;
        for (int j = 0; j < keys; j++) {
            const float e = vt_exp2_down(tp[j][lid] - m);
            all += e;
            EACH_D(d)
                o[d] = fma(e, tv[j][d], o[d]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < Tq)
        EACH_D(d)
            VT_STORE(YT, out, VT_OUT_AT(b, i) + h * D + d, o[d] / all);
}

kernel void attention__probs(global float *restrict out, VT_QKV)
{
    const int i = get_global_id(0), h = get_global_id(1), b = get_global_id(2);
    float top = -INFINITY, all = 0.0f;

    q += VT_Q_AT(b) + i * ldq + h * D;
    kv += VT_KV_AT(b) + koff + h * D;
    out += (((size_t)b * H + h) * Tq + i) * T;
    for (int j = 0; j < T; j++) {
        float y = 0.0f;
        for (int d = 0; d < D; d++)
            y = fma(VT_LOAD(QT, q, d) * (scale * VT_LOG2E),
                    VT_LOAD(KVT, kv, (size_t)j * ldk + d), y);
#ifdef BIAS
        y = fma(bias[(VT_BIAS_OF(b, h) * Tq + i) * T + j], VT_LOG2E, y);
#endif
        out[j] = y;
        top = y > top ? y : top;
    }
    for (int j = 0; j < T; j++)
        all += out[j] = vt_exp2_down(out[j] - top);
    for (int j = 0; j < T; j++)
        out[j] /= all;
}
