/*
 * objects.h - the structs of devices, queues, buffers and kernels. For the
 * files of host/ocl only; everything else uses ocl.h.
 */
#ifndef VT_OCL_OBJECTS_H
#define VT_OCL_OBJECTS_H
#include "ocl/cl_first.h"
#include "ocl/ocl.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct vt_program vt_program; /* program.c */

struct vt_dev {
    atomic_int refs;
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    vitcl_device_info info;
    vt_class class;
    bool processor; /* a CPU, and nothing else besides */
    int vector;
    size_t align, group_max;
    double launch_macs;   /* the most of one launch, see vt_kernel_work() */
    char *identity;       /* versions of driver and device, for cache keys */
    char flags[96];       /* build flags of every program here */
    atomic_bool lost;     /* the driver failed: no further OpenCL calls */
    atomic_uint faults;   /* calls that failed so far */
    pthread_mutex_t lock; /* programs */
    pthread_cond_t built;
    vt_program *programs;
    pthread_mutex_t watch_lock; /* for the next four */
    vt_compiling report;        /* NULL: nobody watches */
    void *report_context;
    uint32_t compiled, compiling; /* done and total */
    void *attached[VT_ATTACHED];  /* vt_dev_attach() */
    void (*drop[VT_ATTACHED])(void *);
    bool fleeting; /* for trials: programs are not kept on disk */
    atomic_uint_fast64_t programs_built, kernels_made, buffers_made, args_set,
        lookups;
};

struct vt_queue {
    vt_dev *dev;
    cl_command_queue queue;
    vt_times times;
    cl_event *events; /* since vt_queue_time_ms() or vt_queue_forget() */
    size_t n_events, cap_events;
    double host_ms; /* since then, in calls without an event */
    vt_queue *next; /* of PoCL, see alone.c */
};

/* A sub-buffer. */
typedef struct vt_sub_buffer {
    cl_buffer_region region;
    cl_mem mem;
} vt_sub_buffer;

struct vt_buf {
    atomic_int refs;
    vt_dev *dev;
    cl_mem mem;           /* of a view: one of the parent's parts */
    size_t bytes, offset; /* offset: in parent */
    vt_buf *parent;       /* of a view; never a view itself */
    vt_sub_buffer *part;  /* what views have seen so far */
    size_t parts, cap_parts;
    void *pages; /* its memory, if it is our own */
};

#define VT_KERNEL_ARGS 24

struct vt_kernel {
    vt_dev *dev;
    vt_program *program; /* the device's */
    cl_kernel kernel;    /* NULL: not made yet, see vt_kernels_defer() */
    char name[64];
    struct { /* arguments to set when it is made */
        size_t size;
        union {
            cl_mem mem;
            cl_int i;
            cl_float f;
        } value;
    } args[VT_KERNEL_ARGS];
    cl_uint dims;
    size_t global[3], local[3];
    bool driver_local; /* let the driver choose the work-group */
    vt_groups groups;  /* how they can become smaller */
    bool fits;         /* the driver has room for the group, as it says */
    bool checked;      /* the device can launch this size */
    bool launched;     /* with this size */
    cl_mem taken;      /* vt_kernel_tiles(): how much of each share */
    size_t shares;
    double macs;     /* vt_kernel_work(); 0: is not divided */
    unsigned faults; /* device's count when `taken` was last known to be 0 */
};

/* ---- error.c ---- */
const char *vt_cl_name(cl_int error);
/* "<what>: CL_NAME (device, driver)"; records errors that can only mean that
 * the device is lost. dev may be NULL. */
vitcl_status vt_cl_fail(vt_dev *dev, cl_int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a call on a queue, which is then used to test whether the device
 * is lost. */
vitcl_status vt_queue_fail(vt_queue *q, cl_int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* No OpenCL call may be made for this device, not even a release: the driver
 * failed, or this is a forked process. */
bool vt_dev_gone(const vt_dev *dev);
/* Did another process make the first OpenCL call? */
bool vt_ocl_forked(void);
/* VITCL_EDEVICE if so. */
vitcl_status vt_ocl_ours(void);
/* Makes this forked process the owner; the child must know that it is safe. */
void vt_ocl_adopt(void);

/* ---- source.c ---- */
/* The text of cl/<name>.cl, in a new string. */
vitcl_status vt_source_read(char **out, const char *name);

/* ---- program.c ---- */
/* Registers the program with kernel `name`; builds nothing. Owned by the
 * device. */
vitcl_status vt_program_ask(vt_program **out, vt_dev *dev, const char *file,
                            const char *name, const char *defines);
/* Built, from the cache or from source. */
vitcl_status vt_program_get(cl_program *out, vt_dev *dev, vt_program *p);
const char *vt_program_file(const vt_program *p);
/* The registered programs that are neither built nor in the cache. */
unsigned vt_programs_missing(vt_program **list, unsigned size, vt_dev *dev);
void vt_programs_free(vt_dev *dev);

/* ---- join.c ---- */
#define VT_JOINED 32 /* most programs in one */
/* An estimate of how long it takes to compile. */
unsigned vt_program_weight(const vt_program *p);
/* Can the program be compiled with a group of n others, which can with each
 * other? */
bool vt_program_fits(const vt_program *p, vt_program *const *group, unsigned n);
/* A group compiled without the driver's library, in memory that processes
 * share. */
enum { VT_HALF_BEGUN, VT_HALF_READY, VT_HALF_FAILED };
typedef struct vt_half {
    atomic_uint state;
    size_t size;
    unsigned char bytes[2 << 20];
} vt_half;
void vt_half_compile(vt_half *out, vt_dev *dev, vt_program *const *list,
                     unsigned n);
/* Tells those who wait for it; without effect after the first call. */
void vt_half_end(vt_half *half, bool good);
/* Makes PoCL read its library of kernels, which it keeps. */
void vt_library_load(vt_dev *dev);
/* Compiles n programs (a group) as one, into the cache; only links them if
 * `half` (or NULL) is good. False: nothing is built. */
bool vt_programs_join(vt_dev *dev, vt_program *const *list, unsigned n,
                      vt_half *half);

/* ---- watch.c ---- */
/* Reports that `more` programs will be compiled, and that `done` of these are,
 * or have failed. */
void vt_watch(vt_dev *dev, uint32_t more, uint32_t done);
/* In a forked child: reports nothing. */
void vt_watch_forked(vt_dev *dev);
/* While a thread counts a list of programs itself, vt_watch_one() does nothing
 * there. */
void vt_watch_list(bool begin);
void vt_watch_one(vt_dev *dev, uint32_t more, uint32_t done);

/* ---- build_parallel.c ---- */
/* Builds all registered programs into the cache, on all cores if the driver
 * allows it. Never an error: missing programs are built when needed. */
void vt_programs_build(vt_dev *dev);

/* ---- kernel.c ---- */
/* vt_kernel_ready(), whatever the size of its groups. */
vitcl_status vt_kernel_make(vt_kernel *k);

/* ---- alone.c ---- */
bool vt_dev_pocl(const vt_dev *dev);
void vt_alone_join(vt_queue *q);
void vt_alone_leave(vt_queue *q);
/* Before and after launches are enqueued. first: of a kernel with its size, or
 * not known; PoCL must not run it beside launches of other queues. */
bool vt_alone_begin(vt_queue *q, bool first);
void vt_alone_end(vt_queue *q, bool alone);

/* ---- queue.c ---- */
/* The event pointer for a call that another library enqueues; NULL without
 * profiling. Call vt_queue_event_done() if the call succeeded. */
vitcl_status vt_queue_event(cl_event **out, vt_queue *q);
void vt_queue_event_done(vt_queue *q);

#endif
