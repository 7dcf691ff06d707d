#include "capture/state/group_names.h"

uint32_t
fd_group_names_find(const fd_group_names *names, uint64_t address)
{
    uint32_t count = atomic_load_explicit(&names->count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        if (names->list[i].address == address) {
            return names->list[i].text;
        }
    }
    return 0;
}

void
fd_group_names_put(fd_group_names *names, uint64_t address, uint32_t text)
{
    uint32_t at = 0;
    while (at < names->count && names->list[at].address != address) {
        at++;
    }
    if (at == FD_GROUP_NAMES || address == 0) {
        return;
    }
    names->list[at].text = text;
    names->list[at].address = address;
    if (at == names->count) {
        atomic_store_explicit(&names->count, at + 1, memory_order_release);
    }
}

uint64_t
fd_group_names_call(fd_group_names *names, uint32_t text)
{
    for (uint32_t i = 0; i < FD_GROUP_NAMES; i++) {
        uint32_t free = 0;
        if (atomic_compare_exchange_strong(&names->calls[i].text, &free, text)
            || free == text) {
            return atomic_fetch_add_explicit(&names->calls[i].calls, 1,
                                             memory_order_relaxed)
                 + 1;
        }
    }
    return 0;
}
