/* Sets of small numbers as rows of words, all of one length. */
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

/* Whether all of `set` is in `of`. */
static inline bool
fd_bits_within(const uint64_t *set, const uint64_t *of, uint32_t words)
{
    uint64_t outside = 0;
    for (uint32_t i = 0; i < words; i++) {
        outside |= set[i] & ~of[i];
    }
    return outside == 0;
}

/* Whether the two have anything in common. */
static inline bool
fd_bits_meet(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    uint64_t common = 0;
    for (uint32_t i = 0; i < words; i++) {
        common |= a[i] & b[i];
    }
    return common != 0;
}

#endif
