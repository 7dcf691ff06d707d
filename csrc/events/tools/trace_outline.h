/* The first pass of statistics: the rank of each process, the kinds of slices of
 * a rank, its steps. */
#ifndef FD_TRACE_OUTLINE_H
#define FD_TRACE_OUTLINE_H

#include "events/readers/event_reader.h"
#include "events/stats/slice_reader.h"

enum { FD_OUTLINE_STEPS = 1 << 20 };

/* Beside FD_IS_...: a kernel that communicates. */
#define FD_HAS_GPU_COLLECTIVES (UINT32_C(1) << 31)

typedef struct fd_timeline_step {
    int64_t number;
    int64_t start;
    int64_t end;
    uint32_t process;
    bool gpu;
} fd_timeline_step;

typedef struct fd_timeline_rank {
    uint32_t rank;
    uint32_t kinds;       /* of all its slices */
    uint64_t events;      /* except metadata rows */
    uint64_t calls_lost;  /* the recorder had no room */
    uint64_t places_lost; /* damaged places, from the table of a merge */
    bool any;
    int64_t first; /* begin of the first slice, end of the last */
    int64_t last;
    uint32_t steps_of; /* its first process that has any, + 1 */
    uint32_t jobs_of;
    FD_VECTOR(fd_timeline_step) steps; /* in order, none into the next */
} fd_timeline_rank;

typedef struct fd_timeline_process_facts {
    bool named; /* "rank N ..." */
    uint32_t number;
    fd_timeline_rank sums;
    uint32_t rank; /* in `ranks` */
} fd_timeline_process_facts;

typedef struct fd_timeline_outline {
    fd_timeline_slices slices;
    FD_VECTOR(fd_timeline_process_facts) processes;
    FD_VECTOR(fd_timeline_step) steps;
    uint64_t steps_lost;                  /* beyond FD_OUTLINE_STEPS */
    FD_VECTOR(fd_timeline_rank) ranks;    /* by number */
    FD_VECTOR(fd_timeline_rank) reported; /* damaged places in a merge */
} fd_timeline_outline;

void fd_timeline_outline_clear(fd_timeline_outline *outline);

/* Add an item of the reader. `clock` is from the times of the file to those
 * of the result. */
fd_status fd_timeline_outline_event(fd_timeline_outline *outline,
                                    const fd_timeline_event *event,
                                    const fd_clock_map *clock);
fd_status fd_timeline_outline_member(fd_timeline_outline *outline, fd_span key,
                                     fd_span value);

/* Between the items of two files of one rank. */
void fd_timeline_outline_next(fd_timeline_outline *outline);

/* After the last item: processes without a rank are of `rank`. */
fd_status fd_timeline_outline_finish(fd_timeline_outline *outline,
                                     uint32_t rank);

#endif
