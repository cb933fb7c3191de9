/*
 * eval_devices.h - scores by the devices of eval.
 */
#ifndef VT_CLI_EVAL_DEVICES_H
#define VT_CLI_EVAL_DEVICES_H
#include "parts/tally.h"
#include "scoring.h"

/* vt_evaluate_part() by all devices, of a shard or (n 0) of all pictures:
 * fills in the counts of `out`, and those of answers in `sum` if it has any.
 * Returns the exit status. */
int eval_devices(vitcl_scores *out, vt_tally *sum, scoring *on,
                 const vitcl_dataset *dataset, vt_shard shard);

#endif
