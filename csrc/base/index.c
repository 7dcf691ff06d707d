#include "base/index.h"

#include "base/alloc.h"

#include <stddef.h>

enum { FIRST_SLOTS = 64 };

static void
place_entry(fd_slot_ref *slots, uint32_t mask, fd_slot_ref entry)
{
    uint32_t at = entry.hash & mask;
    while (slots[at].id != 0) {
        at = (at + 1) & mask;
    }
    slots[at] = entry;
}

static fd_status
grow_slots(fd_index *index)
{
    uint32_t size = index->slots == NULL ? FIRST_SLOTS : 2 * (index->mask + 1);
    fd_slot_ref *slots = fd_calloc(size, sizeof *slots);
    if (slots == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; index->slots != NULL && i <= index->mask; i++) {
        if (index->slots[i].id != 0) {
            place_entry(slots, size - 1, index->slots[i]);
        }
    }
    fd_free(index->slots);
    index->slots = slots;
    index->mask = size - 1;
    return FD_OK;
}

fd_status
fd_index_add(fd_index *index, uint64_t hash, uint32_t id)
{
    if (index->slots == NULL || 2 * (index->count + 1) > index->mask) {
        fd_status status = grow_slots(index);
        if (status != FD_OK) {
            return status;
        }
    }
    place_entry(index->slots, index->mask, (fd_slot_ref){(uint32_t)hash, id});
    index->count++;
    return FD_OK;
}

void
fd_index_clear(fd_index *index)
{
    fd_free(index->slots);
    *index = (fd_index){NULL, 0, 0};
}
