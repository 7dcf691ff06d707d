/* Events of one rank other than its calls: phases of steps, and counters. */
#ifndef FD_CHROME_TRACKS_H
#define FD_CHROME_TRACKS_H

#include "clocks/clock_map.h"
#include "events/event_batch.h"
#include "events/recorded/side_tracks.h"
#include "trace/trace.h"

typedef enum fd_chrome_kind {
    FD_CHROME_PROCESS,
    FD_CHROME_THREAD,
    FD_CHROME_TRACK /* steps, phases, streams: a thread in Chrome JSON */
} fd_chrome_kind;

/* Add the metadata rows with the name and the sort index. */
void fd_chrome_rows(fd_event_batch *batch, const fd_trace_rank *rank,
                    fd_chrome_kind kind, uint32_t tid, const char *name,
                    size_t size, uint32_t sort_index);

typedef struct fd_chrome_tracks {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    const fd_clock_map *clock;
    uint32_t phases;     /* track number of the phases */
    uint32_t sort_index; /* sort index */
} fd_chrome_tracks;

/* Add the slices of the phases. */
fd_status fd_chrome_phases(const fd_chrome_tracks *tracks,
                           fd_event_batch *batch);

/* Position in the values of the counters. Zero-initialised memory is empty. */
typedef struct fd_chrome_counters {
    fd_counter_values values[FD_COUNTER_KINDS];
    uint32_t counter; /* index into `values` */
    uint32_t next;    /* index into its list */
} fd_chrome_counters;

fd_status fd_chrome_counters_make(fd_chrome_counters *counters,
                                  const fd_trace_rank *rank);
void fd_chrome_counters_clear(fd_chrome_counters *counters);

/* Add the next value; return false if there are no more. */
bool fd_chrome_counters_next(fd_chrome_counters *counters,
                             const fd_chrome_tracks *tracks,
                             fd_event_batch *batch);

#endif
