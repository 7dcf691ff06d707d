/* A hash map from a 64-bit key to a 32-bit value, for keys that are pointers
 * or pairs of ids. Key 0 is not allowed. Open addressing, at most half full;
 * a value can be replaced, an entry is never removed. The owner serialises
 * all calls. */
#ifndef FD_MAP_H
#define FD_MAP_H

#include "base/hash.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct fd_map_entry {
    uint64_t key;
    uint32_t value;
    uint32_t unused;
} fd_map_entry;

typedef struct fd_map {
    fd_map_entry *entries; /* owned; NULL until the first put */
    uint32_t mask;
    uint32_t count;
} fd_map;

/* Zero-initialised memory is an empty map. */
void fd_map_clear(fd_map *map);

/* Add a key or replace its value. FD_ENOMEM leaves the map unchanged. */
fd_status fd_map_put(fd_map *map, uint64_t key, uint32_t value);

/* Return the value of `key`, or 0 if it is not in the map. */
static inline uint32_t
fd_map_get(const fd_map *map, uint64_t key)
{
    if (map->entries == NULL) {
        return 0;
    }
    uint32_t at = (uint32_t)fd_hash_word(key) & map->mask;
    while (map->entries[at].key != 0) {
        if (map->entries[at].key == key) {
            return map->entries[at].value;
        }
        at = (at + 1) & map->mask;
    }
    return 0;
}

#endif
