/* Timing on the GPUs of one recording: the runtime, its devices, and their
 * facts in the recording. */
#ifndef FD_GPU_H
#define FD_GPU_H

#include "gpu/gpu_device.h"

enum { FD_GPU_DEVICES = 32 };

typedef struct fd_gpu {
    fd_gpu_runtime runtime;
    fd_gpu_figures figures;
    bool starves;         /* of the devices */
    int process;          /* pid; a forked child must not call CUDA */
    pthread_mutex_t lock; /* while a device is added */
    _Atomic(fd_gpu_device *) devices[FD_GPU_DEVICES]; /* owned */
} fd_gpu;

/* Use the loaded runtime; FD_EINVAL without one. Calls no function of CUDA. */
fd_status fd_gpu_open(fd_gpu **gpu, fd_recording *recording, fd_error *error);

/* The current device of this thread, added on first use; NULL if CUDA fails,
 * its number is too high, or memory is exhausted. */
fd_gpu_device *fd_gpu_current(fd_gpu *gpu);

/* Collect the timestamps that the devices have passed. Does not wait. `grows`:
 * the call is between two recorded steps and may create events for the
 * next. */
void fd_gpu_drain(fd_gpu *gpu, bool grows);

/* Sleep and drain until all timestamps are passed, at most `patience_ms`. True
 * if timestamps remain. The only function of this folder that waits: never
 * call it from a hook, or with the GIL. */
bool fd_gpu_wait(fd_gpu *gpu, int patience_ms);

/* Stop timing for good, and store the devices and their errors in the
 * recording. Does not wait: timestamps not yet passed are counted as
 * unfinished. */
void fd_gpu_close(fd_gpu *gpu);

/* No hook may run any more. */
void fd_gpu_free(fd_gpu *gpu);

#endif
