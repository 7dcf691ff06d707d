#include "base/alloc.h"

#include <stdlib.h>

void *
fd_malloc(size_t size)
{
    return malloc(size > 0 ? size : 1);
}

void *
fd_calloc(size_t count, size_t size)
{
    return calloc(count > 0 ? count : 1, size > 0 ? size : 1);
}

void *
fd_realloc(void *block, size_t size)
{
    return realloc(block, size > 0 ? size : 1);
}

void
fd_free(void *block)
{
    free(block);
}
