/*
 * common_attention.cl - the arguments that attention's kernels share, forward
 * and backward: queries, keys with values, bias and sizes, as attention.cl
 * says.
 *
 * BIAS        if there is one: 1, for each head; 2, for each picture and head;
 *             3, for all of them.
 * VT_BIAS_OF  the [Tq,T] of the bias for picture b and head h.
 * VT_Q_AT, VT_KV_AT  where the first query, and the first key or value, of
 *             picture b is in q and kv.
 * QT, KVT     how queries, and keys and values, are stored (common_storage.cl).
 * VT_OUT_AT   where the output of query i is; VT_LDO: how far two are apart.
 *
 * With LINES=n, "pictures" are the columns of grids of n columns: n of them
 * begin at tokens one after the other, and the tokens of each are n apart. ldq
 * and ldk are then n tokens long, and qb is a grid. A row of a grid is a
 * picture of its own without any of this.
 */
#ifndef QT
#define QT f32
#endif
#ifndef KVT
#define KVT f32
#endif
#define VT_QKV                                                                 \
    global const VT_TYPE(QT) * q, global const VT_TYPE(KVT) * kv,              \
        global const float *restrict bias, int B, int H, int Tq, int T,        \
        int qb, int ldq, int ldk, int koff, int voff, float scale
#ifdef LINES
#define VT_LINE(b, all, ld)                                                    \
    ((size_t)((b) / LINES) * (all) + (size_t)((b) % LINES) * ((ld) / LINES))
#define VT_Q_AT(b) VT_LINE(b, qb, ldq)
#define VT_KV_AT(b) VT_LINE(b, (size_t)T *ldk, ldk)
#define VT_LDO (H * D * LINES)
#define VT_OUT_AT(b, i)                                                        \
    (VT_LINE(b, (size_t)Tq * VT_LDO, VT_LDO) + (size_t)(i)*VT_LDO)
#else
#define VT_Q_AT(b) ((size_t)(b)*qb)
#define VT_KV_AT(b) ((size_t)(b)*T * ldk)
#define VT_LDO (H * D)
#define VT_OUT_AT(b, i) (((size_t)(b)*Tq + (i)) * (H * D))
#endif
#if BIAS == 2
#define VT_BIAS_OF(b, h) ((size_t)(b)*H + (h))
#elif BIAS == 3
#define VT_BIAS_OF(b, h) ((size_t)0)
#else
#define VT_BIAS_OF(b, h) ((size_t)(h))
#endif
