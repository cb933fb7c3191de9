/*
 * sandbox.h - what a decoder process may do, and the process itself; for
 * workers.c, which starts them and hands out the work.
 */
#ifndef VT_IMAGE_SANDBOX_H
#define VT_IMAGE_SANDBOX_H
#include "image/image.h"

enum { VT_NAME_ROOM = 400, VT_MESSAGE_ROOM = 512 };

/* Parent to worker, with the open picture file beside it (SCM_RIGHTS). */
typedef struct vt_job_order {
    uint64_t id, size; /* of the file */
    uint32_t slot;     /* where in the shared memory the pixels go */
    char name[VT_NAME_ROOM];
} vt_job_order;

/* Worker to parent; the parent trusts none of it. */
typedef struct vt_job_reply {
    uint64_t id;
    int32_t status;
    char message[VT_MESSAGE_ROOM];
} vt_job_reply;

/* Parent: send an order without waiting; 0, or the errno of the failure. */
int vt_sandbox_send(int socket, const vt_job_order *order, int file);

/* In a fork()ed child: close everything but `socket`, give up all rights but
 * reading, writing and exiting, then answer orders until the socket closes.
 * slots: shared memory of height * width * 3 bytes each. */
_Noreturn void vt_sandbox_work(int socket, uint8_t *slots,
                               const vt_preprocess *how);

#endif
