/* The timeline of a rank for a picture: each call in the row of its depth;
 * only the longest calls if there are too many.
 *
 *     depth 0   a───────────────────────        calls in the order of their start
 *     depth 1     b────────   d─────            by thread: a b c d
 *     depth 2       c──
 *
 * Thread-compatible, no Python. */
#ifndef FD_TIMELINE_ROWS_H
#define FD_TIMELINE_ROWS_H

#include "base/arena.h"
#include "trace/trace.h"

typedef struct fd_timeline_call {
    uint32_t thread;  /* index into the rank's threads */
    uint32_t depth;   /* 0 if asynchronous */
    uint32_t context; /* 0: no context */
    uint32_t job;     /* index into the rank's jobs + 1; 0: no job */
    uint64_t start;   /* ns since the start of the recording */
    uint64_t duration;
    bool open;  /* the call had not ended */
    bool async; /* asynchronous work: may overlap others */
} fd_timeline_call;

/* A flow from forward to backward: indexes of calls. */
typedef struct fd_timeline_flow {
    uint32_t from;
    uint32_t to;
} fd_timeline_flow;

typedef struct fd_timeline_rows {
    fd_arena arena; /* memory of the lists */
    FD_VECTOR(fd_timeline_call) list;
    FD_VECTOR(fd_timeline_flow) flows; /* flows with both ends in `list` */
    /* number of calls that are shorter than all in `list` */
    uint64_t left_out;
    uint64_t flows_left_out;
} fd_timeline_rows;

/* Find the `most` longest calls of a rank; of equal ones, the first. Clear the
 * arena of the result also after a failure. */
fd_status fd_timeline_rows_make(fd_timeline_rows *rows,
                                const fd_trace_rank *rank, uint32_t most);
#endif
