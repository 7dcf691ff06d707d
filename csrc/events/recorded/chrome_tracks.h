/* Events of one rank beside its calls: phases of steps, and counters. */
#ifndef FD_CHROME_TRACKS_H
#define FD_CHROME_TRACKS_H

#include "clocks/clock_fit.h"
#include "events/event_batch.h"
#include "trace/trace.h"

/* Add the rows with the name and the place of a process, or of a thread. */
void fd_chrome_row(fd_event_batch *batch, const fd_trace_rank *rank,
                   bool thread, uint32_t tid, const char *text, size_t size);
void fd_chrome_place(fd_event_batch *batch, const fd_trace_rank *rank,
                     bool thread, uint32_t tid, uint32_t place);

typedef struct fd_chrome_tracks {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    const fd_clock_map *clock;
    uint32_t phases; /* number of their track */
    uint32_t place;  /* among the tracks */
} fd_chrome_tracks;

fd_status fd_chrome_tracks_put(const fd_chrome_tracks *tracks,
                               fd_event_batch *batch);

#endif
