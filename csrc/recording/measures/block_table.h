/* A lock-free table of allocated memory blocks by address, of bounded size,
 * shared by all threads:
 *
 *     address ──► bucket of 8 ──► the next ones, 4 in all
 *
 * A thread adds a block after the allocator has returned it and removes it
 * before the allocator can reuse it. So no two threads use one address at a
 * time. */
#ifndef FD_BLOCK_TABLE_H
#define FD_BLOCK_TABLE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { FD_BLOCKS = 1 << 19 };

typedef struct fd_memory_block {
    uint64_t bytes;
    uint64_t peak;   /* peak of the device before the allocation */
    uint32_t record; /* fd_measure of the allocating call path */
    uint32_t device; /* FD_MEMORY_* */
} fd_memory_block;

typedef struct fd_blocks {
    uint64_t *addresses;   /* owned, accessed atomically; 0: free slot */
    fd_memory_block *list; /* owned, same order */
} fd_blocks;

/* Allocate the table. After FD_ENOMEM it is empty and cannot hold blocks. */
fd_status fd_blocks_init(fd_blocks *blocks);

void fd_blocks_clear(fd_blocks *blocks);

/* Add a block at a nonzero address and return it for the caller to fill in.
 * Return NULL if there is no space. */
fd_memory_block *fd_blocks_add(fd_blocks *blocks, uint64_t address);

/* Remove a block and copy it to `block`. Return false if it is not in the
 * table. */
bool fd_blocks_take(fd_blocks *blocks, uint64_t address,
                    fd_memory_block *block);

#endif
