#include "recording/measures/block_table.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <assert.h>
#include <stddef.h>

enum {
    LINE = 64,
    NEAR = 4096,
    NEAR_BITS = 12,
    PAIR = LINE / sizeof(fd_memory_block),
    BUCKET = 8,
    SEARCHED = PAIR + 4 * BUCKET
};

static_assert(sizeof(fd_memory_block) == LINE / 2, "two blocks per line");

fd_status
fd_blocks_init(fd_blocks *blocks)
{
    *blocks = (fd_blocks){NULL, NULL, NULL};
    size_t bytes = (NEAR + FD_BLOCKS) * sizeof(fd_memory_block);
    blocks->memory = fd_calloc(1, bytes + LINE);
    if (blocks->memory == NULL) {
        return FD_ENOMEM;
    }
    uintptr_t past = (uintptr_t)blocks->memory % LINE;
    blocks->near =
        (fd_memory_block *)((char *)blocks->memory + (LINE - past) % LINE);
    blocks->far = blocks->near + NEAR;
    return FD_OK;
}

void
fd_blocks_clear(fd_blocks *blocks)
{
    fd_free(blocks->memory);
    *blocks = (fd_blocks){NULL, NULL, NULL};
}

/* Return the i-th slot that an address may use. */
static fd_memory_block *
block_slot(const fd_blocks *blocks, uint64_t address, size_t i)
{
    size_t hash = (size_t)fd_hash_word(address);
    if (i < PAIR) {
        return &blocks->near[hash % (NEAR / PAIR) * PAIR + i];
    }
    size_t bucket = (hash >> NEAR_BITS) % (FD_BLOCKS / BUCKET);
    return &blocks->far[(bucket * BUCKET + i - PAIR) % FD_BLOCKS];
}

void
fd_blocks_prefetch(const fd_blocks *blocks, uint64_t address)
{
    if (blocks->memory != NULL) {
        __builtin_prefetch(block_slot(blocks, address, 0), 1);
    }
}

fd_memory_block *
fd_blocks_add(fd_blocks *blocks, uint64_t address)
{
    for (size_t i = 0; blocks->memory != NULL && i < SEARCHED; i++) {
        fd_memory_block *to = block_slot(blocks, address, i);
        uint64_t none = 0;
        if (__atomic_load_n(&to->address, __ATOMIC_RELAXED) == 0
            && __atomic_compare_exchange_n(&to->address, &none, address, false,
                                           __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED)) {
            return to;
        }
    }
    return NULL;
}

bool
fd_blocks_take(fd_blocks *blocks, uint64_t address, fd_memory_block *block)
{
    for (size_t i = 0; blocks->memory != NULL && i < SEARCHED; i++) {
        fd_memory_block *from = block_slot(blocks, address, i);
        if (__atomic_load_n(&from->address, __ATOMIC_RELAXED) == address) {
            *block = *from;
            __atomic_store_n(&from->address, 0, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}
