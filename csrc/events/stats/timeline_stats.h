/* Figures of the traces of many ranks. Each file is read twice; none is kept
 * in memory. docs/formats/timeline.md explains the figures. */
#ifndef FD_TIMELINE_STATS_H
#define FD_TIMELINE_STATS_H

#include "events/alignment/clock_alignment.h"
#include "events/stats/busy_intervals.h"
#include "events/stats/collective_skew.h"
#include "events/stats/gpu_facts.h"
#include "events/stats/stats_table.h"
#include "events/stats/stream_table.h"
#include "events/tools/trace_outline.h"

/* How computing is detected; see docs/formats/timeline.md. */
typedef enum fd_stats_basis {
    FD_BASIS_GPU,
    FD_BASIS_OPERATORS,
    FD_BASIS_JOBS,
    FD_BASIS_CALLS
} fd_stats_basis;

const char *fd_stats_basis_name(fd_stats_basis basis);

typedef struct fd_stats_rank {
    uint32_t rank;
    fd_stats_basis basis;
    uint64_t events;
    uint64_t calls_lost;  /* calls lost because the recorder had no space */
    uint64_t places_lost; /* damaged regions of its files */
    uint32_t steps;
    uint32_t open_steps; /* steps of length 0 */
    /* ranges that are the steps, or end them; "": ProfilerStep#N */
    char steps_of_name[FD_OUTLINE_NAME];
    bool steps_end_there;
} fd_stats_rank;

/* The figures of a step of a rank, or of its entire time (FD_NO_STEP). */
typedef struct fd_stats_step {
    uint32_t rank;
    int64_t number;
    int64_t start; /* ns, on the common clock */
    int64_t end;
    fd_work_sums work;
} fd_stats_step;

typedef struct fd_stats_request {
    fd_timeline_align align;
    const uint32_t *ranks; /* selected ranks; NULL: all */
    size_t rank_count;
    /* Called from time to time with the number of bytes read and the total;
     * returning false stops it with FD_EINVAL. May be NULL. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} fd_stats_request;

typedef struct fd_stats {
    bool has_base;
    int64_t base_ns;           /* real time at time 0 */
    fd_timeline_slices slices; /* its texts are used by all rows */
    FD_VECTOR(fd_stats_rank) ranks;
    FD_VECTOR(fd_stats_step) steps;
    fd_tally tally;
    fd_skew skew;
    fd_lanes lanes;
    FD_VECTOR(fd_kernel_kinds) kernels; /* for ranks with work on GPUs */
    fd_stream_table streams;
    uint64_t steps_lost;
} fd_stats;

void fd_stats_clear(fd_stats *stats);

/* Compute the figures. The caller sets path and rank of each input, as for a
 * merge. A recording and another trace of the same rank are counted together.
 * FD_ECONFLICT: another duplicate rank. FD_EFORMAT: no input is a trace. */
fd_status fd_timeline_stats(const fd_stats_request *request,
                            fd_timeline_input *inputs, uint32_t count,
                            fd_stats *stats, fd_error *error);

#endif
