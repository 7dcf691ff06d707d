#include "capture/state/c_functions.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <string.h>

/* The table is limited, because a program that keeps creating classes would
 * fill any table. */
enum { FIRST_SLOTS = 256, MOST_SLOTS = 1 << 17 };

static uint32_t
hash_of(const fd_c_target *target)
{
    return (uint32_t)fd_hash_next(fd_hash_word((uintptr_t)target->method),
                                  (uintptr_t)target->type);
}

void
fd_c_functions_clear(fd_c_functions *functions)
{
    fd_free(functions->slots);
    *functions = (fd_c_functions){.slots = NULL};
}

const fd_c_function *
fd_c_functions_find(const fd_c_functions *functions, const fd_classes *classes,
                    const fd_c_target *target)
{
    if (functions->slots == NULL) {
        return NULL;
    }
    uint32_t at = hash_of(target);
    for (;; at++) {
        const fd_c_function *slot = &functions->slots[at & functions->mask];
        if (slot->method == NULL) {
            return NULL;
        }
        if (slot->method == target->method
            && fd_classes_is(classes, slot->receiver, target->type)
            && strcmp(slot->name, target->method->ml_name) == 0) {
            return slot;
        }
    }
}

static void
put_function(fd_c_functions *functions, const fd_c_function *function)
{
    uint32_t at = function->hash;
    while (functions->slots[at & functions->mask].method != NULL) {
        at++;
    }
    functions->slots[at & functions->mask] = *function;
    functions->count++;
}

/* Keep the table at most half full. */
static bool
make_room(fd_c_functions *functions)
{
    uint32_t slots = functions->slots != NULL ? functions->mask + 1 : 0;
    if (functions->count < slots / 2) {
        return true;
    }
    uint32_t wanted = slots == 0 ? FIRST_SLOTS : 2 * slots;
    fd_c_functions next = {.mask = wanted - 1};
    if (wanted > MOST_SLOTS) {
        memset(functions->slots, 0, slots * sizeof *functions->slots);
        functions->count = 0;
        return true;
    }
    next.slots = fd_calloc(wanted, sizeof *next.slots);
    if (next.slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < slots; i++) {
        if (functions->slots[i].method != NULL) {
            put_function(&next, &functions->slots[i]);
        }
    }
    fd_free(functions->slots);
    *functions = next;
    return true;
}

void
fd_c_functions_add(fd_c_functions *functions, fd_c_function function,
                   const fd_c_target *target)
{
    function.hash = hash_of(target);
    if (make_room(functions)) {
        put_function(functions, &function);
    }
}
