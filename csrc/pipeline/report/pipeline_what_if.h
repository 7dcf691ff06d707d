/* What-if analysis: the schedule of a recorded pipeline simulated with
 * measured times and one change. */
#ifndef FD_PIPELINE_WHAT_IF_H
#define FD_PIPELINE_WHAT_IF_H

#include "pipeline/report/pipeline_schedule.h"

typedef enum fd_if_change {
    FD_IF_FASTER,   /* the computations of a position take 9/10 of the time */
    FD_IF_BALANCED, /* all global stages compute equally long */
    FD_IF_OVERLAPPED, /* transfers run in parallel to the work */
    FD_IF_DOUBLED,    /* twice the micro-batches; the result is half of such a
                       * step */
    FD_IF_SCHEDULE,   /* another schedule, computations and transfers only */
    FD_IF_MOVED,      /* a layer moves to a neighbouring stage */
    FD_IF_CHANGES
} fd_if_change;

extern const char *const fd_if_names[FD_IF_CHANGES];

typedef struct fd_pipe_if {
    fd_if_change change;
    int32_t stage; /* FASTER: a position; MOVED: a global stage; otherwise
                           * -1 */
    int32_t to;    /* MOVED: a global stage */
    int32_t layer; /* MOVED */
    fd_schedule schedule; /* SCHEDULE */
    int64_t saves;        /* ns saved per step; negative: the step is longer */
} fd_pipe_if;

/* Summary of a simulation. */
typedef struct fd_pipe_theory {
    int64_t makespan;
    double of_total; /* share of idle time in the makespan */
    double of_ideal; /* share of idle time, computations only */
} fd_pipe_theory;

typedef struct fd_pipe_ifs {
    fd_pipe_theory ideal;  /* equal stages; transfers take no time */
    fd_pipe_theory stages; /* measured stages; transfers take no time */
    fd_pipe_theory base;   /* everything as measured */
    FD_VECTOR(fd_pipe_if) list;
} fd_pipe_ifs;

/* Layers of the global stages: stage g has layers first[g] up to first[g + 1].
 * `weights` are shares of the time of a stage; NULL: equal. `first` NULL:
 * unknown. */
typedef struct fd_pipe_layers {
    uint32_t stages;       /* number of global stages; ignored if it differs
                            * from the plan */
    const uint32_t *first; /* borrowed */
    const double *weights; /* borrowed */
} fd_pipe_layers;

/* Simulate all changes. The result is empty if the schedule is unknown. Clear
 * it also after a failure. */
fd_status fd_pipeline_ifs(fd_pipe_ifs *made, const fd_pipe_schedule *found,
                          const fd_pipe_layers *layers);
void fd_pipe_ifs_clear(fd_pipe_ifs *made);

#endif
