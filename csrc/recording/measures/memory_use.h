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
 * all records whenever it rises.
 *
 * Allocators of GPUs report the bytes of the device with each event. These are
 * its live bytes, so that they include blocks from before the recording. */
#ifndef FD_MEMORY_USE_H
#define FD_MEMORY_USE_H

#include "recording/context_tree.h"
#include "recording/measures/block_table.h"

typedef enum fd_memory_change {
    FD_MEMORY_ALLOCATED,
    FD_MEMORY_FREED,
    FD_MEMORY_REFUSED /* the allocation failed */
} fd_memory_change;

/* A report of an allocator. */
typedef struct fd_memory_event {
    fd_memory_change change;
    uint32_t device;    /* FD_MEMORY_* */
    uint64_t address;   /* 0 if the allocation failed */
    uint64_t bytes;     /* 0: unknown, of blocks freed on the CPU */
    uint64_t step;      /* number of the running step, plus 1; 0: unknown */
    bool totals;        /* whether the allocator reports the next two: */
    uint64_t allocated; /* bytes on the device after the event */
    uint64_t reserved;
} fd_memory_event;

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
        _Atomic uint64_t refusals; /* number of failed allocations */
        char apart[40]; /* from the next device, which another thread may
                           change meanwhile */
    } levels[FD_MEMORY_DEVICES];
    _Atomic uint32_t names[FD_MEMORY_DEVICES]; /* ids of strings; 0: not used
                                                  yet */
    uint32_t *records;      /* owned, atomic: ids of ALLOCATED, FREED */
    _Atomic uint32_t count; /* number of `records` */
    uint32_t capacity;
    _Atomic bool sampling;  /* whether a thread samples live bytes */
    _Atomic bool discarded; /* whether the samples must be discarded */
    _Atomic bool holding;   /* whether a thread stores what is live */
    uint64_t ends;          /* number of samples */
    _Atomic uint64_t lost;
    _Atomic uint64_t lost_bytes;
    _Atomic uint64_t unknown; /* frees of blocks that are not tracked */
} fd_memory_use;

fd_status fd_memory_init(fd_memory_use *use, fd_recording *recording);

void fd_memory_clear(fd_memory_use *use);

/* Count a block that the owner of `tree` has allocated in `context`. */
void fd_memory_allocated(fd_memory_use *use, fd_tree *tree, uint32_t context,
                         const fd_memory_event *of);

/* Count a block that the owner of `tree` has freed in `context`, in a
 * phase. */
void fd_memory_freed(fd_memory_use *use, fd_tree *tree, uint32_t context,
                     uint32_t phase, const fd_memory_event *of);

/* Count a failed allocation of the owner of `tree` in `context`, and store
 * what is live of each context. */
void fd_memory_refused(fd_memory_use *use, fd_tree *tree, uint32_t context,
                       const fd_memory_event *of);

/* Store what is live of the blocks of each ALLOCATED record with this name of
 * a device, unless another thread does so. */
void fd_memory_hold(fd_memory_use *use, uint32_t name);

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
