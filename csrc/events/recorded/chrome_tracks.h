/* Tracks of one rank beside its calls, for Chrome's text: phases of steps, and
 * counters. */
#ifndef FD_CHROME_TRACKS_H
#define FD_CHROME_TRACKS_H

#include "clocks/clock_fit.h"
#include "trace/trace.h"

/* Append what a "process" or "thread" is called, and after a comma which place
 * among them it has. */
void fd_chrome_row(fd_buffer *to, const fd_trace_rank *rank, const char *what,
                   uint32_t tid, const char *text, size_t size);
void fd_chrome_place(fd_buffer *to, const fd_trace_rank *rank,
                     const char *what, uint32_t tid, uint32_t place);

typedef struct fd_chrome_tracks {
    const fd_trace *trace;
    const fd_trace_rank *rank;
    const fd_clock_map *clock;
    uint32_t phases; /* number of their track */
    uint32_t place;  /* among the tracks */
} fd_chrome_tracks;

/* Append them, each row with a comma before it. */
fd_status fd_chrome_tracks_write(const fd_chrome_tracks *tracks,
                                 fd_buffer *to);

#endif
