/* The timeline of a rank as a picture has it: each call a strip in the row of
 * its depth, the longest ones where there are too many.
 *
 *     depth 0   a───────────────────────        strips in the order of begins
 *     depth 1     b────────   d─────            by thread: a b c d
 *     depth 2       c──
 *
 * Thread-compatible, no Python. */
#ifndef FD_TIMELINE_ROWS_H
#define FD_TIMELINE_ROWS_H

#include "trace/trace.h"

typedef struct fd_timeline_call {
    uint32_t thread;  /* index into the rank's threads */
    uint32_t depth;   /* 0 where it is asynchronous */
    uint32_t context; /* 0: none */
    uint32_t job;     /* index into the rank's jobs plus 1; 0: no job */
    uint64_t start;   /* ns since the start of the recording */
    uint64_t duration;
    bool open;  /* had not ended */
    bool async; /* work that ends by itself: may overlap others */
} fd_timeline_call;

/* An arrow from forward to backward: indexes of strips. */
typedef struct fd_timeline_flow {
    uint32_t from;
    uint32_t to;
} fd_timeline_flow;

typedef struct fd_timeline_rows {
    FD_VECTOR(fd_timeline_call) list;
    FD_VECTOR(fd_timeline_flow) flows; /* both of whose ends are here */
    uint64_t left_out; /* strips, shorter than all that are here */
    uint64_t flows_left_out;
} fd_timeline_rows;

/* The `most` longest of a rank; of equals the first. What is made is to be
 * cleared, failed or not. */
fd_status fd_timeline_rows_make(fd_timeline_rows *rows,
                                const fd_trace_rank *rank, uint32_t most);
void fd_timeline_rows_clear(fd_timeline_rows *rows);

#endif
