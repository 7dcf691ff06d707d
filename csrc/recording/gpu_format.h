/* Records of GPUs in a recording file: see recording_format.h. */
#ifndef FD_GPU_FORMAT_H
#define FD_GPU_FORMAT_H

#include "recording/recording_format.h"

#include <stddef.h>

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
    uint32_t context; /* 0: not known */
    uint32_t name;    /* string: symbol of a kernel, "Memset (Device)", ... */
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

/* One interval: a line of the timeline of a stream. */
typedef struct fd_gpu_event {
    uint64_t host;  /* tick at which the first timestamp was recorded */
    uint64_t start; /* tick at which the GPU reached it */
    uint64_t ticks; /* ticks until the GPU reached the second */
    uint32_t context;
    uint32_t thread; /* id of the record of the launching thread; 0: of the
                        owner of the context */
    uint16_t device;
    uint16_t stream; /* numbered in the order of first use */
    uint32_t unused;
} fd_gpu_event;

/* One kernel, copy or fill in the timeline of its stream. */
typedef struct fd_kernel_event {
    uint64_t start; /* tick at which the GPU began it */
    uint64_t ticks; /* until it ended */
    uint64_t host;  /* tick at which the call of CUDA that launched it began */
    uint64_t bytes; /* of a copy or fill */
    uint32_t call_ticks; /* until that call ended; 0: not known */
    uint32_t function;   /* see fd_launch_function; 0: the call is not known */
    uint32_t correlation; /* number of the call */
    uint32_t context;     /* that launched it */
    uint32_t launcher;    /* context that ran at the call: of a CUDA graph, not
                             the one that launched the kernel into it */
    uint32_t name;        /* string */
    uint32_t stream;      /* number of CUPTI */
    uint16_t device;
    uint16_t unused;
} fd_kernel_event;

/* Functions of CUDA that launch kernels, copies and fills, by their numbers in
 * CUPTI: the domain, and the callback id of 16 bits. */
enum { FD_CUDA_DRIVER = 1, FD_CUDA_RUNTIME = 2 };

static inline uint32_t
fd_launch_function(uint32_t domain, uint32_t number)
{
    return domain << 16 | (number & 0xffff);
}

/* Return a function by its index; 0 after the last. */
uint32_t fd_launch_function_at(size_t index);

/* Return the name of a function: "cudaMemcpyAsync"; NULL if it is not one of
 * these. */
const char *fd_launch_name(uint32_t function);

static_assert(sizeof(fd_gpu_record) == 64, "GPU figure record");
static_assert(sizeof(fd_gpu_event) == 40, "GPU event record");
static_assert(sizeof(fd_kernel_event) == 64, "kernel event record");
static_assert(sizeof(fd_kernel_record) == 64, "kernel record");

#endif
