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
