#include "base/hash.h"

#include <string.h>

uint64_t
fd_hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint64_t hash = fd_hash_word(size);
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = fd_hash_next(hash, word);
    }
    if (size > 0) {
        uint64_t word = 0;
        memcpy(&word, p, size);
        hash = fd_hash_next(hash, word);
    }
    return hash;
}

typedef struct state {
    uint64_t v0, v1, v2, v3;
} state;

static uint64_t
rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void
mix_state(state *s, int rounds)
{
    while (rounds-- > 0) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate_left(s->v1, 13) ^ s->v0;
        s->v3 = rotate_left(s->v3, 16) ^ s->v2;
        s->v0 = rotate_left(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate_left(s->v1, 17) ^ s->v2;
        s->v3 = rotate_left(s->v3, 21) ^ s->v0;
        s->v2 = rotate_left(s->v2, 32);
    }
}

static void
take_word(state *s, uint64_t word)
{
    s->v3 ^= word;
    mix_state(s, 2);
    s->v0 ^= word;
}

uint64_t
fd_siphash(fd_sip_key key, const void *bytes, size_t size)
{
    state s = {key.low ^ UINT64_C(0x736f6d6570736575),
               key.high ^ UINT64_C(0x646f72616e646f6d),
               key.low ^ UINT64_C(0x6c7967656e657261),
               key.high ^ UINT64_C(0x7465646279746573)};
    const char *at = bytes;
    uint64_t word;
    size_t left = size;
    for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        take_word(&s, word);
    }
    word = 0;
    if (left > 0) {
        memcpy(&word, at, left);
    }
    take_word(&s, word | (uint64_t)size << 56);
    s.v2 ^= 0xff;
    mix_state(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
