/* Records of GPUs in a recording file: see recording_format.h. */
#ifndef FD_GPU_FORMAT_H
#define FD_GPU_FORMAT_H

#include "recording/recording_format.h"

/* The GPU figures of one context, in ns, of the sampled steps. */
typedef struct fd_gpu_record {
    uint32_t context;
    uint32_t unused;
    uint64_t calls;   /* calls with an interval */
    uint64_t total;   /* sum of the intervals */
    uint64_t self;    /* total minus intervals inside on the same stream */
    uint64_t starved; /* the stream was idle before its calls */
    uint64_t launch_bound; /* intervals that ended with the host */
    uint64_t unused2[2];
} fd_gpu_record;

/* Kernels, copies or fills of one name, launched in one context, on a stream;
 * or idle time. */
typedef struct fd_kernel_record {
    uint32_t context; /* 0: launched by a thread without a call path */
    uint32_t name;    /* string: symbol of a kernel, "Memset", ... */
    uint32_t device;
    uint32_t stream; /* number of CUPTI */
    uint8_t kind;    /* FD_KERNEL_* */
    uint8_t copy;    /* direction of a copy, as in CUPTI */
    uint16_t unused;
    uint32_t unused2;
    uint64_t count;
    uint64_t ns;
    uint64_t bytes; /* of copies and fills; of idle time: ns of the whole idle
                       times that began while the host ran the context */
    uint64_t unused3[2];
} fd_kernel_record;

enum {
    FD_KERNEL_KERNEL = 1,
    FD_KERNEL_COPY = 2,
    FD_KERNEL_FILL = 3,
    FD_KERNEL_IDLE = 4 /* not a kernel: the device was idle, because the host
                          ran the context */
};

/* One interval or kernel: a line of the timeline of a stream. */
typedef struct fd_gpu_event {
    uint64_t host;  /* tick at which the first timestamp was recorded, or of
                       the launch */
    uint64_t start; /* tick at which the GPU reached it */
    uint64_t ticks; /* ticks until the GPU reached the second, or the end */
    uint32_t context;
    uint32_t thread; /* id of the record of the launching thread; 0: of the
                        owner of the context */
    uint16_t device;
    uint16_t stream; /* numbered in the order of first use; kernels: number of
                        CUPTI */
    uint32_t name;   /* string: of a kernel; 0: an interval */
} fd_gpu_event;

static_assert(sizeof(fd_gpu_record) == 64, "GPU figure record");
static_assert(sizeof(fd_gpu_event) == 40, "GPU event record");
static_assert(sizeof(fd_kernel_record) == 64, "kernel record");

#endif
