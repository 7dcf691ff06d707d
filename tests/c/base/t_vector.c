#include "check.h"

#include "base/vector.h"

typedef FD_VECTOR(uint64_t) numbers;

static void
clear(numbers *of)
{
    fd_vector_clear(of);
}

/* Counts have 32 bits: more is refused and does not wrap around. */
TEST(too_many)
{
    CLEAN(clear) numbers n = {NULL, 0, 0};
    OK(fd_vector_push(&n, 1));
    EQUAL(fd_vector_reserve(&n, (size_t)UINT32_MAX), FD_ENOMEM);
    FIELDS(&n, (count, 1), (list[0], 1));
}

TEST(failed_push_changes_nothing)
{
    CLEAN(clear) numbers n = {NULL, 0, 0};
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t count = n.count;
        fd_status status = fd_vector_push(&n, i);
        if (status != FD_OK) {
            EQUAL(n.count, count);
            CHECK(count == 0 || n.list[count - 1] == count - 1);
            OK(status);
        }
    }
}

static int
downwards(const void *left, const void *right)
{
    return FD_ORDER(*(const uint64_t *)right, *(const uint64_t *)left);
}

TEST(sorted)
{
    CLEAN(clear) numbers n = {NULL, 0, 0};
    fd_vector_sort(&n, downwards);
    EQUAL(n.count, 0);
    for (uint64_t i = 0; i < 5; i++) {
        OK(fd_vector_push(&n, i % 3));
    }
    fd_vector_sort(&n, downwards);
    FIELDS(&n, (list[0], 2), (list[4], 0));
}
