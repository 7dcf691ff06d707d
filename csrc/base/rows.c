#include "base/rows.h"

#include <string.h>

void *
fd_row_find(void **list, uint32_t *count, uint32_t *room, size_t size,
            fd_map *map, uint64_t key, const void *added)
{
    uint32_t number = fd_map_get(map, key);
    if (number == 0) {
        number = *count + 1;
        if (fd_vector_grow(list, *count, room, size, 1) != FD_OK
            || fd_map_put(map, key, number) != FD_OK) {
            return NULL;
        }
        memcpy((char *)*list + (size_t)*count * size, added, size);
        ++*count;
    }
    return (char *)*list + (size_t)(number - 1) * size;
}

bool
fd_map_is_new(fd_map *map, uint64_t key, fd_status *status)
{
    if (fd_map_get(map, key) != 0) {
        return false;
    }
    fd_status put = fd_map_put(map, key, 1);
    *status = put != FD_OK ? put : *status;
    return put == FD_OK;
}
