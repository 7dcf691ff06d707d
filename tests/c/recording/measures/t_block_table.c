#include "check.h"

#include "recording/measures/block_table.h"

enum { MANY = FD_BLOCKS / 4, NEAR = 4096 };

static uint64_t
address_of(uint64_t i)
{
    return 0x7f0000000000 + i * 64;
}

TEST(removed_blocks_equal_added_ones)
{
    CLEAN(fd_blocks_clear) fd_blocks blocks;
    OK(fd_blocks_init(&blocks));
    fd_memory_block found;
    CHECK(!fd_blocks_take(&blocks, 64, &found));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        fd_memory_block *block = fd_blocks_add(&blocks, address_of(i));
        if (block != NULL) {
            block->bytes = i;
            block->record = (uint32_t)i;
            kept++;
        }
    }
    EQUAL(kept, MANY);
    for (uint64_t i = 0; i < MANY; i++) {
        CHECK(fd_blocks_take(&blocks, address_of(i), &found));
        FIELDS(&found, (address, address_of(i)), (bytes, i));
        CHECK(!fd_blocks_take(&blocks, address_of(i), &found));
    }
}

TEST(a_full_table_refuses)
{
    CLEAN(fd_blocks_clear) fd_blocks blocks;
    OK(fd_blocks_init(&blocks));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < 2 * FD_BLOCKS; i++) {
        kept += fd_blocks_add(&blocks, address_of(i)) != NULL;
    }
    CHECK(kept <= FD_BLOCKS + NEAR && kept > FD_BLOCKS / 4 * 3);
    fd_memory_block found;
    uint64_t taken = 0;
    for (uint64_t i = 0; i < 2 * FD_BLOCKS; i++) {
        taken += fd_blocks_take(&blocks, address_of(i), &found);
    }
    EQUAL(taken, kept);
}

TEST(few_blocks_are_near)
{
    CLEAN(fd_blocks_clear) fd_blocks blocks;
    OK(fd_blocks_init(&blocks));
    uint64_t near = 0;
    for (uint64_t i = 0; i < NEAR / 8; i++) {
        fd_blocks_prefetch(&blocks, address_of(i));
        near += fd_blocks_add(&blocks, address_of(i)) < blocks.far;
    }
    CHECK(near > NEAR / 8 - NEAR / 64);
    EQUAL((uintptr_t)blocks.near % 64, 0);
}
