/* Allocated memory per context and device: allocated, freed, live, part of the
 * peak, and slope over steps.
 *
 *     block at an address ──► fd_measure ALLOCATED of the allocating context
 *     its end on any thread ─► fd_measure FREED of this context and thread
 *
 * Each record has one writer. Live bytes and peak of a device change together
 * in one atomic exchange, so all threads agree on the order of events and on
 * the event that reached the peak. A peak is identified by its bytes, because
 * peaks only rise. Before a record changes, it stores the sum that it had at
 * the latest peak. So the stored sums add up to the peak, without a pass over
 * all records whenever it rises. */
#ifndef FD_MEMORY_USE_H
#define FD_MEMORY_USE_H

#include "recording/context_tree.h"
#include "recording/measures/block_table.h"

enum {
    FD_MEMORY_CPU = 0,
    FD_MEMORY_CUDA = 1, /* plus the index of the device */
    FD_MEMORY_DEVICES = 17
};

typedef struct fd_memory_level {
    _Alignas(16) uint64_t live; /* bytes */
    uint64_t peak;
} fd_memory_level;

typedef struct fd_memory_use {
    fd_recording *recording; /* borrowed */
    fd_blocks blocks;
    struct {
        fd_memory_level level;
        char apart[48]; /* from the next device, which another thread may
                           change meanwhile */
    } levels[FD_MEMORY_DEVICES];
    _Atomic uint32_t names[FD_MEMORY_DEVICES]; /* ids of strings; 0: not used
                                                  yet */
    uint32_t *records;      /* owned, atomic: ids of ALLOCATED, FREED */
    _Atomic uint32_t count; /* number of `records` */
    uint32_t capacity;
    _Atomic bool sampling;  /* whether a thread samples live bytes */
    _Atomic bool discarded; /* whether the samples must be discarded */
    uint64_t ends;          /* number of samples */
    _Atomic uint64_t lost;
    _Atomic uint64_t lost_bytes;
    _Atomic uint64_t unknown; /* frees of blocks that are not tracked */
} fd_memory_use;

fd_status fd_memory_init(fd_memory_use *use, fd_recording *recording);

void fd_memory_clear(fd_memory_use *use);

/* Count a block that the owner of `tree` has allocated in `context`. */
void fd_memory_allocated(fd_memory_use *use, fd_tree *tree, uint32_t context,
                         uint32_t device, uint64_t address, uint64_t bytes);

/* Count a block that the owner of `tree` has freed, in a context with this
 * phase. */
void fd_memory_freed(fd_memory_use *use, fd_tree *tree, uint32_t phase,
                     uint64_t address);

/* Count a block that cannot be tracked. */
void fd_memory_lose(fd_memory_use *use, uint64_t bytes);

/* Sample the live bytes at the end of a step of `tree`, unless another thread
 * does so or discards samples: it ends the same step. */
void fd_memory_step(fd_memory_use *use, fd_tree *tree);

/* Return the live bytes of all devices. */
uint64_t fd_memory_live(const fd_memory_use *use);

/* Discard the samples: the ends of steps so far were not steps. */
void fd_memory_discard(fd_memory_use *use);

/* Store the counts of untracked blocks at the root of `tree`. */
void fd_memory_settle(fd_memory_use *use, fd_tree *tree);

#endif
