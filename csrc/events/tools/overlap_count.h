/* The number of slices that partly overlap another one of their thread, which
 * Perfetto drops when it reads Chrome JSON. Only open slices are in memory;
 * slices out of time order are compared only with slices that follow them in
 * the file, so the number can be too small. */
#ifndef FD_OVERLAP_COUNT_H
#define FD_OVERLAP_COUNT_H

#include "base/vector.h"
#include "events/timeline_event.h"

typedef struct fd_overlap_slice {
    int64_t start;
    int64_t end;
} fd_overlap_slice;

typedef FD_VECTOR(fd_overlap_slice) fd_overlap_thread; /* outermost first */

typedef struct fd_overlaps {
    FD_VECTOR(fd_overlap_thread) threads;
    uint64_t count;
} fd_overlaps;

void fd_overlaps_clear(fd_overlaps *overlaps);

/* Add an event; those other than complete slices of a thread are skipped. */
fd_status fd_overlaps_add(fd_overlaps *overlaps,
                          const fd_timeline_event *event, uint32_t thread);

#endif
