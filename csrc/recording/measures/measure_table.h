/* Measured figures of contexts: shapes, bytes, memory. There is one record per
 * context, kind, flags and detail, created at its first use and then updated
 * in place:
 *
 *     key ──► fd_map ──► fd_measure { context, kind, ... | count, sum, max }
 *
 * Only the owner of the tree writes, without a lock; adding a record takes the
 * recording's lock. */
#ifndef FD_MEASURE_TABLE_H
#define FD_MEASURE_TABLE_H

#include "recording/context_tree.h"

typedef struct fd_measure_key {
    uint32_t context;
    uint16_t kind;   /* FD_MEASURE_*, below 32 */
    uint16_t flags;  /* below 8 */
    uint32_t detail; /* string */
} fd_measure_key;

/* Pack a key into a nonzero word: kinds are not 0. Context ids have 24 bits,
 * because FD_MAX_MB limits the file. */
static inline uint64_t
fd_measure_word(fd_measure_key key)
{
    return (uint64_t)key.context << 40 | (uint64_t)key.kind << 35
         | (uint64_t)key.flags << 32 | key.detail;
}

/* Add a record. Return NULL and count it if there is no space. */
fd_measure *fd_measures_add(fd_tree *tree, fd_measure_key key);

/* Add a record without a key. Return NULL and count it if there is no
 * space. */
fd_measure *fd_measures_append(fd_tree *tree, fd_measure_key key);

/* Return the record of a key; add it if it is new. Return NULL and count it if
 * there is no space. */
static inline fd_measure *
fd_measures_at(fd_tree *tree, fd_measure_key key)
{
    uint32_t id = fd_map_get(&tree->measures.index, fd_measure_word(key));
    return __builtin_expect(id == 0 || id == UINT32_MAX, false)
             ? fd_measures_add(tree, key)
             : (fd_measure *)(tree->base + (size_t)id * FD_ID_UNIT);
}

static inline void
fd_measure_add(fd_measure *to, uint64_t value, uint64_t other)
{
    if (to != NULL) {
        to->count++;
        to->sum += value;
        to->max = value > to->max ? value : to->max;
        to->other += other;
    }
}

#endif
