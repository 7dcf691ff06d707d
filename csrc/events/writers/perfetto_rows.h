/* Slices of one rank on their tracks, as packets in the order of time.
 *
 * Slices of one track must nest. An overlapping slice is moved to the first
 * free lane of its thread, an additional track below it:
 *
 *     thread   [ a              ]   [ d    ]
 *                 [ b ]
 *     lane 1              [ c        ]
 *
 * The ends of all slices with a duration are kept in one heap, so that packets
 * are in the order of time. */
#ifndef FD_PERFETTO_ROWS_H
#define FD_PERFETTO_ROWS_H

#include "base/arena.h"
#include "events/writers/perfetto_packets.h"

enum { FD_PERFETTO_LANES = 256 /* per thread */ };

typedef struct fd_perfetto_open {
    int64_t end;   /* INT64_MAX: unknown */
    int64_t limit; /* minimum of the ends of this slice and the slices around
                    * it */
} fd_perfetto_open;

typedef struct fd_perfetto_lane {
    uint32_t track;
    uint32_t forced;                  /* ended early */
    FD_VECTOR(fd_perfetto_open) open; /* outermost first */
    FD_VECTOR(int64_t) written; /* ends in the heap that were written early */
} fd_perfetto_lane;

typedef FD_VECTOR(uint32_t) fd_perfetto_numbers;

typedef struct fd_perfetto_ending {
    int64_t end;
    uint32_t lane;
} fd_perfetto_ending;

typedef struct fd_perfetto_lanes {
    fd_arena *arena;            /* borrowed; memory of the lists */
    fd_native_packets *packets; /* borrowed; with times of the input */
    uint32_t *spare_track;      /* borrowed: the next unused track number */
    fd_perfetto_counts *counts; /* borrowed */
    FD_VECTOR(fd_perfetto_lane) lanes;
    FD_VECTOR(fd_perfetto_numbers)
    /* lanes of each thread, its own track first */
    threads;
    FD_VECTOR(fd_perfetto_ending) endings; /* a heap, the earliest end first */
} fd_perfetto_lanes;

/* Add a thread by its track number; threads are numbered from 0. */
void fd_perfetto_lanes_thread(fd_perfetto_lanes *lanes, uint32_t track);

/* Append all known ends before a time; INT64_MAX: all. Call it before each
 * event; times must ascend. Slices without a known end stay open. */
void fd_perfetto_lanes_until(fd_perfetto_lanes *lanes, int64_t time);

/* Append the packets of a slice. `body` is a TrackEvent without type and
 * track. */
void fd_perfetto_slice(fd_perfetto_lanes *lanes, uint32_t thread,
                       int64_t begin, int64_t end, fd_span body);
void fd_perfetto_begin(fd_perfetto_lanes *lanes, uint32_t thread, int64_t time,
                       fd_span body);
void fd_perfetto_end(fd_perfetto_lanes *lanes, uint32_t thread, int64_t time,
                     fd_span body);

#endif
