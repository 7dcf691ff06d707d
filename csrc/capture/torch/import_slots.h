/* Slots through which a loaded library calls exported functions. A slot is
 * exchanged atomically, so other threads call either the old or the new
 * function. */
#ifndef FD_IMPORT_SLOTS_H
#define FD_IMPORT_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_import_slot {
    _Atomic(void *) *address; /* NULL: not exchanged */
    void *before;
    void *function; /* function in the slot until it is restored */
    bool sealed;    /* the page is read-only */
} fd_import_slot;

/* Find the slot of `symbol` in the library whose file name starts with
 * `library`, and put a function there. Return false and leave `slot` unchanged
 * if there is no such slot, or its page cannot be written. */
bool fd_import_slot_set(fd_import_slot *slot, const char *library,
                        const char *symbol, void *function);

/* Restore the previous function, unless another tool has replaced the slot
 * since. */
void fd_import_slot_restore(fd_import_slot *slot);

#endif
