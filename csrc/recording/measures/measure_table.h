/* Measured figures of contexts: FLOPs, bytes, shapes. A record per context,
 * kind, flags and detail, made at its first use and then updated in place:
 *
 *     key ──► fd_map ──► fd_measure { context, kind, ... | count, sum, max }
 *
 * Only the owner of the tree writes, without a lock; a new record takes the
 * recording's lock. */
#ifndef FD_MEASURE_TABLE_H
#define FD_MEASURE_TABLE_H

#include "recording/context_tree.h"

typedef struct fd_measure_key {
    uint32_t context;
    uint16_t kind;   /* FD_MEASURE_*, below 32 */
    uint16_t flags;  /* below 8 */
    uint32_t detail; /* string; of FD_MEASURE_LINES: the number of the line,
                        which becomes a string in the record */
} fd_measure_key;

/* Key 0 is not allowed in a map: kinds are not 0. Contexts have 24 bits, as
 * FD_MAX_MB bounds the file. */
static inline uint64_t
fd_measure_word(fd_measure_key key)
{
    return (uint64_t)key.context << 40 | (uint64_t)key.kind << 35
         | (uint64_t)key.flags << 32 | key.detail;
}

/* A new record, or NULL: (counted) no room. */
fd_measure *fd_measures_add(fd_tree *tree, fd_measure_key key);

/* A new record without a key, or NULL: (counted) no room. */
fd_measure *fd_measures_append(fd_tree *tree, fd_measure_key key);

/* The record of a key; NULL: (counted) no room. */
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
