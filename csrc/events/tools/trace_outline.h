/* The first pass of statistics: the rank of each process, the kinds of slices
 * of each rank, its steps. */
#ifndef FD_TRACE_OUTLINE_H
#define FD_TRACE_OUTLINE_H

#include "events/readers/event_reader.h"
#include "events/stats/slice_reader.h"
#include "events/tools/stray_times.h"
#include "events/tools/training_steps.h"

enum {
    FD_OUTLINE_STEPS = 1 << 20, /* maximum of steps, and of ranges */
    FD_OUTLINE_NAME = 64        /* longer names of ranges are cut */
};

/* A flag in addition to FD_IS_...: a kernel that communicates. */
#define FD_HAS_GPU_COLLECTIVES (UINT32_C(1) << 31)

typedef struct fd_timeline_rank {
    uint32_t rank;
    uint32_t kinds;       /* the kinds of all its slices */
    uint64_t events;      /* except metadata rows */
    uint64_t calls_lost;  /* calls lost because the recorder had no space */
    uint64_t places_lost; /* damaged regions, from the table that a merge
                           * writes */
    bool any;
    int64_t first; /* begin of the first slice, end of the last */
    int64_t last;
    uint32_t steps_of; /* index + 1 of the process whose steps are used */
    uint32_t jobs_of;
    uint32_t stepping;           /* processes with steps, in a single file */
    fd_timeline_step_list steps; /* in order, disjoint; of the host if it
                                      * has any */
    fd_timeline_step_list gpu_steps;     /* as annotated on streams of a GPU */
    uint32_t open_steps;                 /* steps of at most 1 us */
    char steps_of_name[FD_OUTLINE_NAME]; /* ranges that are the steps, or "":
                                          * they are ProfilerStep#N */
    bool steps_end_there;                /* steps end where these end */
} fd_timeline_rank;

typedef struct fd_timeline_process_facts {
    bool named; /* its name is "rank N ..." */
    uint32_t number;
    fd_timeline_rank sums;
    uint32_t rank; /* index in `ranks` */
} fd_timeline_process_facts;

typedef struct fd_timeline_outline {
    fd_timeline_slices slices;
    uint32_t files;
    FD_VECTOR(fd_timeline_process_facts) processes;
    fd_timeline_step_list steps;
    uint64_t steps_lost;                 /* steps beyond FD_OUTLINE_STEPS */
    FD_VECTOR(fd_timeline_range) ranges; /* until there is a step */
    fd_text_pool range_names;
    fd_stray_times times;
    bool has_window; /* slices outside `from` to `to` are not counted */
    int64_t from;
    int64_t to;
    FD_VECTOR(fd_timeline_rank) ranks; /* sorted by rank */
    /* damaged regions, as a merge reports them */
    FD_VECTOR(fd_timeline_rank) reported;
} fd_timeline_outline;

void fd_timeline_outline_clear(fd_timeline_outline *outline);

/* Add an item of the reader. `clock` converts times of the file to times of
 * the result. */
fd_status fd_timeline_outline_event(fd_timeline_outline *outline,
                                    const fd_timeline_event *event,
                                    const fd_clock_map *clock);
fd_status fd_timeline_outline_member(fd_timeline_outline *outline, fd_span key,
                                     fd_span value);

/* Prepare for the next file of the same rank. */
void fd_timeline_outline_next(fd_timeline_outline *outline);

/* Return whether a slice is outside the window, far from all others. */
bool fd_timeline_outline_skips(const fd_timeline_outline *outline,
                               const fd_slice *slice);

/* Begin again with a window around all slices except those that are far from
 * all others; return false if there are no such slices. */
bool fd_timeline_outline_again(fd_timeline_outline *outline);

fd_timeline_rank *fd_timeline_outline_rank(const fd_timeline_outline *outline,
                                           uint32_t rank);

/* Finish after the last item: assign processes without a rank to `rank`. */
fd_status fd_timeline_outline_finish(fd_timeline_outline *outline,
                                     uint32_t rank);

#endif
