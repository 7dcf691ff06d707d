/* Allocated memory per context and device: allocated, freed, live, the share
 * of the peak, the slope over steps.
 *
 *     block at an address ──► fd_measure ALLOCATED of the allocating context
 *     its end on any thread ─► fd_measure FREED of this context and thread
 *
 * Each record has one writer. Live bytes and peak of a device change together
 * in one atomic exchange, so all threads agree on the order of events and on
 * the event that reached the peak. A peak is known by its bytes, as peaks only
 * rise: before a record changes, it stores the sum that it had at the latest
 * peak. So the sums at the peak add up to it, without a pass over all records
 * when it is reached. */
#ifndef FD_MEMORY_USE_H
#define FD_MEMORY_USE_H

#include "recording/context_tree.h"
#include "recording/measures/block_table.h"

enum {
    FD_MEMORY_CPU = 0,
    FD_MEMORY_CUDA = 1, /* and the index of the device */
    FD_MEMORY_DEVICES = 17
};

typedef struct fd_memory_level {
    _Alignas(16) uint64_t live; /* bytes */
    uint64_t peak;
} fd_memory_level;

typedef struct fd_memory_use {
    fd_recording *recording; /* borrowed */
    fd_blocks blocks;
    fd_memory_level levels[FD_MEMORY_DEVICES];
    _Atomic uint32_t names[FD_MEMORY_DEVICES]; /* strings; 0: not used yet */
    uint32_t *
        records; /* owned, stored atomically: ids of all ALLOCATED and FREED */
    _Atomic uint32_t count; /* of `records` */
    uint32_t room;
    uint64_t ends; /* of steps */
    _Atomic uint64_t lost;
    _Atomic uint64_t lost_bytes;
    _Atomic uint64_t unknown; /* frees of blocks that are not followed */
} fd_memory_use;

fd_status fd_memory_init(fd_memory_use *use, fd_recording *recording);

void fd_memory_clear(fd_memory_use *use);

/* A block was allocated in `context` of `tree`, by its owner. */
void fd_memory_allocated(fd_memory_use *use, fd_tree *tree, uint32_t context,
                         uint32_t device, uint64_t address, uint64_t bytes);

/* A block was freed by the owner of `tree`, in a context of this phase. */
void fd_memory_freed(fd_memory_use *use, fd_tree *tree, uint32_t phase,
                     uint64_t address);

/* Count a block that cannot be followed. */
void fd_memory_lose(fd_memory_use *use, uint64_t bytes);

/* The owner of `tree` ends a step. */
void fd_memory_step(fd_memory_use *use, fd_tree *tree);

/* The ends of steps so far were no steps. */
void fd_memory_discard(fd_memory_use *use);

/* Store the counts of blocks that are not followed, at the root of `tree`. */
void fd_memory_settle(fd_memory_use *use, fd_tree *tree);

#endif
