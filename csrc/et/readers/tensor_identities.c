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

static fd_status
see_tensors(sighting_list *list, const fd_tensor_call *call, int field)
{
    fd_words in = call->in;
    fd_words out = call->out;
    fd_operand tensor;
    uint32_t slot = call->first;
    fd_status status = FD_OK;
    while (status == FD_OK && fd_words_tensor(&in, &tensor)) {
        status = fd_vector_push(
            list,
            (sighting){tensor.more[field], 2 * (uint64_t)call->begin, slot++});
    }
    while (status == FD_OK && fd_words_tensor(&out, &tensor)) {
        uint64_t address = tensor.more[field];
        if (!takes_address(call, address, field)) {
            status = fd_vector_push(
                list,
                (sighting){address, 2 * (uint64_t)call->begin + 1, MAKES});
        }
        if (status == FD_OK) {
            status = fd_vector_push(
                list, (sighting){address, 2 * (uint64_t)call->end, slot++});
        }
    }
    return status;
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

static fd_status
tell_apart(const fd_et_calls *calls, int field, const uint32_t *storages,
           uint32_t *numbers, uint32_t *count)
{
    sighting_list list = {NULL, 0, 0};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < calls->count && status == FD_OK; i++) {
        status = see_tensors(&list, &calls->list[i], field);
    }
    if (status == FD_OK) {
        fd_vector_sort(&list, compare_sightings);
        *count = number_entries(&list, storages, numbers);
    }
    fd_vector_clear(&list);
    return status;
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

fd_status
fd_et_identify(fd_et_calls *calls, fd_et_identities *identities)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < calls->count; i++) {
        fd_tensor_call *call = &calls->list[i];
        call->first = count;
        call->outs = count + count_tensors(call->in);
        count = call->outs + count_tensors(call->out);
    }
    if (fd_vector_reserve(&identities->tensors, count) != FD_OK
        || fd_vector_reserve(&identities->storages, count) != FD_OK) {
        return FD_ENOMEM;
    }
    identities->tensors.count = count;
    identities->storages.count = count;
    fd_status status =
        tell_apart(calls, FD_TENSOR_STORAGE, NULL, identities->storages.list,
                   &identities->storage_count);
    return fd_then(status, tell_apart(calls, FD_TENSOR_ADDRESS,
                                      identities->storages.list,
                                      identities->tensors.list,
                                      &identities->tensor_count));
}

void
fd_et_identities_clear(fd_et_identities *identities)
{
    fd_vector_clear(&identities->tensors);
    fd_vector_clear(&identities->storages);
}
