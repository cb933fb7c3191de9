/*
 * schedule.h - the learning rate as a function of the step.
 */
#ifndef VT_TRAIN_SCHEDULE_H
#define VT_TRAIN_SCHEDULE_H

typedef enum { VT_CONSTANT, VT_LINEAR, VT_COSINE } vt_decay;

typedef struct vt_schedule {
    vt_decay decay;
    double lr;          /* peak, after warm-up */
    double floor;       /* at the last step, after decay */
    long warmup, steps; /* warmup: of the steps; linear */
} vt_schedule;

/* Step counts from 0. Warm-up: lr * (step + 1) / warmup. Then, with t from 0 to
 * 1 over the remaining steps: linear, lr + (floor - lr) t, or half a cosine
 * between the two (Loshchilov, Hutter 2016, arXiv:1608.03983, without
 * restarts). */
double vt_learning_rate(const vt_schedule *s, long step);

#endif
