/*
 * step.h - optimiser steps on one batch, for the program's `step`. It is no
 * part of the public headers: files go in and come out, to compare with another
 * library.
 */
#ifndef VT_STEP_H
#define VT_STEP_H
#include <vitcl.h>

/* The training counterpart of vitcl_session_run_pixels(): `steps` optimiser
 * steps on one batch. input: a safetensors file with pixel_values [B,3,H,W] and
 * labels [B]. settings: JSON with PyTorch's names (optimizer, betas, eps,
 * momentum, weight_decay, clip_grad_norm, label_smoothing, lr: a number, or a
 * list with one a step); unknown keys are an error. output: a safetensors file
 * with loss [1] and grad.<tensor> of the first step (before clipping), losses
 * [steps] before each step, time_ms [steps] of each step, and after.<tensor>.
 * In f32, convolutions are summed in double if the device supports it: near a
 * ReLU's kink a rounding error can change gradients by a percent. */
enum { VT_STEPS_MOST = 1000000 };
VITCL_STATUS vt_train_steps(const char *output, vitcl_device *device,
                            const char *model, const char *input,
                            const char *settings, uint32_t steps,
                            const char *gemm, vitcl_precision precision);
#endif
