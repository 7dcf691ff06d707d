/* A hash index of records that are stored elsewhere. It maps a hash to ids;
 * the caller compares the records.
 *
 *     slots   [ hash | id ][ 0 | 0 ][ hash | id ] ...      8 bytes per slot
 *
 * Id 0 marks an empty slot. Open addressing with linear probing, at most half
 * full, entries are never removed. The owner serialises all calls.
 *
 *     fd_probe probe = fd_index_probe(&index, hash);
 *     while ((id = fd_index_next(&index, &probe)) != 0) {
 *         if (record id equals my key) return id;
 *     }
 */
#ifndef FD_INDEX_H
#define FD_INDEX_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct fd_slot_ref {
    uint32_t hash;
    uint32_t id;
} fd_slot_ref;

typedef struct fd_index {
    fd_slot_ref *slots; /* owned; NULL until the first add */
    uint32_t mask;      /* slots - 1; the number of slots is a power of two */
    uint32_t count;
} fd_index;

typedef struct fd_probe {
    uint32_t hash;
    uint32_t at;
} fd_probe;

/* Zero-initialised memory is an empty index. */
void fd_index_clear(fd_index *index);

/* Add an id that is not yet in the index. FD_ENOMEM leaves the index
 * unchanged. */
fd_status fd_index_add(fd_index *index, uint64_t hash, uint32_t id);

static inline fd_probe
fd_index_probe(const fd_index *index, uint64_t hash)
{
    return (fd_probe){(uint32_t)hash, (uint32_t)hash & index->mask};
}

/* Return the next id with the hash of the probe, or 0 after the last. */
static inline uint32_t
fd_index_next(const fd_index *index, fd_probe *probe)
{
    if (index->slots == NULL) {
        return 0;
    }
    for (;;) {
        const fd_slot_ref *slot = &index->slots[probe->at];
        probe->at = (probe->at + 1) & index->mask;
        if (slot->id == 0 || slot->hash == probe->hash) {
            return slot->id;
        }
    }
}

#endif
