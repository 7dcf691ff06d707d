/* Which forward call created an autograd node. PyTorch numbers autograd nodes
 * per forward thread; a forward operator carries the number the next node
 * will get. So each operator leaves its context in a ring under that number,
 * and the node looks it up when it runs, on whatever thread.
 *
 * Rings are written by one thread and read by any; an entry is one 64-bit
 * word, so a reader sees a whole entry or the one before.
 */
#ifndef FD_ORIGINS_H
#define FD_ORIGINS_H

#include "recording/recording.h"

enum {
    FD_RINGS = 1024,        /* forward threads, by PyTorch's number of it */
    FD_RING_MAIN = 1 << 19, /* entries of the first ring */
    FD_RING_OTHER = 1 << 16,
    FD_ORIGIN_REACH = 16 /* an operator can create two nodes or more */
};

typedef struct fd_ring {
    uint32_t mask;
    _Atomic uint64_t *starts;   /* ticks, of the operators; NULL: not stored.
                                 Behind the entries, in one block */
    _Atomic uint64_t entries[]; /* number << 32 | context */
} fd_ring;

typedef struct fd_origins {
    _Atomic(fd_ring *) rings[FD_RINGS]; /* owned */
    uint32_t count;
    uint64_t first;    /* thread whose ring was made first */
    bool keeps_starts; /* for the arrows of a timeline; set before the first */
} fd_origins;

void fd_origins_clear(fd_origins *origins);

/* The ring of a forward thread, made at its first numbered operator. NULL when
 * there is no room for one. PyTorch may give one number to several threads, so
 * `lock` is taken. */
fd_ring *fd_origins_ring(fd_origins *origins, pthread_mutex_t *lock,
                         uint64_t thread);

static inline void
fd_ring_put(fd_ring *ring, uint64_t number, uint32_t context, uint64_t start)
{
    uint64_t place = number & ring->mask;
    if (__builtin_expect(ring->starts != NULL, false)) {
        atomic_store_explicit(&ring->starts[place], start,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&ring->entries[place], number << 32 | context,
                          memory_order_release);
}

typedef struct fd_origin {
    uint32_t context; /* 0: not known; the cause is counted */
    uint64_t start;   /* of the call; 0 where that is not kept */
} fd_origin;

/* The context that created autograd node `number`, called `name`, of a forward
 * thread: the one that left this number, else the nearest lower one whose
 * operator's name fits, else the nearest. */
fd_origin fd_origins_find(const fd_origins *origins, const fd_file *file,
                          uint64_t thread, uint64_t number, const char *name);

/* Whether the function or operator of a context can, by its name, have created
 * an autograd node called `name`. */
bool fd_origins_fit(const fd_file *file, uint32_t context, const char *name);

#endif
