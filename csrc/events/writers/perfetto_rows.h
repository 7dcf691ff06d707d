/* Slices of one rank on their tracks, as packets in the order of time.
 *
 * Slices of one track must lie within each other. An overlapping slice
 * is in the first free further lane of its thread, a track below it:
 *
 *     thread   [ a              ]   [ d    ]
 *                 [ b ]
 *     lane 1              [ c        ]
 *
 * The ends of all slices with a duration wait in one heap, so that packets are in
 * the order of time. */
#ifndef FD_PERFETTO_ROWS_H
#define FD_PERFETTO_ROWS_H

#include "base/vector.h"
#include "events/recorded/native_packets.h"

enum { FD_PERFETTO_LANES = 256 /* of a thread */ };

typedef struct fd_perfetto_open {
    int64_t end;   /* INT64_MAX: not known yet */
    int64_t limit; /* the earliest end of this one and those around it */
} fd_perfetto_open;

typedef struct fd_perfetto_lane {
    uint32_t track;
    uint32_t forced;                  /* ended early */
    FD_VECTOR(fd_perfetto_open) open; /* outermost first */
    FD_VECTOR(int64_t) written; /* ends in the heap that are already written */
} fd_perfetto_lane;

typedef FD_VECTOR(uint32_t) fd_perfetto_numbers;

typedef struct fd_perfetto_ending {
    int64_t end;
    uint32_t lane;
} fd_perfetto_ending;

typedef struct fd_perfetto_lanes {
    fd_native_packets *packets; /* borrowed; times are those of the input */
    uint32_t *spare_track;      /* borrowed: the next number of a track */
    FD_VECTOR(fd_perfetto_lane) lanes;
    FD_VECTOR(fd_perfetto_numbers)
    threads;                               /* their lanes, the own one first */
    FD_VECTOR(fd_perfetto_ending) endings; /* a heap, the earliest first */
    uint64_t aside;                        /* slices in further lanes */
    uint64_t crossed; /* ended early, with their enclosing slice */
    uint64_t alone;   /* ends without a begin */
} fd_perfetto_lanes;

void fd_perfetto_lanes_clear(fd_perfetto_lanes *lanes);

/* Add a thread, by the number of its track; threads are numbered from 0. */
fd_status fd_perfetto_lanes_thread(fd_perfetto_lanes *lanes, uint32_t track);

/* Append packets. `body` is of a TrackEvent without type and track; times go
 * up from call to call. */
fd_status fd_perfetto_slice(fd_perfetto_lanes *lanes, uint32_t thread,
                            int64_t begin, int64_t end, const void *body,
                            size_t size);
fd_status fd_perfetto_begin(fd_perfetto_lanes *lanes, uint32_t thread,
                            int64_t time, const void *body, size_t size);
fd_status fd_perfetto_end(fd_perfetto_lanes *lanes, uint32_t thread,
                          int64_t time, const void *body, size_t size);

/* An instant, a counter, or with type 0 what the body contains. */
fd_status fd_perfetto_mark(fd_perfetto_lanes *lanes, uint32_t track,
                           uint32_t type, int64_t time, const void *body,
                           size_t size);

/* Write all known ends. Other slices stay open. */
fd_status fd_perfetto_finish(fd_perfetto_lanes *lanes);

#endif
