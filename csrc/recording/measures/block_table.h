/* Allocated blocks of memory by address, for any number of threads, without a
 * lock. Of bounded size:
 *
 *     address ──► bucket of 8 ──► the next ones, 4 in all
 *
 * The thread that has just got a block from an allocator adds it; the thread
 * that returns it takes it out before the allocator can hand it out again. So
 * no two threads use one address at a time. */
#ifndef FD_BLOCK_TABLE_H
#define FD_BLOCK_TABLE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { FD_BLOCKS = 1 << 19 };

typedef struct fd_memory_block {
    uint64_t bytes;
    uint64_t peak;   /* of the device before the block was allocated */
    uint32_t record; /* fd_measure of the path that allocated it */
    uint32_t device; /* FD_MEMORY_* */
} fd_memory_block;

typedef struct fd_blocks {
    uint64_t *addresses;   /* owned, changed atomically; 0: free */
    fd_memory_block *list; /* owned, parallel */
} fd_blocks;

/* FD_ENOMEM leaves an empty table without room. */
fd_status fd_blocks_init(fd_blocks *blocks);

void fd_blocks_clear(fd_blocks *blocks);

/* A block at an address other than 0, for the caller to fill in. NULL: no
 * room. */
fd_memory_block *fd_blocks_add(fd_blocks *blocks, uint64_t address);

/* Take a block out. False: not in the table. */
bool fd_blocks_take(fd_blocks *blocks, uint64_t address,
                    fd_memory_block *block);

#endif
