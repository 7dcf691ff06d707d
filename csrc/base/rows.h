/* A keyed table: a vector of structs, and a map from keys to index + 1.
 *
 *     FD_VECTOR(row) rows; fd_map numbers;
 *     row *one = fd_row(&rows, &numbers, key, &(row){.name = name});
 *     if (one == NULL) return FD_ENOMEM;
 *     one->count++;
 */
#ifndef FD_ROWS_H
#define FD_ROWS_H

#include "base/map.h"
#include "base/vector.h"

#include <stdbool.h>
#include <string.h>

/* Return the row of a nonzero key. If there is no such row, append a copy of
 * the last argument, which is a pointer. The row is valid until the next call;
 * NULL if there is no memory. */
#define fd_row(vector, map, key, ...) \
    fd_row_find((void **)&(vector)->list, &(vector)->count, \
                &(vector)->capacity, sizeof *(vector)->list, (map), (key), \
                (__VA_ARGS__))

static inline void *
fd_row_find(void **list, uint32_t *count, uint32_t *capacity, size_t size,
            fd_map *map, uint64_t key, const void *added)
{
    uint32_t number = fd_map_get(map, key);
    if (number == 0) {
        number = *count + 1;
        if (fd_vector_grow(list, *count, capacity, size, 1) != FD_OK
            || fd_map_put(map, key, number) != FD_OK) {
            return NULL;
        }
        memcpy((char *)*list + (size_t)*count * size, added, size);
        ++*count;
    }
    return (char *)*list + (size_t)(number - 1) * size;
}

#endif
