/* The figures of a trace summed over ranks and up the tree. */
#ifndef FD_TOTALS_H
#define FD_TOTALS_H

#include "trace/trace.h"

/* Figures per context; entry 0 is unused. Times are in nanoseconds. */
typedef struct fd_total {
    uint64_t calls;
    uint64_t resumes;
    uint64_t self;
    uint64_t total; /* self and the totals of all children */
    uint64_t ops;   /* calls of operators at or below */
    /* autograd time of nodes created by this context and everything below;
     * time inside other backward time is counted once */
    int64_t backward;
    uint64_t async;       /* duration of asynchronous records; not included in
                           * `total` */
    uint64_t gpu_calls;   /* kernels, or calls with an interval on a GPU, in
                           * sampled steps */
    uint64_t gpu_self;    /* ns of kernels or on streams, without children */
    uint64_t gpu_total;   /* self and everything below */
    int64_t gpu_backward; /* `backward` in time of the GPU */
    uint64_t gpu_starved; /* ns of idle GPUs, at or below, like the next */
    uint64_t gpu_drained; /* ns of idle times that began there */
    uint64_t gpu_launch_bound; /* number of launch-bound intervals */
    uint64_t communicated;     /* the larger of bytes sent and bytes
                                * received */
    uint64_t allocated;        /* bytes on all devices */
    double self_squares;       /* for the spread, as in fd_figure */
    double total_squares;
    uint64_t self_stepped; /* self within ended steps; total likewise */
    uint64_t total_stepped;
    uint64_t least; /* ns of self if each step were as fast as the fastest
                     * with a call; 0 for fewer than two steps: imports and
                     * initialisation have no noise to compare */
    uint32_t steps;
} fd_total;

typedef struct fd_totals {
    fd_total *list; /* owned, by context */
    uint64_t steps; /* number of ended steps of the ranks, summed */
} fd_totals;

enum { FD_ALL_RANKS = -1 };

/* Sum up the figures of one rank (an index into trace->ranks) or of all ranks.
 * `steady`: replace the slowest step of each context by the mean of its other
 * steps in self, total, backward and the spread of self: most often it is the
 * first one, in which libraries load, allocate and choose. Contexts of fewer
 * than two steps are not changed, nor are selected steps, which do not include
 * the first ones. */
fd_status fd_totals_sum(fd_totals *totals, const fd_trace *trace, int rank,
                        bool steady);
void fd_totals_clear(fd_totals *totals);

#endif
