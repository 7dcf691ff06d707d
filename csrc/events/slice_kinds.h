/* The kind of a slice, by its category and name. docs/formats/timeline.md
 * describes the same list. */
#ifndef FD_SLICE_KINDS_H
#define FD_SLICE_KINDS_H

#include "events/timeline_event.h"

enum {
    FD_IS_STEP = 1 << 0,     /* a step with a number */
    FD_IS_GPU_STEP = 1 << 1, /* a step, shown on a stream */
    FD_IS_JOB = 1 << 2,
    FD_IS_COMMUNICATION = 1 << 3,
    FD_IS_KERNEL = 1 << 4,
    FD_IS_COPY = 1 << 5, /* a copy or memset on a GPU */
    FD_IS_OPERATOR = 1 << 6,
    FD_IS_BACKEND = 1 << 7,     /* a running collective, as gloo:all_reduce */
    FD_IS_CALL = 1 << 8,        /* a request of a collective, as
                                 * c10d::allreduce_ */
    FD_IS_ASYNC = 1 << 9,       /* an asynchronous slice, without a thread */
    FD_IS_AROUND = 1 << 10,     /* of the profiler itself, or a sum
                                 * of phases */
    FD_IS_COLLECTIVE = 1 << 11, /* communication of all ranks of a group */
    FD_IS_RUNTIME = 1 << 12, /* a call of the GPU runtime, such as a launch */
    FD_IS_OPTIMIZER = 1 << 13, /* a step of an optimizer */
    FD_IS_RANGE = 1 << 14      /* any other annotation of the program */
};

/* Return the kind of a slice. `args`: its arguments, or NULL. `step` is set
 * only for steps. */
uint32_t fd_timeline_kind_of(fd_span cat, fd_span name, fd_span args,
                             uint64_t *step);

/* Threads of XLA's profiler, whose slices have no category. */
typedef enum fd_xla_thread {
    FD_XLA_NONE,
    FD_XLA_STEPS,
    FD_XLA_OPERATORS,
    FD_XLA_ASYNC,  /* operators that run beside others */
    FD_XLA_STREAM, /* kernels and copies of a GPU */
    FD_XLA_AROUND  /* modules and names around operators */
} fd_xla_thread;

fd_xla_thread fd_timeline_xla_thread(fd_span name);

/* Return the kind of a slice without a category on such a thread. `*step` is
 * set only for steps. */
uint32_t fd_timeline_xla_kind(fd_xla_thread thread, fd_span name,
                              uint64_t *step);

/* Return the kind of a slice, as fd_timeline_kind_of. */
uint32_t fd_timeline_kind(const fd_timeline_event *event, uint64_t *step);

/* Return whether a slice is work of a device that does not wait for others. */
static inline bool
fd_timeline_is_device(uint32_t kind)
{
    return (kind & (FD_IS_KERNEL | FD_IS_COPY)) != 0
        && (kind & FD_IS_COMMUNICATION) == 0;
}

/* Return whether slices of this category are calls of the GPU runtime or
 * driver. */
bool fd_timeline_is_runtime(fd_span cat);

/* Return whether torch.profiler writes slices of this category. */
bool fd_timeline_is_profiled(fd_span cat);

/* Return `aten::mm (12.3 ms)` without its duration. */
fd_span fd_timeline_plain_name(fd_span name);

/* Return `forward_3`, `forward mb3`, `forward #3` without their number. */
fd_span fd_timeline_job_type(fd_span name);

/* Return the beginning of the digits at the end of a name. */
const char *fd_timeline_number_in(fd_span name);

#endif
