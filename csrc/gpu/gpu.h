/* Timing on the GPUs of one recording: the runtime, its devices, and facts
 * about them in the recording. */
#ifndef FD_GPU_H
#define FD_GPU_H

#include "gpu/gpu_device.h"

enum { FD_GPU_DEVICES = 32 };

typedef struct fd_gpu {
    fd_cudart cuda;
    fd_gpu_figures figures;
    bool starves;         /* of the devices */
    int process;          /* pid; a forked child must not call CUDA */
    pthread_mutex_t lock; /* while a device is added */
    _Atomic(fd_gpu_device *) devices[FD_GPU_DEVICES]; /* owned */
} fd_gpu;

/* Use the runtime that is loaded. FD_EINVAL with the reason without one;
 * calls no function of CUDA. */
fd_status fd_gpu_open(fd_gpu **gpu, fd_recording *recording, fd_error *error);

/* The current device of this thread, added when new; NULL when CUDA does
 * not say, its number is too high, or memory is out. */
fd_gpu_device *fd_gpu_current(fd_gpu *gpu);

/* Collect the timestamps that all devices have passed. Does not wait. `grows`:
 * the call is between two recorded steps, and may create events for the next. */
void fd_gpu_drain(fd_gpu *gpu, bool grows);

/* Sleep and drain until every timestamp is passed, at most `patience_ms`. True
 * if timestamps remain. The only function in this folder that waits: never
 * call it from a hook, or with the GIL. */
bool fd_gpu_wait(fd_gpu *gpu, int patience_ms);

/* For good: no more timestamps; store what was used and which errors occurred
 * in the recording. Does not wait: timestamps that were not passed are counted
 * as unfinished. */
void fd_gpu_close(fd_gpu *gpu);

/* Free everything. No hook runs any more. */
void fd_gpu_free(fd_gpu *gpu);

#endif
