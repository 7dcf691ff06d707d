/* A trace reduced to some of its steps: figures, times of threads and steps
 * are the differences between two marks. */
#ifndef FD_STEP_WINDOW_H
#define FD_STEP_WINDOW_H

#include "trace/trace.h"

/* Replace the trace, which is sorted, by that of the selected steps of its
 * ranks. If a rank has none, nothing changes: ranks of different spans would
 * not be comparable. GPU figures, measures, counters, open calls and the timeline are
 * still those of the whole recording. FD_ENOMEM is the only failure. */
fd_status fd_window_apply(fd_trace **trace);

/* Make the trace of the settled steps of a sorted trace, which was read without
 * a request for steps; a copy if they are not decided for each rank. */
fd_status fd_window_settled(fd_trace **made, const fd_trace *trace);

/* The steps of a training after the first ones, whose times have settled. */

typedef enum fd_settling {
    FD_SETTLING_DONE,     /* decided: times are within a quarter of their
                             median */
    FD_SETTLING_VARYING,  /* decided: the second half of the steps */
    FD_SETTLING_FEW,      /* not decided: fewer than four steps */
    FD_SETTLING_UNMARKED, /* not decided: the recording has no snapshots */
    FD_SETTLING_UNTIMED   /* not decided: no time was recorded in steps */
} fd_settling;

typedef struct fd_settled {
    fd_settling verdict;
    uint32_t from; /* marks, as in fd_step_window; 0 if not decided */
    uint32_t to;
    double slower; /* mean time of the skipped steps / of the others */
} fd_settled;

/* Decided from the marks of the rank. */
fd_settled fd_settle(const fd_trace_rank *rank);

/* A request for steps of a recording: the settled ones, or those nearest to
 * `first` and `last`. */
typedef struct fd_steps_wanted {
    bool range;
    uint64_t first;
    uint64_t last;
} fd_steps_wanted;

/* The marks around the selected steps (NULL: the settled ones): sets `from` and
 * `to` of the window, both 0 without any. */
void fd_steps_choose(fd_trace_rank *rank, const fd_steps_wanted *wanted);

#endif
