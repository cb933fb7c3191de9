/*
 * device_list.h - the devices that drivers offer, for device.c.
 */
#ifndef VT_OCL_DEVICE_LIST_H
#define VT_OCL_DEVICE_LIST_H
#include "ocl/cl_first.h"
#include "ocl/ocl.h"

typedef struct vt_driver_device {
    cl_platform_id platform;
    cl_device_id id; /* NULL: the platform failed */
    cl_device_type type;
    bool ready; /* available, and has a compiler */
    vitcl_device_info info;
} vt_driver_device;

/* All devices, in the ICD loader's order, at least one; free() the list. */
vitcl_status vt_driver_devices(vt_driver_device **out, size_t *count);
/* Any, cpu and gpu select the first match, preferring a GPU. A name must match
 * one device only, unless it is the full name of exactly one. */
vitcl_status vt_driver_device_choose(const vt_driver_device **out,
                                     const vt_driver_device *list, size_t n,
                                     const char *select);

/* ---- drivers.c ---- */

typedef enum {
    VT_DRIVERS_NONE,
    VT_DRIVERS_LOADABLE, /* why: what they may lack */
    VT_DRIVERS_BROKEN,   /* one's library cannot be loaded: why */
    VT_DRIVERS_ASTRAY    /* the variable that says where they are is wrong */
} vt_drivers;
vt_drivers vt_drivers_check(char *why, size_t room);
/* With a log: loads each, after a line with its name. */
void vt_drivers_log(void);

/* A driver's string of any length, NULL if there is none; of the platform if id
 * is NULL. */
cl_int vt_query_text(char **out, cl_platform_id platform, cl_device_id id,
                     cl_uint what);
/* Copies `text`, or "" for NULL, without surrounding blanks and control
 * characters, and frees it. */
void vt_copy_text(char *out, size_t size, char *text);
/* Is the word in a list of words, which may be NULL? */
bool vt_has_word(const char *list, const char *word);
/* If a driver does not know a query (CL_INVALID_VALUE), the field keeps its
 * value. Any other error makes the device unusable: with a guess instead of an
 * answer, other kernels would be chosen, and the last bits would differ. */
cl_int vt_query_failure(cl_int e);

#endif
