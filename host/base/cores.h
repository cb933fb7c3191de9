/*
 * cores.h - how many threads this process should use.
 */
#ifndef VT_BASE_CORES_H
#define VT_BASE_CORES_H

/* VITCL_THREADS if it is a number from 1, else the cores that the process may
 * run on (taskset, Slurm and containers limit them); at least 1. */
unsigned vt_cores(void);

#endif
