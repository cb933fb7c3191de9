/*
 * common_math_acts.cl - activations.
 *
 * Functions   vt_act(x, kind) and its derivative vt_act_grad(x, kind) for
 *             float, float4, float8 and float16.
 *
 *   GELU          x/2 (1 + erf(x / sqrt 2)); TANH, QUICK: approximations;
 *                 10: clipped at 10
 *   TANH, RELU    tanh(x), max(x, 0); RELU6: at most 6; RELU2: its square;
 *                 LEAKY: x/100 below 0
 *   SIGMOID       1 / (1 + e^-x); HARD: (x + 3) / 6 between 0 and 1
 *   SILU          x sigmoid(x); SWISH_HARD: with the hard one
 *   ELU, SELU     e^x - 1 below 0; SELU: 1.0507 (x, or 1.6733 (e^x - 1))
 *   MISH          x tanh(ln(1 + e^x)); HARD: x/2 (x + 2) between 0 and x
 *   LAPLACE       (1 + erf((x - mu) / (sigma sqrt 2))) / 2
 *
 * Most of them are the text of those programs alone whose ACT is one: each
 * program of a plan would be compiled more slowly. A slope that jumps is, at
 * the jump, the one that PyTorch takes.
 *
 * Source      PyTorch's functions of these names; GELU: Hendrycks, Gimpel
 *             2016, arXiv:1606.08415. Numbers as vt_act in host/gemm/gemm.h.
 */
#define VT_ACT_NONE 0
#define VT_ACT_GELU 1
#define VT_ACT_GELU_TANH 2
#define VT_ACT_GELU_QUICK 3
#define VT_ACT_TANH 4
#define VT_ACT_RELU 5
#define VT_ACT_SILU 6
#define VT_ACT_SIGMOID 7
#define VT_ACT_RELU6 8
#define VT_ACT_RELU2 9
#define VT_ACT_RELU_LEAKY 10
#define VT_ACT_ELU 11
#define VT_ACT_SELU 12
#define VT_ACT_MISH 13
#define VT_ACT_SIGMOID_HARD 14
#define VT_ACT_SWISH_HARD 15
#define VT_ACT_MISH_HARD 16
#define VT_ACT_GELU_10 17
#define VT_ACT_LAPLACE 18

/* of a program that asks for one of these */
#if defined(ACT) && ACT > VT_ACT_SILU
#define VT_MORE_ACTS(F)                                                        \
    static inline F __attribute__((overloadable))                              \
    vt_clip(F x, float lo, float hi)                                           \
    {                                                                          \
        x = select(x, (F)(lo), x < (F)(lo)); /* keeps NaN */                   \
        return select(x, (F)(hi), x > (F)(hi));                                \
    }                                                                          \
    /* 1 from lo to hi, else 0 */                                              \
    static inline F __attribute__((overloadable))                              \
    vt_within(F x, float lo, float hi)                                         \
    {                                                                          \
        const F y = select((F)(0.0f), (F)(1.0f), x > (F)(lo));                 \
        return select((F)(0.0f), y, x < (F)(hi));                              \
    }                                                                          \
    /* e^x - 1 for x <= 0 */                                                   \
    static inline F __attribute__((overloadable)) vt_expm1_down(F x)           \
    {                                                                          \
        const F t = vt_tanh(0.5f * x);                                         \
        return 2.0f * t / (1.0f - t);                                          \
    }                                                                          \
    static inline F __attribute__((overloadable)) vt_gelu(F x)                 \
    {                                                                          \
        return 0.5f * x * (vt_erf(x * 0.707106781f) + 1.0f);                   \
    }                                                                          \
    static inline F __attribute__((overloadable)) vt_more_act(F x, int kind)   \
    {                                                                          \
        F e, n;                                                                \
        switch (kind) {                                                        \
        case VT_ACT_SIGMOID:                                                   \
            return vt_sigmoid(x);                                              \
        case VT_ACT_RELU6:                                                     \
            return vt_clip(x, 0.0f, 6.0f);                                     \
        case VT_ACT_RELU2:                                                     \
            n = select(x, (F)(0.0f), x < (F)(0.0f));                           \
            return n * n;                                                      \
        case VT_ACT_RELU_LEAKY:                                                \
            return select(x, 0.01f * x, x < (F)(0.0f));                        \
        case VT_ACT_ELU:                                                       \
            n = vt_expm1_down(vt_clip(x, -INFINITY, 0.0f));                    \
            return select(n, x, x > (F)(0.0f));                                \
        case VT_ACT_SELU:                                                      \
            n = 1.67326324f * vt_expm1_down(vt_clip(x, -INFINITY, 0.0f));      \
            return 1.05070099f * select(n, x, x > (F)(0.0f));                  \
        case VT_ACT_MISH: /* tanh(ln(1 + e^x)) is n / (n + 2) */               \
            e = vt_exp(vt_clip(x, -INFINITY, 20.0f));                          \
            n = e * (e + 2.0f);                                                \
            return x * (n / (n + 2.0f));                                       \
        case VT_ACT_SIGMOID_HARD:                                              \
            return vt_clip(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6);                 \
        case VT_ACT_SWISH_HARD:                                                \
            return x * vt_clip(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6);             \
        case VT_ACT_MISH_HARD:                                                 \
            return 0.5f * x * vt_clip(x + 2.0f, 0.0f, 2.0f);                   \
        case VT_ACT_GELU_10:                                                   \
            return vt_clip(vt_gelu(x), -10.0f, 10.0f);                         \
        default: /* LAPLACE: (x - 0.707107) / (0.282095 sqrt(2)) */            \
            return 0.5f * (vt_erf((x - 0.707107f) * 2.50662642f) + 1.0f);      \
        }                                                                      \
    }                                                                          \
    static inline F __attribute__((overloadable))                              \
    vt_more_act_grad(F x, int kind)                                            \
    {                                                                          \
        F e, n;                                                                \
        switch (kind) {                                                        \
        case VT_ACT_SIGMOID:                                                   \
            n = vt_sigmoid(x);                                                 \
            return n * (1.0f - n);                                             \
        case VT_ACT_RELU6:                                                     \
            return vt_within(x, 0.0f, 6.0f);                                   \
        case VT_ACT_RELU2:                                                     \
            return 2.0f * select(x, (F)(0.0f), x < (F)(0.0f));                 \
        case VT_ACT_RELU_LEAKY:                                                \
            return select((F)(0.01f), (F)(1.0f), x > (F)(0.0f));               \
        case VT_ACT_ELU:                                                       \
            return vt_exp(vt_clip(x, -INFINITY, 0.0f));                        \
        case VT_ACT_SELU:                                                      \
            n = 1.75809934f * vt_exp(vt_clip(x, -INFINITY, 0.0f));             \
            return select(n, (F)(1.05070099f), x > (F)(0.0f));                 \
        case VT_ACT_MISH:                                                      \
            e = vt_exp(vt_clip(x, -INFINITY, 20.0f));                          \
            n = 1.0f / (e * (e + 2.0f) + 2.0f);                                \
            return fma(4.0f * x * e * (e + 1.0f), n * n, 1.0f - 2.0f * n);     \
        case VT_ACT_SIGMOID_HARD:                                              \
            return vt_within(x, -3.0f, 3.0f) * (1.0f / 6);                     \
        case VT_ACT_SWISH_HARD:                                                \
            n = select((F)(0.0f), fma(x, (F)(1.0f / 3), (F)(0.5f)),            \
                       x > (F)(-3.0f));                                        \
            return select(n, (F)(1.0f), x >= (F)(3.0f));                       \
        case VT_ACT_MISH_HARD:                                                 \
            n = select((F)(0.0f), x + 1.0f, x >= (F)(-2.0f));                  \
            return select(n, (F)(1.0f), x > (F)(0.0f));                        \
        case VT_ACT_GELU_10:                                                   \
            n = fma(x * 0.398942280f,                                          \
                    vt_exp2_down(x * x * (-0.5f * VT_LOG2E)),                  \
                    0.5f * (vt_erf(x * 0.707106781f) + 1.0f));                 \
            return select(n, (F)(0.0f), x >= (F)(10.0f));                      \
        default:                                                               \
            n = (x - 0.707107f) * 2.50662642f;                                 \
            return 1.41421252f * vt_exp2_down(n * n * -VT_LOG2E);              \
        }                                                                      \
    }
VT_MORE_ACTS(float)
VT_MORE_ACTS(float4)
VT_MORE_ACTS(float8)
VT_MORE_ACTS(float16)
#define VT_OTHER_ACT(F, x, kind) vt_more_act(x, kind)
#define VT_OTHER_GRAD(F, x, kind) vt_more_act_grad(x, kind)
#else
#define VT_OTHER_ACT(F, x, kind) (x)
#define VT_OTHER_GRAD(F, x, kind) (F)(1.0f)
#endif

#define VT_ACTS(F)                                                             \
    static inline F __attribute__((overloadable)) vt_act(F x, int kind)        \
    {                                                                          \
        switch (kind) {                                                        \
        case VT_ACT_GELU:                                                      \
            return 0.5f * x * (vt_erf(x * 0.707106781f) + 1.0f);               \
        case VT_ACT_GELU_TANH:                                                 \
            return 0.5f * x *                                                  \
                   (vt_tanh(0.797884561f * fma(0.044715f * x * x, x, x)) +     \
                    1.0f);                                                     \
        case VT_ACT_GELU_QUICK:                                                \
            return x * vt_sigmoid(1.702f * x);                                 \
        case VT_ACT_TANH:                                                      \
            return vt_tanh(x);                                                 \
        case VT_ACT_RELU:                                                      \
            return select(x, (F)(0.0f), x < (F)(0.0f));                        \
        case VT_ACT_SILU:                                                      \
            return x * vt_sigmoid(x);                                          \
        default:                                                               \
            return VT_OTHER_ACT(F, x, kind);                                   \
        }                                                                      \
    }                                                                          \
    /* d act(x) / dx */                                                        \
    static inline F __attribute__((overloadable)) vt_act_grad(F x, int kind)   \
    {                                                                          \
        F s, t;                                                                \
        switch (kind) {                                                        \
        case VT_ACT_GELU:                                                      \
            s = 0.5f * (vt_erf(x * 0.707106781f) + 1.0f);                      \
            return fma(x * 0.398942280f,                                       \
                       vt_exp2_down(x * x * (-0.5f * VT_LOG2E)), s);           \
        case VT_ACT_GELU_TANH:                                                 \
            t = vt_tanh(0.797884561f * fma(0.044715f * x * x, x, x));          \
            s = 0.797884561f * fma(0.134145f * x, x, (F)(1.0f));               \
            return 0.5f * (t + 1.0f) + 0.5f * x * (1.0f - t * t) * s;          \
        case VT_ACT_GELU_QUICK:                                                \
            s = vt_sigmoid(1.702f * x);                                        \
            return fma(1.702f * x * s, 1.0f - s, s);                           \
        case VT_ACT_TANH:                                                      \
            t = vt_tanh(x);                                                    \
            return 1.0f - t * t;                                               \
        case VT_ACT_RELU:                                                      \
            return select((F)(0.0f), (F)(1.0f), x > (F)(0.0f));                \
        case VT_ACT_SILU:                                                      \
            s = vt_sigmoid(x);                                                 \
            return fma(x * s, 1.0f - s, s);                                    \
        default:                                                               \
            return VT_OTHER_GRAD(F, x, kind);                                  \
        }                                                                      \
    }
VT_ACTS(float)
VT_ACTS(float4)
VT_ACTS(float8)
VT_ACTS(float16)
