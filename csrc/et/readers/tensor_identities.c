#include "et/readers/tensor_identities.h"

/* A use of an address, or the start of a call that created its result. */
typedef struct sighting {
    uint64_t address;
    uint64_t order; /* twice the index of the event, plus 1 for `makes` */
    uint32_t slot;  /* index in the lists; UINT32_MAX: created by the call */
} sighting;

typedef FD_VECTOR(sighting) sighting_list;

enum { MAKES = UINT32_MAX };

FD_ORDER_BY(compare_sightings, sighting, address, order, slot)

static bool
takes_address(const fd_tensor_call *call, uint64_t address, int field)
{
    fd_words in = call->in;
    fd_operand tensor;
    while (fd_words_tensor(&in, &tensor)) {
        if (tensor.more[field] == address) {
            return true;
        }
    }
    return false;
}

static void
see_tensors(fd_arena *arena, sighting_list *list, const fd_tensor_call *call,
            int field)
{
    fd_words in = call->in;
    fd_words out = call->out;
    fd_operand tensor;
    uint32_t slot = call->first;
    while (fd_words_tensor(&in, &tensor)) {
        fd_arena_push(
            arena, list,
            (sighting){tensor.more[field], 2 * (uint64_t)call->begin, slot++});
    }
    while (fd_words_tensor(&out, &tensor)) {
        uint64_t address = tensor.more[field];
        if (!takes_address(call, address, field)) {
            fd_arena_push(
                arena, list,
                (sighting){address, 2 * (uint64_t)call->begin + 1, MAKES});
        }
        fd_arena_push(arena, list,
                      (sighting){address, 2 * (uint64_t)call->end, slot++});
    }
}

/* Number the distinct entries of the list. `storages`: numbers of their
 * storages if the list has tensors. */
static uint32_t
number_entries(const sighting_list *list, const uint32_t *storages,
               uint32_t *numbers)
{
    uint32_t count = 0;
    uint64_t address = 0;
    uint32_t storage = 0;
    bool is_new = true;
    for (uint32_t i = 0; i < list->count; i++) {
        const sighting *s = &list->list[i];
        is_new = is_new || s->address != address;
        address = s->address;
        if (s->slot == MAKES) {
            is_new = true;
            continue;
        }
        uint32_t now = storages != NULL ? storages[s->slot] : 0;
        if (address == 0) { /* a tensor without storage */
            numbers[s->slot] = 0;
            continue;
        }
        count += is_new || now != storage;
        numbers[s->slot] = count;
        storage = now;
        is_new = false;
    }
    return count;
}

static void
tell_apart(fd_arena *arena, const fd_et_calls *calls, int field,
           const uint32_t *storages, uint32_t *numbers, uint32_t *count)
{
    sighting_list list = {NULL, 0, 0};
    for (uint32_t i = 0; i < calls->count; i++) {
        see_tensors(arena, &list, &calls->list[i], field);
    }
    fd_vector_sort(&list, compare_sightings);
    *count = number_entries(&list, storages, numbers);
    fd_arena_drop(list.list);
}

static uint32_t
count_tensors(fd_words words)
{
    fd_operand tensor;
    uint32_t count = 0;
    while (fd_words_tensor(&words, &tensor)) {
        count++;
    }
    return count;
}

void
fd_et_identify(fd_arena *arena, fd_et_calls *calls,
               fd_et_identities *identities)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < calls->count; i++) {
        fd_tensor_call *call = &calls->list[i];
        call->first = count;
        call->outs = count + count_tensors(call->in);
        count = call->outs + count_tensors(call->out);
    }
    fd_arena_reserve(arena, &identities->tensors, count);
    fd_arena_reserve(arena, &identities->storages, count);
    identities->tensors.count = count;
    identities->storages.count = count;
    tell_apart(arena, calls, FD_TENSOR_STORAGE, NULL,
               identities->storages.list, &identities->storage_count);
    tell_apart(arena, calls, FD_TENSOR_ADDRESS, identities->storages.list,
               identities->tensors.list, &identities->tensor_count);
}
