/* Progress of a search, which another thread can read. */
#ifndef FD_SEARCH_WATCH_H
#define FD_SEARCH_WATCH_H

#include <stddef.h>

typedef struct fd_watch {
    _Atomic double low;  /* seconds; lower bound */
    _Atomic double high; /* seconds of the best plan; INFINITY: no plan yet */
    _Atomic double done; /* from 0 to 1, of the current step */
} fd_watch;

/* Set the bounds; `watch` may be NULL. */
static inline void
fd_watch_bounds(fd_watch *watch, double low, double high)
{
    if (watch != NULL) {
        watch->low = low;
        watch->high = high;
    }
}

static inline void
fd_watch_done(fd_watch *watch, double part, double whole)
{
    if (watch != NULL) {
        watch->done = part / whole;
    }
}

#endif
