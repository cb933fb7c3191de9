/*
 * devices.h - how fast several devices are at once: bench --devices.
 */
#ifndef VT_CLI_BENCH_DEVICES_H
#define VT_CLI_BENCH_DEVICES_H
#include "cli/setup/setup.h"

/* Runs batches of o->batch pictures on all devices for some seconds, and prints
 * a row for each and the sum. Returns the exit status. */
int bench_devices(const model_options *o, double seconds, bool json);

#endif
