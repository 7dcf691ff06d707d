#include "base/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* Process-wide state of the allocator itself; no recorded data. */
static atomic_size_t in_use;
static atomic_long remaining = -1;

static bool
allocation_refused(void)
{
    long left = atomic_load_explicit(&remaining, memory_order_relaxed);
    if (left < 0) {
        return false;
    }
    if (left > 0) {
        atomic_store_explicit(&remaining, left - 1, memory_order_relaxed);
        return false;
    }
    return true;
}

static void *
count_block(void *block)
{
    if (block != NULL) {
        atomic_fetch_add_explicit(&in_use, malloc_usable_size(block),
                                  memory_order_relaxed);
    }
    return block;
}

void *
fd_malloc(size_t size)
{
    return allocation_refused() ? NULL
                                : count_block(malloc(size > 0 ? size : 1));
}

void *
fd_calloc(size_t count, size_t size)
{
    return allocation_refused()
             ? NULL
             : count_block(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *
fd_realloc(void *block, size_t size)
{
    if (allocation_refused()) {
        return NULL;
    }
    size_t before = block != NULL ? malloc_usable_size(block) : 0;
    void *grown = realloc(block, size > 0 ? size : 1);
    if (grown != NULL) {
        atomic_fetch_sub_explicit(&in_use, before, memory_order_relaxed);
        count_block(grown);
    }
    return grown;
}

void
fd_free(void *block)
{
    if (block != NULL) {
        atomic_fetch_sub_explicit(&in_use, malloc_usable_size(block),
                                  memory_order_relaxed);
        free(block);
    }
}

size_t
fd_alloc_in_use(void)
{
    return atomic_load_explicit(&in_use, memory_order_relaxed);
}

void
fd_alloc_fail_after(long after)
{
    atomic_store_explicit(&remaining, after, memory_order_relaxed);
}
