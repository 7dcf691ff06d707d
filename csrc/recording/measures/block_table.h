/* A lock-free table of allocated memory blocks by address, of bounded size,
 * shared by all threads:
 *
 *     address ──► near: one cache line of 2 blocks, 128 KB in all
 *             ──► far: 4 buckets of 8 blocks each, if that line is full
 *
 * The near part keeps programs with few blocks in the caches of the processor.
 * A thread adds a block after the allocator has returned it and removes it
 * before the allocator can reuse it. So no two threads use one address at a
 * time. */
#ifndef FD_BLOCK_TABLE_H
#define FD_BLOCK_TABLE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { FD_BLOCKS = 1 << 19 /* of the far part */ };

typedef struct fd_memory_block {
    uint64_t address; /* accessed atomically; 0: unused */
    uint64_t bytes;
    uint64_t peak;         /* peak of the device before the allocation */
    uint32_t record;       /* fd_measure of the allocating call path */
    uint32_t context : 24; /* that call path */
    uint32_t device : 8;   /* FD_MEMORY_* */
} fd_memory_block;

typedef struct fd_blocks {
    void *memory; /* owned */
    fd_memory_block *near;
    fd_memory_block *far;
} fd_blocks;

/* Allocate the table. After FD_ENOMEM it is empty and cannot hold blocks. */
fd_status fd_blocks_init(fd_blocks *blocks);

void fd_blocks_clear(fd_blocks *blocks);

/* Load the cache line in which a block at this address probably is. */
void fd_blocks_prefetch(const fd_blocks *blocks, uint64_t address);

/* Add a block at a nonzero address and return it for the caller to fill in,
 * except for the address. Return NULL if there is no space. */
fd_memory_block *fd_blocks_add(fd_blocks *blocks, uint64_t address);

/* Remove a block and copy it to `block`. Return false if it is not in the
 * table. */
bool fd_blocks_take(fd_blocks *blocks, uint64_t address,
                    fd_memory_block *block);

#endif
