#include "base/map.h"

#include "base/alloc.h"

#include <stddef.h>

enum { FIRST_ENTRIES = 64 };

/* Return the entry of `key`, or the empty entry to use for it. */
static fd_map_entry *
locate_entry(fd_map_entry *entries, uint32_t mask, uint64_t key)
{
    uint32_t at = (uint32_t)fd_hash_word(key) & mask;
    while (entries[at].key != 0 && entries[at].key != key) {
        at = (at + 1) & mask;
    }
    return &entries[at];
}

static fd_status
grow_entries(fd_map *map)
{
    uint32_t size = map->entries == NULL ? FIRST_ENTRIES : 2 * (map->mask + 1);
    fd_map_entry *entries = fd_calloc(size, sizeof *entries);
    if (entries == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; map->entries != NULL && i <= map->mask; i++) {
        if (map->entries[i].key != 0) {
            *locate_entry(entries, size - 1, map->entries[i].key) =
                map->entries[i];
        }
    }
    fd_free(map->entries);
    map->entries = entries;
    map->mask = size - 1;
    return FD_OK;
}

fd_status
fd_map_put(fd_map *map, uint64_t key, uint32_t value)
{
    if (map->entries == NULL || 2 * (map->count + 1) > map->mask) {
        fd_status status = grow_entries(map);
        if (status != FD_OK) {
            return status;
        }
    }
    fd_map_entry *entry = locate_entry(map->entries, map->mask, key);
    if (entry->key == 0) {
        map->count++;
    }
    *entry = (fd_map_entry){key, value, 0};
    return FD_OK;
}

void
fd_map_clear(fd_map *map)
{
    fd_free(map->entries);
    *map = (fd_map){NULL, 0, 0};
}
