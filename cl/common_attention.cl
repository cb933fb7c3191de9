/*
 * common_attention.cl - the arguments that attention's kernels share, forward
 * and backward: queries, keys with values, bias and sizes, as attention.cl
 * says.
 *
 * VT_BIAS_OF  the [Tq,T] of the bias for picture b and head h.
 */
#define VT_QKV                                                                 \
    global const float *q, global const float *kv,                             \
        global const float *restrict bias, int B, int H, int Tq, int T,        \
        int qb, int ldq, int ldk, int koff, int voff, float scale
#if BIAS == 2
#define VT_BIAS_OF(b, h) ((size_t)(b)*H + (h))
#else
#define VT_BIAS_OF(b, h) ((size_t)(h))
#endif
