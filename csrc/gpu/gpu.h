/* Timing on the GPUs of one recording: the runtime, its devices, and the facts
 * about them in the recording. */
#ifndef FD_GPU_H
#define FD_GPU_H

#include "gpu/gpu_device.h"

enum { FD_GPU_DEVICES = 32 };

typedef struct fd_gpu {
    fd_gpu_runtime runtime;
    fd_gpu_figures figures;
    int process;          /* pid; a forked child must not call CUDA */
    pthread_mutex_t lock; /* protects the addition of devices */
    _Atomic(fd_gpu_device *) devices[FD_GPU_DEVICES]; /* owned */
} fd_gpu;

/* Use the runtime that the program has loaded; FD_EINVAL if there is no such
 * runtime. Calls no CUDA function. */
fd_status fd_gpu_open(fd_gpu **gpu, fd_recording *recording, fd_error *error);

/* Return the current device of this thread; add it on first use. Return NULL
 * if CUDA fails, the device number is too high, or there is no memory. */
fd_gpu_device *fd_gpu_current(fd_gpu *gpu);

/* Collect the timestamps that the devices have reached, without waiting.
 * `grows` states that the call is between two recorded steps and may create
 * events for the next. */
void fd_gpu_drain(fd_gpu *gpu, bool grows);

/* Sleep and drain until all timestamps are reached, for at most `patience_ms`.
 * Return whether timestamps remain. This is the only function of the folder
 * that waits: never call it from a hook, or with the GIL. */
bool fd_gpu_wait(fd_gpu *gpu, int patience_ms);

/* Stop timing for good and store the devices and their errors in the
 * recording, without waiting. Timestamps not yet reached are counted as
 * unfinished. */
void fd_gpu_close(fd_gpu *gpu);

/* Free everything. No hook may run any more. */
void fd_gpu_free(fd_gpu *gpu);

#endif
