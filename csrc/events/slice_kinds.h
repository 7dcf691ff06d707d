/* The kind of a slice, by its category and its name. The same list in words:
 * docs/guides/timeline-stats.md. */
#ifndef FD_SLICE_KINDS_H
#define FD_SLICE_KINDS_H

#include "events/timeline_event.h"

enum {
    FD_IS_STEP = 1 << 0,     /* its number is known */
    FD_IS_GPU_STEP = 1 << 1, /* the same on a stream */
    FD_IS_JOB = 1 << 2,
    FD_IS_COMMUNICATION = 1 << 3,
    FD_IS_KERNEL = 1 << 4,
    FD_IS_COPY = 1 << 5, /* or memset, on a GPU */
    FD_IS_OPERATOR = 1 << 6,
    FD_IS_BACKEND = 1 << 7,     /* gloo:all_reduce: a collective at work */
    FD_IS_CALL = 1 << 8,        /* c10d::allreduce_: requests one */
    FD_IS_ASYNC = 1 << 9,       /* without a thread */
    FD_IS_AROUND = 1 << 10,     /* of the profiler itself; sums of phases */
    FD_IS_COLLECTIVE = 1 << 11, /* communication of all of a group */
    FD_IS_RUNTIME = 1 << 12 /* a call that launches work on a GPU, or another
                                   call of the same library */
};

/* `step` is set for steps alone. */
uint32_t fd_timeline_kind_of(fd_span cat, fd_span name, uint64_t *step);

/* Whether torch.profiler writes slices of this category. */
bool fd_timeline_is_profiled(fd_span cat);

/* `aten::mm (12.3 ms)` without its duration. */
fd_span fd_timeline_plain_name(fd_span name);

/* `forward_3`, `forward mb3`, `forward #3` without their number. */
fd_span fd_timeline_job_type(fd_span name);

/* Training steps by the names of events. */

/* Whether an event is a step, and its number: "ProfilerStep#3" of
 * torch.profiler, "step 3" of the category step. With its begin and
 * end, in nanoseconds of its file. */
bool fd_timeline_is_step(const fd_timeline_event *event, uint64_t *number,
                         int64_t *begin_ns, int64_t *end_ns);

#endif
