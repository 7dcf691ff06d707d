/* The figures of a trace summed over ranks and up the tree. */
#ifndef FD_TOTALS_H
#define FD_TOTALS_H

#include "trace/trace.h"

/* Per context; entry 0 unused. Nanoseconds. */
typedef struct fd_total {
    uint64_t calls;
    uint64_t resumes;
    uint64_t self;
    uint64_t total;       /* self and everything below */
    uint64_t ops;         /* calls of operators at or below */
    int64_t backward;     /* autograd time of what this and everything below
                         created; time inside other backward time counts once */
    uint64_t async;       /* duration of asynchronous records, in no total */
    uint64_t gpu_calls;   /* with an interval on a GPU, in sampled steps */
    uint64_t gpu_self;    /* ns on its streams */
    uint64_t gpu_total;   /* self and everything below */
    uint64_t gpu_starved; /* ns of idle streams before its calls */
    uint64_t gpu_launch_bound; /* intervals that ended with the host */
    uint64_t flops;            /* of operators with a formula, measured */
    uint64_t communicated;     /* the larger of bytes sent and received */
    uint64_t allocated;        /* bytes, of all devices */
    double self_squares;       /* spread, as in fd_figure */
    double total_squares;
    uint64_t self_stepped; /* self and total within ended steps */
    uint64_t total_stepped;
    uint32_t steps;
} fd_total;

typedef struct fd_coverage {
    uint64_t autograd;   /* time of autograd nodes, nested ones once */
    uint64_t accumulate; /* of which AccumulateGrad: has no call site */
    uint64_t attributed; /* of which has an origin */
} fd_coverage;

typedef struct fd_totals {
    fd_total *list; /* owned, by context */
    uint64_t steps; /* ended steps of the ranks, summed */
    fd_coverage coverage;
} fd_totals;

enum { FD_ALL_RANKS = -1 };

/* The figure without its slowest step: the mean of the others in its place. */
fd_figure fd_figure_steady(const fd_figure *figure);

/* Sum up one rank (an index into trace->ranks) or all of them. */
fd_status fd_totals_sum(fd_totals *totals, const fd_trace *trace, int rank);

/* The same, but in self, total, backward and the spread of self the slowest
 * step of each context counts like the mean of its other steps: most often
 * the first one, in which libraries load, allocate and choose. Contexts of
 * fewer than two steps are as they are, and so are selected steps, which do
 * not include the first ones. */
fd_status fd_totals_sum_steady(fd_totals *totals, const fd_trace *trace,
                               int rank);

void fd_totals_clear(fd_totals *totals);

#endif
