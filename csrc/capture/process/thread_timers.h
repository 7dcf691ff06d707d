/* The open GPU timers of a thread: see timers/call_timers.h. */
#ifndef FD_THREAD_TIMERS_H
#define FD_THREAD_TIMERS_H

#include "base/map.h"
#include "base/vector.h"
#include "gpu/gpu_device.h"

typedef struct fd_open_timer {
    uint64_t owner; /* owner of its entry */
    uint64_t start; /* tick of its entry: addresses of owners are reused */
    fd_gpu_device *device;
    uint32_t slot;
} fd_open_timer;

/* The last known stream of a thread: see torch/current_stream.h. */
typedef struct fd_stream_memory {
    void *handle;
    int device;
    bool known;
} fd_stream_memory;

typedef struct fd_thread_timers {
    uint32_t serial; /* serial of their session */
    FD_VECTOR(fd_open_timer) open;
    fd_map chosen; /* node -> 1: not selected, 2: selected by globs */
    fd_stream_memory stream;
} fd_thread_timers;

/* Free the timers; NULL is allowed. */
void fd_thread_timers_free(fd_thread_timers *timers);

#endif
