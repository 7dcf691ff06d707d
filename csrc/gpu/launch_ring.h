/* Launches that wait for the records of their kernels: a ring that any thread
 * writes without a lock, and one thread reads.
 *
 *     slot = correlation id & mask     [ correlation | seen | context ]
 *
 * A launch overwrites the one that is FD_LAUNCHES older: its kernels are then
 * counted without a path. Correlation ids are 32-bit numbers that wrap. */
#ifndef FD_LAUNCH_RING_H
#define FD_LAUNCH_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FD_LAUNCHES = 65536 };

/* The call that launches a kernel. */
typedef struct fd_launcher {
    uint32_t context;  /* 0: no call path */
    uint32_t call;     /* fd_op_call of an execution trace; 0: none */
    uint32_t log;      /* number of the thread's fd_running_log; 0: none */
    uint32_t function; /* of CUDA: fd_launch_function */
    uint32_t ticks;    /* until it returned; 0: not known */
} fd_launcher;

typedef struct fd_launch {
    /* correlation id << 32 | seen << 31 | context; 0: never used */
    _Atomic uint64_t word;
    _Atomic uint64_t tick;
    _Atomic uint32_t call;
    _Atomic uint32_t log;
    _Atomic uint32_t function;
    _Atomic uint32_t ticks;
} fd_launch;

typedef struct fd_launch_ring {
    _Atomic uint64_t written;
    _Atomic uint64_t overwritten; /* before their kernels were seen */
    /* Correlation ids of the first launch of the window and of the latest; 0:
     * none. Then those of the window before. */
    _Atomic uint32_t first;
    _Atomic uint32_t last;
    _Atomic uint32_t earlier_first;
    _Atomic uint32_t earlier_last;
    uint32_t settled; /* all launches up to this id were seen or given up;
                         of the reader */
    _Atomic uint32_t latest_seen; /* highest id of a record that was found */
    _Atomic uint64_t seen;        /* launches that are not waited for */
    fd_launch list[FD_LAUNCHES];
} fd_launch_ring;

/* Begin a window: later launches are part of it. With `keeps`, those of the
 * window before are still waited for; otherwise they are forgotten. No launch
 * is written or searched meanwhile. */
void fd_launches_begin(fd_launch_ring *ring, bool keeps);

/* Add a launch. A call inside of it has the same id, and is not added. */
void fd_launches_put(fd_launch_ring *ring, uint32_t correlation,
                     fd_launcher launcher, uint64_t tick);

/* Note the tick at which the function that launched has returned. */
void fd_launches_end(fd_launch_ring *ring, uint32_t correlation,
                     uint32_t function, uint64_t tick);

/* No kernel of this launch will come: it was captured into a graph. */
void fd_launches_capture(fd_launch_ring *ring, uint32_t correlation);

/* Whether the launch of a record is known. */
typedef enum fd_launch_state {
    FD_LAUNCH_FOUND,
    FD_LAUNCH_UNKNOWN, /* in the window, but not in the ring */
    FD_LAUNCH_OUTSIDE  /* outside of windows */
} fd_launch_state;

/* Find a launch and mark it as seen. Unless it is found, `launcher` and `tick`
 * become 0. */
fd_launch_state fd_launches_find(fd_launch_ring *ring, uint32_t correlation,
                                 fd_launcher *launcher, uint64_t *tick);

/* Return the tick before which all launches were seen, at most `now`. Launches
 * that are older than `patience` are given up. */
uint64_t fd_launches_seen_until(fd_launch_ring *ring, uint64_t now,
                                uint64_t patience);

/* Return whether a kernel of the latest launch was seen. */
bool fd_launches_reached(const fd_launch_ring *ring);

/* Return the number of launches of which no kernel was seen. */
uint64_t fd_launches_pending(const fd_launch_ring *ring);

#endif
