/* Sets of small numbers as rows of words of equal length. */
#ifndef FD_BIT_SETS_H
#define FD_BIT_SETS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool
fd_bits_has(const uint64_t *set, uint32_t bit)
{
    return (set[bit / 64] >> bit % 64 & 1) != 0;
}

static inline void
fd_bits_add(uint64_t *set, uint32_t bit)
{
    set[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline void
fd_bits_join(uint64_t *set, const uint64_t *more, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++) {
        set[i] |= more[i];
    }
}

/* The range of words of a set that have bits: from `first` up to `end`. */
typedef struct fd_word_range {
    uint32_t first;
    uint32_t end;
} fd_word_range;

/* Return whether `set`, which has bits only in the range, is a subset of
 * `of`. */
static inline bool
fd_bits_within_in(const uint64_t *set, const uint64_t *of, fd_word_range range)
{
    uint64_t outside = 0;
    for (uint32_t i = range.first; i < range.end; i++) {
        outside |= set[i] & ~of[i];
    }
    return outside == 0;
}

static inline bool
fd_bits_within(const uint64_t *set, const uint64_t *of, uint32_t words)
{
    return fd_bits_within_in(set, of, (fd_word_range){0, words});
}

/* Return whether a set with bits only in the range intersects another. */
static inline bool
fd_bits_meet_in(const uint64_t *a, const uint64_t *b, fd_word_range range)
{
    uint64_t common = 0;
    for (uint32_t i = range.first; i < range.end; i++) {
        common |= a[i] & b[i];
    }
    return common != 0;
}

#endif
