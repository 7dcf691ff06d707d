/* Reduction of a trace to some of its steps: figures, times of threads and
 * steps are the differences between two marks. */
#ifndef FD_STEP_WINDOW_H
#define FD_STEP_WINDOW_H

#include "trace/trace.h"

/* Replace a sorted trace by a trace of the selected steps of its ranks. If a
 * rank has no selected steps, do nothing: ranks with different spans are not
 * comparable. GPU figures, measures, counters, open calls and the timeline
 * remain those of the entire recording. FD_ENOMEM is the only failure. */
fd_status fd_window_apply(fd_trace **trace);

/* Make a trace of the settled steps of a sorted trace, which was read without
 * a request for steps; a copy if they are undecided for some rank. */
fd_status fd_window_settled(fd_trace **made, const fd_trace *trace);

/* The steps of a training after the first ones, whose times have settled. */

typedef enum fd_settling {
    FD_SETTLING_DONE,     /* decided: times are within a quarter of their
                           * median */
    FD_SETTLING_VARYING,  /* decided: the second half of the steps, as times
                           * vary */
    FD_SETTLING_FEW,      /* undecided: fewer than four steps */
    FD_SETTLING_UNMARKED, /* undecided: the recording has no snapshots */
    FD_SETTLING_UNTIMED,  /* undecided: no time was recorded in steps */
    FD_SETTLING_UNCLEAR   /* undecided: the ends of many steps are in doubt */
} fd_settling;

typedef struct fd_settled {
    fd_settling verdict;
    uint32_t from; /* marks, as in fd_step_window; 0 if undecided */
    uint32_t to;
    double slower; /* mean time of the skipped steps / mean time of the
                    * others */
} fd_settled;

/* Find the settled steps from the marks of the rank. */
fd_settled fd_settle(const fd_trace_rank *rank);

/* A request for steps of a recording: the settled ones, or a range whose
 * bounds are moved to the nearest marks. */
typedef struct fd_steps_wanted {
    bool range;
    uint64_t first;
    uint64_t last;
} fd_steps_wanted;

/* Set `from` and `to` of the window to the marks around the selected steps
 * (NULL: the settled ones), or to 0 without such steps. */
void fd_steps_choose(fd_trace_rank *rank, const fd_steps_wanted *wanted);

#endif
