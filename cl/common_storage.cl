/*
 * common_storage.cl - numbers in memory, and what is done to a product before
 * it is stored.
 *
 * Halves      stored as ushort: vt_bf16_load, vt_bf16_store, vt_f16_load,
 *             vt_f16_store; rounded to nearest even. No arithmetic in half.
 * Storage     load_T, load4_T, load8_T, load16_T(p, i) and store.._T(p, i, v):
 *             lanes from p[i] on, T one of f32, f16, bf16 (pointers to
 *             VT_TYPE_T), so that a define chooses a kernel's storage type.
 *             VT_LOAD, VT_LOADV(T, p, i) and VT_STORE, VT_STOREV(T, p, i, v):
 *             the same for a T that is a define, one lane or V. XT and YT: how
 *             the input and the output of an op are stored.
 * Types       F32, BF16, F16, INT8: what a product multiplies, the define TYPE.
 * Epilogue    vt_epilogue, 4, 8, 16, v: residual + scale * act(v + bias). The
 *             defines BIAS, SCALE, RESIDUAL and ACT say which terms exist;
 *             TIMES: the residual is a factor; RST: how it is stored.
 */
/* as vt_type_number() in host/ocl/precision.h */
#define F32 0
#define BF16 1
#define F16 2
#define INT8 3

/* t[4][4], of stride ld, <- the rows r0 to r3 of four, transposed. */
#define VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, ld)                             \
    do {                                                                       \
        vstore4((float4)(r0.x, r1.x, r2.x, r3.x), 0, t);                       \
        vstore4((float4)(r0.y, r1.y, r2.y, r3.y), 0, t + (ld));                \
        vstore4((float4)(r0.z, r1.z, r2.z, r3.z), 0, t + 2 * (ld));            \
        vstore4((float4)(r0.w, r1.w, r2.w, r3.w), 0, t + 3 * (ld));            \
    } while (0)

/* ---- halves ---- */

static inline float vt_bf16_load(global const ushort *p, size_t i)
{
    return as_float((uint)p[i] << 16);
}
static inline ushort vt_bf16_round(float f)
{
    const uint u = as_uint(f);

    return (ushort)(isnan(f) ? (u >> 16 | 0x40)
                             : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline void vt_bf16_store(float f, global ushort *p, size_t i)
{
    p[i] = vt_bf16_round(f);
}
static inline float vt_f16_load(global const ushort *p, size_t i)
{
    return vload_half(i, (global const half *)p);
}
static inline void vt_f16_store(float f, global ushort *p, size_t i)
{
    vstore_half_rte(f, i, (global half *)p);
}

/* ---- storage types ---- */

#define VT_TYPE_f32 float
#define VT_TYPE_f16 ushort
#define VT_TYPE_bf16 ushort
#define VT_TYPE(t) VT_JOIN(VT_TYPE_, t)

static inline float load_f32(global const float *p, size_t i)
{
    return p[i];
}
static inline float load_f16(global const ushort *p, size_t i)
{
    return vt_f16_load(p, i);
}
static inline float load_bf16(global const ushort *p, size_t i)
{
    return vt_bf16_load(p, i);
}
static inline void store_f32(global float *p, size_t i, float v)
{
    p[i] = v;
}
static inline void store_f16(global ushort *p, size_t i, float v)
{
    vt_f16_store(v, p, i);
}
static inline void store_bf16(global ushort *p, size_t i, float v)
{
    vt_bf16_store(v, p, i);
}

/* WHOLE: vectors begin at multiples of their size. Some compilers read others
 * number by number. */
#ifdef WHOLE
#define VT_VLOAD(t, n, p) (*(global const t##n *)(p))
#else
#define VT_VLOAD(t, n, p) vload##n(0, p)
#endif

#define VT_STORAGE(n)                                                          \
    static inline float##n load##n##_f32(global const float *p, size_t i)      \
    {                                                                          \
        return VT_VLOAD(float, n, p + i);                                      \
    }                                                                          \
    static inline float##n load##n##_f16(global const ushort *p, size_t i)     \
    {                                                                          \
        return vload_half##n(0, (global const half *)p + i);                   \
    }                                                                          \
    static inline float##n load##n##_bf16(global const ushort *p, size_t i)    \
    {                                                                          \
        return as_float##n(convert_uint##n(VT_VLOAD(ushort, n, p + i))         \
                           << 16u);                                            \
    }                                                                          \
    static inline void store##n##_f32(global float *p, size_t i, float##n v)   \
    {                                                                          \
        VT_VSTORE(float, n, v, p + i);                                         \
    }                                                                          \
    static inline void store##n##_f16(global ushort *p, size_t i, float##n v)  \
    {                                                                          \
        vstore_half##n##_rte(v, 0, (global half *)p + i);                      \
    }                                                                          \
    static inline void store##n##_bf16(global ushort *p, size_t i, float##n v) \
    {                                                                          \
        const uint##n u = as_uint##n(v);                                       \
        const uint##n r = (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;            \
        VT_VSTORE(ushort, n,                                                   \
                  convert_ushort##n(select(r, (u >> 16u) | 0x40u, v != v)),    \
                  p + i);                                                      \
    }
VT_STORAGE(4)
VT_STORAGE(8)
VT_STORAGE(16)

#ifndef XT
#define XT f32
#endif
#ifndef YT
#define YT f32
#endif
#define VT_LOAD(t, p, i) VT_JOIN(load_, t)(p, i)
#define VT_LOADV(t, p, i) VT_JOIN(VT_JOIN(load, V), VT_JOIN(_, t))(p, i)
#define VT_STORE(t, p, i, v) VT_JOIN(store_, t)(p, i, v)
#define VT_STOREV(t, p, i, v) VT_JOIN(VT_JOIN(store, V), VT_JOIN(_, t))(p, i, v)

/* ---- GEMM epilogue ---- */

#ifndef ACT
#define ACT VT_ACT_NONE
#endif
#ifndef RST
#define RST f32
#endif
#ifdef BIAS
#define VT_ADD_BIAS(load) v += load(bias, col)
#else
#define VT_ADD_BIAS(load)
#endif
#ifdef SCALE
#define VT_MUL_SCALE(load) v *= load(scale, col)
#else
#define VT_MUL_SCALE(load)
#endif
#ifdef TIMES
#define VT_ADD_RESIDUAL(load) v *= load(residual, at)
#elif defined(RESIDUAL)
#define VT_ADD_RESIDUAL(load) v += load(residual, at)
#else
#define VT_ADD_RESIDUAL(load)
#endif

/* Columns from col on; `at` is the index of the first in C. */
#define VT_EPILOGUE(n, F)                                                      \
    static inline F vt_epilogue##n(                                            \
        F v, global const float *bias, global const float *scale,              \
        global const VT_TYPE(RST) * residual, size_t col, size_t at)           \
    {                                                                          \
        VT_ADD_BIAS(load##n##_f32);                                            \
        v = vt_act(v, ACT);                                                    \
        VT_MUL_SCALE(load##n##_f32);                                           \
        VT_ADD_RESIDUAL(VT_JOIN(load##n##_, RST));                             \
        return v;                                                              \
    }
VT_EPILOGUE(, float)
VT_EPILOGUE(4, float4)
VT_EPILOGUE(8, float8)
VT_EPILOGUE(16, float16)
