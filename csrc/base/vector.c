#include "base/vector.h"

#include <stdlib.h>

enum { FIRST_ROOM = 16 };

uint32_t
fd_vector_capacity(uint32_t count, uint32_t capacity, size_t more)
{
    size_t wanted = capacity > 0 ? capacity : FIRST_ROOM;
    while (wanted - count < more) {
        wanted *= 2;
    }
    return wanted > UINT32_MAX ? 0 : (uint32_t)wanted;
}

fd_status
fd_vector_grow(void **list, uint32_t count, uint32_t *capacity, size_t size,
               size_t more)
{
    if (*capacity - count >= more) {
        return FD_OK;
    }
    uint32_t wanted = fd_vector_capacity(count, *capacity, more);
    void *grown = wanted == 0 ? NULL : fd_realloc(*list, wanted * size);
    if (grown == NULL) {
        return FD_ENOMEM;
    }
    *list = grown;
    *capacity = wanted;
    return FD_OK;
}

void
fd_sort(void *list, size_t count, size_t size,
        int (*compare)(const void *, const void *))
{
    if (count > 0) {
        qsort(list, count, size, compare);
    }
}
