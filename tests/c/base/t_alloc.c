#include "check.h"

#include "base/alloc.h"

TEST(counts_bytes_in_use)
{
    size_t before = fd_alloc_in_use();
    char *block = fd_malloc(1000);
    ALLOCATED(block != NULL);
    bool counted = fd_alloc_in_use() >= before + 1000;
    char *grown = fd_realloc(block, 100000);
    bool regrown = grown == NULL || fd_alloc_in_use() >= before + 100000;
    fd_free(grown != NULL ? grown : block);
    CHECK(counted);
    CHECK(regrown);
    EQUAL(fd_alloc_in_use(), before);
    ALLOCATED(grown != NULL);
}

TEST(nothing_is_a_block)
{
    void *none = fd_malloc(0);
    void *empty = fd_calloc(0, 8);
    bool both = none != NULL && empty != NULL;
    fd_free(none);
    fd_free(empty);
    fd_free(NULL);
    ALLOCATED(both);
}

/* AddressSanitizer would print a warning for each of these. */
TEST(impossible_sizes)
{
#ifndef __SANITIZE_ADDRESS__
    volatile size_t huge = SIZE_MAX / 2;
    size_t before = fd_alloc_in_use();
    CHECK(fd_malloc(huge) == NULL);
    CHECK(fd_calloc(huge, 4) == NULL);
    EQUAL(fd_alloc_in_use(), before);
#endif
}

TEST(fails_after)
{
    void *blocks[4];
    fd_alloc_fail_after(2);
    blocks[0] = fd_malloc(8);
    blocks[1] = fd_calloc(1, 8);
    blocks[2] = fd_malloc(8);
    blocks[3] = fd_realloc(blocks[0], 64);
    fd_alloc_fail_after(-1);
    void *after = fd_malloc(8);
    bool as_asked = blocks[0] != NULL && blocks[1] != NULL && after != NULL;
    bool kept = blocks[2] == NULL && blocks[3] == NULL;
    fd_free(blocks[0]);
    fd_free(blocks[1]);
    fd_free(blocks[2]);
    fd_free(after);
    ALLOCATED(as_asked);
    CHECK(kept);
}
