/*
 * environment.h - variables that the library listens to; vitcl.h lists them.
 */
#ifndef VT_BASE_ENVIRONMENT_H
#define VT_BASE_ENVIRONMENT_H

/* NULL also in a program that has more rights than its user (set-user-id and
 * the like): its environment is the user's, not its own. */
const char *vt_getenv(const char *name);

#endif
