/* Busy and idle time of GPUs in a window of recorded steps, from their kernels
 * in any order: each nanosecond has one use or one cause.
 *
 *     compute         [ a ]             [ c ]
 *     communication     [  b  ]
 *     time       begin ▒▒▒▒▒▒▒▒▒·····─── ▒▒▒▒▒ ····· end of the window
 *                       busy    host  latency   end
 *                                   ^ launch of c
 *
 * Time in which several kernels run is that of the first use among them. The
 * host is late until the launch of the kernel that ends the idle time. The time
 * of kernels of other steps is not counted. All times are in ns of one clock. */
#ifndef FD_BUSY_TIME_H
#define FD_BUSY_TIME_H

#include "base/status.h"
#include "base/vector.h"
#include "json/json_writer.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum fd_gpu_use {
    FD_USE_COMPUTE,
    FD_USE_COMMUNICATION,
    FD_USE_COPY, /* and fills */
    FD_USES,
    FD_USE_OUTSIDE = FD_USES /* of a step that is not recorded: not counted */
} fd_gpu_use;

typedef enum fd_idle_cause {
    FD_IDLE_HOST,      /* the next kernel was not launched yet */
    FD_IDLE_END,       /* no kernel came until the end of the window */
    FD_IDLE_LAUNCH,    /* the next kernel was launched, but did not start */
    FD_IDLE_WAIT,      /* it waited for another stream, device or process */
    FD_IDLE_UNDECIDED, /* launch or call path are not known */
    FD_IDLE_CAUSES
} fd_idle_cause;

typedef struct fd_busy_kernel {
    uint64_t start;
    uint64_t end;
    uint64_t launched; /* 0: unknown */
    uint32_t device;
    uint32_t stream;
    uint32_t use; /* fd_gpu_use */
    uint32_t log; /* of the launching thread: of the caller */
} fd_busy_kernel;

typedef struct fd_busy_device {
    uint32_t device;
    uint32_t last_stream;    /* of the kernel that ends last */
    uint64_t cursor;         /* end of the time that is divided; 0: none is */
    uint64_t done;           /* end of earlier windows and of other steps */
    uint64_t until[FD_USES]; /* end of the latest kernel of each use */
    uint64_t window;         /* sum of the next two, ... */
    uint64_t busy[FD_USES];  /* ... by use, */
    uint64_t idle[FD_IDLE_CAUSES]; /* ... and by cause */
    uint64_t hidden;               /* communication beside compute */
} fd_busy_device;

/* Time in which the host was late. `log` of no kernel is 0. Return the part of
 * it whose call paths are known. */
typedef uint64_t fd_host_late(void *user, uint32_t device, uint32_t log,
                              uint64_t from, uint64_t to);

typedef struct fd_busy_time {
    FD_VECTOR(fd_busy_kernel) waiting; /* not yet in order */
    FD_VECTOR(fd_busy_device) devices;
    fd_host_late *late;
    void *user;       /* of `late` */
    uint64_t counted; /* time before it is not counted */
    uint64_t begin;   /* of the window, at which `idle_device` was idle; 0:
                         not known */
    uint32_t idle_device;
} fd_busy_time;

void fd_busy_time_clear(fd_busy_time *time);

/* Begin a window. Without a known idle device, it begins with the first kernel
 * on each device. */
static inline void
fd_busy_time_begin(fd_busy_time *time, uint64_t begin, uint32_t idle_device)
{
    time->begin = begin;
    time->idle_device = idle_device;
}

/* Add a kernel. Return whether there are so many that the caller should settle
 * them. Without memory the kernel is omitted. */
bool fd_busy_time_add(fd_busy_time *time, const fd_busy_kernel *kernel);

/* Divide the time up to the last kernel that started before `until`: all of
 * them were added. Of a later one that started before these, only the rest is
 * counted. */
void fd_busy_time_settle(fd_busy_time *time, uint64_t until);

/* Settle all kernels, and end the window. Kernels may end after it. The time
 * after the last one is idle until `end`; 0: kernels are missing, and it is not
 * counted. */
void fd_busy_time_end(fd_busy_time *time, uint64_t end);

/* Write the array "devices" (docs/formats/recording.md). */
void fd_busy_time_write(const fd_busy_time *time, fd_json_writer *w);

#endif
