#include "check.h"

#include "base/alloc.h"

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
    CHECK(fd_malloc(huge) == NULL);
    CHECK(fd_calloc(huge, 4) == NULL);
#endif
}
