/*
 * device.h - the device that tests run on: VITCL_TEST_DEVICE, or any.
 */
#ifndef VT_TESTS_DEVICE_H
#define VT_TESTS_DEVICE_H
#include "product/device.h"
#include "product/product.h"

/* Opened once a process and never freed; fails the test if there is none. */
vt_dev *vt_test_device(void);
/* A queue of its own, never freed. */
vt_queue *vt_test_queue(void);
/* A buffer of n floats; data NULL: filled with NaN. */
vt_buf *vt_test_floats(const float *data, size_t n);
/* Blocking; fails the test if it cannot be read. */
void vt_test_read(float *out, vt_buf *b, size_t n);

/* A product by this provider; fails the test if there is none. */
vt_product vt_test_product(const char *provider, const vt_gemm_desc *d);

/* Every program that was asked for so far is from a source of this subject, so
 * that another text of it has no old verdict. */
void vt_test_sources(vt_subject s);

/* From now on, a launch that can be divided is, however short; false: as usual
 * again. */
void vt_test_divide(bool on);
/* Kernels of this class follow. PoCL compiles those for GPUs, which nobody runs
 * on it, without optimisation from then on: in a third of the time. */
void vt_test_class(vt_class c);
/* The test is skipped where the driver cannot run emulated matrix units
 * (support/branches.h). */
void vt_test_can_emulate(void);
/* Those of this kind are emulated from now on, until VITCL_MMA is unset; or the
 * test is skipped. */
void vt_test_emulate(const char *kind);

/* Programs of this process are read from `folder`: cl/common*.cl are empty but
 * for common.cl. */
void vt_test_kernels(const char *folder, const char *common);
/* Writes folder/<name>.cl. */
void vt_test_kernel(const char *folder, const char *name, const char *text);
/* Writes all of cl/ to `folder`, with the first `right` of <name>.cl replaced
 * by `wrong`, which is as long. */
void vt_test_mutant(const char *folder, const char *name, const char *right,
                    const char *wrong);

#endif
