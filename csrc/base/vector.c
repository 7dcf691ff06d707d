#include "base/vector.h"

#include <stdlib.h>

enum { FIRST_ROOM = 16 };

fd_status
fd_vector_grow(void **list, uint32_t count, uint32_t *capacity, size_t size,
               size_t more)
{
    if (*capacity - count >= more) {
        return FD_OK;
    }
    size_t wanted = *capacity > 0 ? *capacity : FIRST_ROOM;
    while (wanted - count < more) {
        wanted *= 2;
    }
    if (wanted > UINT32_MAX) {
        return FD_ENOMEM;
    }
    void *grown = fd_realloc(*list, wanted * size);
    if (grown == NULL) {
        return FD_ENOMEM;
    }
    *list = grown;
    *capacity = (uint32_t)wanted;
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
