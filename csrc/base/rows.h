/* Rows found by key: a vector of structs, and a map from keys to places + 1.
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

/* The row of a key, which is not 0; a copy of the last argument, a pointer, is
 * appended if there is no such row. Valid until the next call. NULL without
 * memory. */
#define fd_row(vector, map, key, ...) \
    fd_row_find((void **)&(vector)->list, &(vector)->count, &(vector)->room, \
                sizeof *(vector)->list, (map), (key), (__VA_ARGS__))

void *fd_row_find(void **list, uint32_t *count, uint32_t *room, size_t size,
                  fd_map *map, uint64_t key, const void *added);

/* Whether a key is new; it is added. `*status` is set on failure. */
bool fd_map_is_new(fd_map *map, uint64_t key, fd_status *status);

#endif
