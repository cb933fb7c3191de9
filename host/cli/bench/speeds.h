/*
 * speeds.h - the numbers and the speed of a model of the usual size on a
 * device, for a report.
 */
#ifndef VT_CLI_SPEEDS_H
#define VT_CLI_SPEEDS_H
#include "cli/setup/setup.h"

/* The largest difference of a from b, over b's largest number; infinite: some
 * number is not finite, or all of b are 0. */
double largest_error(const float *a, const float *b, size_t n);
/* Runs ViT-B/16 with random weights in each precision, 1, 8 and 64 pictures at
 * a time, and prints and writes Markdown: how far its logits are from those in
 * f32, pictures a second, the share of the peak, the kernels. Rows for which
 * `seconds` do not suffice are named. *wrong: an error above its bound. */
int speeds_write(bool *wrong, FILE *out, vitcl_device *device, double seconds);

#endif
