/*
 * environment.h - the environment variables that the library reads (list:
 * vitcl.h).
 */
#ifndef VT_BASE_ENVIRONMENT_H
#define VT_BASE_ENVIRONMENT_H

/* Returns NULL also in a program with more rights than its user (set-user-id
 * and the like), because there the user controls the environment. */
const char *vt_getenv(const char *name);

#endif
