/* The forward call that created an autograd node. PyTorch numbers autograd
 * nodes per forward thread; the record of a forward operator has the number of
 * the next node. So each operator stores its context in a ring under that
 * number, and the autograd node looks up the context when it runs, on any
 * thread.
 *
 * A ring has one writer and any number of readers; an entry is one 64-bit
 * word, so that readers never see a partial entry. */
#ifndef FD_ORIGINS_H
#define FD_ORIGINS_H

#include "recording/recording.h"

enum {
    FD_RINGS = 1024,        /* maximum forward threads, by PyTorch's number */
    FD_RING_MAIN = 1 << 19, /* entries of the first ring */
    FD_RING_OTHER = 1 << 16,
    FD_ORIGIN_REACH = 16 /* lower numbers to try: operators can create several
                            nodes */
};

typedef struct fd_ring {
    uint32_t mask;
    _Atomic uint64_t *starts;   /* ticks of the operators, in the same block,
                                   after the entries; NULL: not stored */
    _Atomic uint64_t entries[]; /* number << 32 | context */
} fd_ring;

typedef struct fd_origins {
    _Atomic(fd_ring *) rings[FD_RINGS]; /* owned */
    uint32_t count;
    uint64_t first;    /* PyTorch's number of the thread of the first ring */
    bool keeps_starts; /* store starts for flows of a timeline; set before the
                          first ring */
} fd_origins;

void fd_origins_clear(fd_origins *origins);

/* Return the ring of a forward thread, created at its first numbered operator,
 * or NULL if there is no space. Acquires `lock`, because PyTorch may give the
 * same number to several threads. */
fd_ring *fd_origins_ring(fd_origins *origins, pthread_mutex_t *lock,
                         uint64_t thread);

static inline void
fd_ring_put(fd_ring *ring, uint64_t number, uint32_t context, uint64_t start)
{
    uint64_t slot = number & ring->mask;
    if (__builtin_expect(ring->starts != NULL, false)) {
        atomic_store_explicit(&ring->starts[slot], start,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&ring->entries[slot], number << 32 | context,
                          memory_order_release);
}

typedef struct fd_origin {
    uint32_t context; /* 0: unknown; the reason is counted */
    uint64_t start;   /* tick of the call; 0: not stored */
} fd_origin;

/* Return the context that created autograd node `number`, called `name`, of a
 * forward thread: the one stored under this number, else the one under the
 * nearest lower number whose operator fits the name, else the one under the
 * nearest lower number. */
fd_origin fd_origins_find(const fd_origins *origins, const fd_file *file,
                          uint64_t thread, uint64_t number, const char *name);

/* Return whether the function or operator of a context may have created an
 * autograd node called `name`, judging by the names. */
bool fd_origins_fit(const fd_file *file, uint32_t context, const char *name);

#endif
