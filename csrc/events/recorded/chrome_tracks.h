/* Events of one rank other than its calls:
 *
 *     Time by phase   [ data | forward    | backward       | optimizer | other ]
 *     GPU 0 marked calls in flight   ▁▂▃▃▂▁    launched, and not yet passed
 *     main: events lost              ▁▁▁▁▁▇    known at its end
 *     Communicated bytes per step    ▁▇▇▃      from the start of each step
 *     Allocated bytes at ends of steps ▁▂▃▄
 *
 * Phases are sums over a step, drawn one after the other from its start: they
 * show durations, not positions in time. */
#ifndef FD_CHROME_TRACKS_H
#define FD_CHROME_TRACKS_H

#include "base/arena.h"
#include "clocks/clock_map.h"
#include "events/event_batch.h"
#include "trace/trace.h"

/* A rank whose events are added to a batch. */
typedef struct fd_chrome_tracks {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    fd_clock_map clock;    /* from times of the rank to times of the file */
    fd_event_batch *batch; /* borrowed */
    uint32_t phases;       /* track number of the phases */
    uint32_t sort_index;
} fd_chrome_tracks;

typedef enum fd_chrome_kind {
    FD_CHROME_PROCESS,
    FD_CHROME_THREAD,
    FD_CHROME_TRACK /* steps, phases, streams: a thread in Chrome JSON */
} fd_chrome_kind;

/* Add the metadata rows with the name and the sort index. */
void fd_chrome_rows(const fd_chrome_tracks *tracks, fd_chrome_kind kind,
                    uint32_t tid, fd_span name, uint32_t sort_index);

/* Add an event or a slice and return it, to be filled before the next one. */
fd_timeline_event *fd_chrome_event(const fd_chrome_tracks *tracks, char phase,
                                   uint32_t tid, uint64_t time);
fd_timeline_event *fd_chrome_slice(const fd_chrome_tracks *tracks,
                                   uint32_t tid, uint64_t start, uint64_t end);

/* Add the slices of the phases of the latest steps that have any phase except
 * "other". */
void fd_chrome_phases(const fd_chrome_tracks *tracks);

/* A change of the number of calls in flight on a device by +1 or -1. */
typedef struct fd_flight_change {
    uint64_t time;
    uint32_t device;
    int up;
} fd_flight_change;

/* Position in the values of the counters. */
typedef struct fd_chrome_counters {
    fd_flight_change *changes; /* by device and time; of the arena */
    uint32_t count;
    uint32_t next;      /* index into `changes` */
    uint64_t in_flight; /* before it */
} fd_chrome_counters;

fd_chrome_counters fd_chrome_counters_make(const fd_trace_rank *rank,
                                           fd_arena *arena);

/* Add the next number of calls in flight. After the last one, add all values
 * of the other counters, and return false. */
bool fd_chrome_counters_next(fd_chrome_counters *counters,
                             const fd_chrome_tracks *tracks);

#endif
