/*
 * declared.cl - the functions of OpenCL C that kernels for CPUs use.
 *
 * PoCL reads clang's header, of 18,000 lines, twice for each program: 0.1 s,
 * longer than it reads the kernels. Where it is left out (host/ocl/join.c),
 * this stands in front of a program. Text that needs more does not compile so,
 * and is compiled with the header.
 *
 * Test  syntax_x of each cl/x.cl that CPUs run
 */
#define VT_F __attribute__((overloadable))
#define VT_CONST __attribute__((overloadable, const))
#define VT_PURE __attribute__((overloadable, pure))

size_t VT_CONST get_global_id(uint);
size_t VT_CONST get_global_offset(uint);
size_t VT_CONST get_global_size(uint);
size_t VT_CONST get_group_id(uint);
size_t VT_CONST get_local_id(uint);
size_t VT_CONST get_num_groups(uint);
void VT_F __attribute__((convergent)) barrier(cl_mem_fence_flags);
int VT_F atomic_inc(volatile global int *);
int VT_F atomic_xchg(volatile global int *, int);
int VT_F atomic_max(volatile global int *, int);
uint VT_F atomic_max(volatile global uint *, uint);
int VT_CONST clz(int);
uint VT_CONST abs(int);
long VT_CONST min(long, long);
long VT_CONST max(long, long);
char VT_CONST convert_char_sat_rte(float);
int VT_CONST convert_int_rte(float);

#define VT_OF_FLOATS(F, I, U)                                                  \
    F VT_CONST fma(F, F, F);                                                   \
    F VT_CONST fmax(F, F);                                                     \
    F VT_CONST fmin(F, F);                                                     \
    F VT_CONST clamp(F, F, F);                                                 \
    F VT_CONST copysign(F, F);                                                 \
    F VT_CONST select(F, F, I);                                                \
    I VT_CONST select(I, I, I);                                                \
    I VT_CONST select(I, I, U);                                                \
    F VT_CONST select(F, F, U);                                                \
    U VT_CONST select(U, U, I);                                                \
    U VT_CONST min(U, U);                                                      \
    U VT_CONST max(U, U);                                                      \
    U VT_CONST rotate(U, U);                                                   \
    I VT_CONST min(I, I);                                                      \
    I VT_CONST max(I, I);                                                      \
    I VT_CONST clamp(I, I, I);                                                 \
    I VT_CONST isnan(F);                                                       \
    int VT_CONST any(I);                                                       \
    F VT_CONST fabs(F);                                                        \
    F VT_CONST sqrt(F);                                                        \
    F VT_CONST exp(F);                                                         \
    F VT_CONST log(F);                                                         \
    F VT_CONST log2(F);                                                        \
    F VT_CONST tanh(F);                                                        \
    F VT_CONST erf(F);                                                         \
    F VT_CONST ceil(F);                                                        \
    F VT_CONST floor(F);                                                       \
    F VT_CONST native_recip(F);
VT_OF_FLOATS(float, int, uint)
VT_OF_FLOATS(float2, int2, uint2)
VT_OF_FLOATS(float4, int4, uint4)
VT_OF_FLOATS(float8, int8, uint8)
VT_OF_FLOATS(float16, int16, uint16)

#define VT_VECTORS_OF(n, space)                                                \
    float##n VT_PURE vload##n(size_t, const space float *);                    \
    int##n VT_PURE vload##n(size_t, const space int *);                        \
    ushort##n VT_PURE vload##n(size_t, const space ushort *);                  \
    char##n VT_PURE vload##n(size_t, const space char *);                      \
    uchar##n VT_PURE vload##n(size_t, const space uchar *);                    \
    float##n VT_PURE vload_half##n(size_t, const space half *);                \
    void VT_F vstore##n(float##n, size_t, space float *);                      \
    void VT_F vstore##n(int##n, size_t, space int *);                          \
    void VT_F vstore##n(uint##n, size_t, space uint *);                        \
    void VT_F vstore##n(ushort##n, size_t, space ushort *);                    \
    void VT_F vstore##n(char##n, size_t, space char *);                        \
    void VT_F vstore##n(uchar##n, size_t, space uchar *);                      \
    void VT_F vstore_half##n##_rte(float##n, size_t, space half *);
#define VT_VECTORS(n)                                                          \
    VT_VECTORS_OF(n, global)                                                   \
    VT_VECTORS_OF(n, local)                                                    \
    VT_VECTORS_OF(n, private)                                                  \
    float##n VT_CONST convert_float##n(int##n);                                \
    float##n VT_CONST convert_float##n(uint##n);                               \
    float##n VT_CONST convert_float##n(char##n);                               \
    float##n VT_CONST convert_float##n(uchar##n);                              \
    int##n VT_CONST convert_int##n(float##n);                                  \
    int##n VT_CONST convert_int##n(char##n);                                   \
    uint##n VT_CONST convert_uint##n(ushort##n);                               \
    ushort##n VT_CONST convert_ushort##n(uint##n);                             \
    char##n VT_CONST convert_char##n(int##n);
VT_VECTORS(2)
VT_VECTORS(3)
VT_VECTORS(4)
VT_VECTORS(8)
VT_VECTORS(16)
float VT_PURE vload_half(size_t, const global half *);
float VT_PURE vload_half(size_t, const private half *);
void VT_F vstore_half_rte(float, size_t, global half *);
void VT_F vstore_half_rte(float, size_t, private half *);
