#include "recording/measures/block_table.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <stddef.h>

enum { BUCKET = 8, SEARCHED = 4 * BUCKET };

fd_status
fd_blocks_init(fd_blocks *blocks)
{
    blocks->addresses = fd_calloc(FD_BLOCKS, sizeof *blocks->addresses);
    blocks->list = fd_calloc(FD_BLOCKS, sizeof *blocks->list);
    if (blocks->addresses == NULL || blocks->list == NULL) {
        fd_blocks_clear(blocks);
        return FD_ENOMEM;
    }
    return FD_OK;
}

void
fd_blocks_clear(fd_blocks *blocks)
{
    fd_free(blocks->addresses);
    fd_free(blocks->list);
    *blocks = (fd_blocks){NULL, NULL};
}

/* Return the i-th slot that an address may use. */
static size_t
place(uint64_t address, size_t i)
{
    size_t first = (size_t)fd_hash_word(address) & (FD_BLOCKS / BUCKET - 1);
    return (first * BUCKET + i) & (FD_BLOCKS - 1);
}

fd_memory_block *
fd_blocks_add(fd_blocks *blocks, uint64_t address)
{
    for (size_t i = 0; blocks->list != NULL && i < SEARCHED; i++) {
        size_t at = place(address, i);
        uint64_t none = 0;
        uint64_t *to = &blocks->addresses[at];
        if (__atomic_load_n(to, __ATOMIC_RELAXED) == 0
            && __atomic_compare_exchange_n(to, &none, address, false,
                                           __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED)) {
            return &blocks->list[at];
        }
    }
    return NULL;
}

bool
fd_blocks_take(fd_blocks *blocks, uint64_t address, fd_memory_block *block)
{
    for (size_t i = 0; blocks->list != NULL && i < SEARCHED; i++) {
        size_t at = place(address, i);
        uint64_t *from = &blocks->addresses[at];
        if (__atomic_load_n(from, __ATOMIC_RELAXED) == address) {
            *block = blocks->list[at];
            __atomic_store_n(from, 0, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}
