/*
 * peak.cl - measures a device's peak rate of multiply-adds.
 *
 *     ten chains in each work-item:  a_i = a_i * x + x, rounds times
 *
 * peak   sink[items] <- rounds, x
 *
 * Ten independent chains cover the latency of two FMA units (four or five
 * cycles each), and everything stays in registers. The sum is written to memory
 * so that the compiler cannot drop the work.
 *
 * Launch    global {items}, local {WG}; CPU class: WG 1.
 * Defines   LANES 4, 8 or 16: floats of a vector; HALF: in f16; WG.
 * Numerics  |x| < 1 keeps every chain bounded.
 *
 * Host      host/product/peak.c       Test  tests/models/test_session.c
 */
#ifdef HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ELEMENT half
#else
#define ELEMENT float
#endif
#ifndef LANES
#define LANES 4
#endif
#define VECTOR VT_JOIN(ELEMENT, LANES)

__attribute__((reqd_work_group_size(WG, 1, 1))) kernel void
peak(global float *restrict sink, int rounds, float value)
{
    const VECTOR x = (VECTOR)((ELEMENT)value);
    VECTOR a0 = x, a1 = x + (ELEMENT)1, a2 = x + (ELEMENT)2;
    VECTOR a3 = x + (ELEMENT)3, a4 = x + (ELEMENT)4, a5 = x + (ELEMENT)5;
    VECTOR a6 = x + (ELEMENT)6, a7 = x + (ELEMENT)7, a8 = x + (ELEMENT)8;
    VECTOR a9 = x + (ELEMENT)9;

    for (int i = 0; i < rounds; i++) {
        a0 = fma(a0, x, x);
        a1 = fma(a1, x, x);
        a2 = fma(a2, x, x);
        a3 = fma(a3, x, x);
        a4 = fma(a4, x, x);
        a5 = fma(a5, x, x);
        a6 = fma(a6, x, x);
        a7 = fma(a7, x, x);
        a8 = fma(a8, x, x);
        a9 = fma(a9, x, x);
    }
    a0 += a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9;
#if LANES == 16
    const VT_JOIN(ELEMENT, 8) b = a0.lo + a0.hi;
    const VT_JOIN(ELEMENT, 4) c = b.lo + b.hi;
#elif LANES == 8
    const VT_JOIN(ELEMENT, 4) c = a0.lo + a0.hi;
#else
    const VT_JOIN(ELEMENT, 4) c = a0;
#endif
    sink[get_global_id(0)] = (float)(c.x + c.y + c.z + c.w);
}
