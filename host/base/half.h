/*
 * half.h - f16 and bf16 to and from f32, rounding to nearest, ties to even.
 */
#ifndef VT_BASE_HALF_H
#define VT_BASE_HALF_H
#include <stddef.h>
#include <stdint.h>

float vt_f16_to_f32(uint16_t h);
/* The same of n elements, which may be misaligned. */
void vt_f16_row_to_f32(float *out, const uint8_t *from, size_t n);
uint16_t vt_f32_to_f16(float f); /* too large: infinity; NaN stays NaN */
float vt_bf16_to_f32(uint16_t h);
uint16_t vt_f32_to_bf16(float f);

#endif
