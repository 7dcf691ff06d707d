/* The parts of a recording that can be read. */
#ifndef FD_TRACE_PART_H
#define FD_TRACE_PART_H

#include <stdbool.h>

typedef enum fd_trace_part {
    FD_PART_FIGURES,
    FD_PART_TIMELINE, /* including events, 24 bytes each */
    FD_PART_TOTALS,   /* threads and totals of contexts, without their spreads,
                       * steps, jobs and measures; the figures are sums over
                       * ranks, stored in one of them */
    FD_PART_OPEN_CALLS /* threads, and only the contexts and figures of open
                        * calls and collectives */
} fd_trace_part;

static inline fd_trace_part
fd_part_of(bool timeline)
{
    return timeline ? FD_PART_TIMELINE : FD_PART_FIGURES;
}

#endif
