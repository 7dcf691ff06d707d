/* What a search is at, for somebody who looks on from another thread. */
#ifndef FD_TIME_LIMIT_H
#define FD_TIME_LIMIT_H

#include <stddef.h>

typedef struct fd_watch {
    _Atomic double low;  /* seconds; no plan is quicker */
    _Atomic double high; /* a plan that was found; INFINITY */
    _Atomic double done; /* from 0 to 1, of the question at hand */
} fd_watch;

/* `watch` may be NULL. */
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
