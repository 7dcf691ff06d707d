/* Hash functions for the tables of this library. They do not resist collision
 * attacks: a collision costs time, but gives no wrong result. */
#ifndef FD_HASH_H
#define FD_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash one word: multiply by an odd constant and fold the high half into the
 * low half (Fibonacci hashing), so that both pointers and small integers
 * spread. */
static inline uint64_t
fd_hash_word(uint64_t x)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    return x ^ (x >> 32);
}

/* Add a word to the hash `seed` of the preceding words. */
static inline uint64_t
fd_hash_next(uint64_t seed, uint64_t x)
{
    return fd_hash_word((seed << 1 | seed >> 63) ^ x);
}

/* Hash `size` bytes, eight at a time. */
uint64_t fd_hash_bytes(const void *bytes, size_t size);

/* SipHash-2-4, a hash with a key. */

typedef struct fd_sip_key {
    uint64_t low;
    uint64_t high;
} fd_sip_key;

uint64_t fd_siphash(fd_sip_key key, const void *bytes, size_t size);

#endif
