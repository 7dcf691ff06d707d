/* Cache from the schema of an operator, or the text of a range, to its node.
 * Readers take no lock, because record callbacks run on any thread without the
 * GIL. */
#ifndef FD_OPERATORS_H
#define FD_OPERATORS_H

#include "recording/recording.h"

typedef struct fd_operator {
    _Atomic uintptr_t schema; /* address of the FunctionSchema; 0: free slot */
    uint32_t node;
} fd_operator;

typedef struct fd_operator_table {
    struct fd_operator_table *older; /* owned; may still have readers */
    uint32_t mask;
    uint32_t count;
    fd_operator slots[];
} fd_operator_table;

typedef struct fd_operators {
    _Atomic(fd_operator_table *) table; /* owned */
    fd_map families; /* hash of a name without digits -> number of names */
} fd_operators;

void fd_operators_clear(fd_operators *operators);

/* Return the node of a known schema, or 0. */
static inline uint32_t
fd_operators_find(const fd_operators *operators, uintptr_t schema)
{
    const fd_operator_table *table =
        atomic_load_explicit(&operators->table, memory_order_acquire);
    if (table == NULL) {
        return 0;
    }
    for (uint32_t at = (uint32_t)fd_hash_word(schema);; at++) {
        const fd_operator *slot = &table->slots[at & table->mask];
        uintptr_t found =
            atomic_load_explicit(&slot->schema, memory_order_acquire);
        if (found == schema || found == 0) {
            return found == 0 ? 0 : slot->node;
        }
    }
}

/* Add the operator `name` under the key `schema`. Return its node, or 0 if
 * there is no space. */
uint32_t fd_operators_add(fd_operators *operators, fd_recording *recording,
                          uintptr_t schema, const char *name);

/* fd_operators_add for a table of texts instead of nodes. */
uint32_t fd_operators_add_text(fd_operators *operators,
                               fd_recording *recording, uintptr_t schema,
                               const char *text);

/* Return the node of a range or job. After FD_RANGE_NAMES names that differ
 * only in their digits, further ones share a node with '*' for the digits. */
enum { FD_RANGE_NAMES = 16 };
uint32_t fd_operators_range(fd_operators *operators, fd_recording *recording,
                            uint8_t kind, const char *name);

#endif
