/* The span of each iteration of each line, and the choice of iterations. */
#ifndef FD_PIPELINE_SPANS_H
#define FD_PIPELINE_SPANS_H

#include "pipeline/report/pipeline_stats.h"

/* The parts of a rank's time: docs/guides/pipeline-report.md. */
typedef enum fd_pipe_part {
    FD_PART_BUSY,
    FD_PART_WARM_UP,
    FD_PART_STEADY,
    FD_PART_COOL_DOWN,
    FD_PART_TRANSFER,
    FD_PART_LAUNCH,
    FD_PART_LOAD,
    FD_PART_REDUCE,
    FD_PART_OPTIMIZER,
    FD_PART_UNMATCHED,
    FD_PART_OTHER,
    FD_PARTS
} fd_pipe_part;

/* A rank in an iteration. */
typedef struct fd_pipe_share {
    /* of the iteration of its line: from the first start of a job to the last
     * end. Waiting in a transfer is not a start. */
    int64_t start;
    int64_t end;
    int64_t parts[FD_PARTS]; /* their sum is end - start */
    uint64_t bytes;          /* peak of bytes transferred and not yet used by a
                              * backward pass */
    uint32_t in_flight;      /* peak of micro-batches in flight, over chunks */
    bool whole;              /* all ranks of the line completed the
                              * iteration */
    bool chosen;             /* included in the figures */
} fd_pipe_share;

/* A range of numbers of iterations; the second one is exclusive. */
typedef struct fd_pipe_choice {
    int32_t from;
    int32_t to;
    bool given; /* false: all complete iterations, without the first if there
                 * are more */
} fd_pipe_choice;

/* Set start, end, whole and chosen in `shares`, which has one zeroed entry per
 * cell. Return the index of the iteration to draw, the chosen one with the
 * median length, or -1 without iterations. If no iteration is complete, all
 * are chosen. */
int32_t fd_pipeline_iteration_spans(fd_pipe_share *shares, const fd_pipe *p,
                                    const fd_pipe_choice *choice);

static inline fd_pipe_share *
fd_pipe_share_of(fd_pipe_share *shares, const fd_pipe *p, uint32_t rank,
                 uint32_t iteration)
{
    return &shares[(size_t)rank * p->iterations.count + iteration];
}

#endif
