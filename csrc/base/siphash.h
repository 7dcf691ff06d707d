/* SipHash-2-4: a hash that reveals nothing of its input without the
 * key. For names that must not be guessed from their hashes. */
#ifndef FD_SIPHASH_H
#define FD_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct fd_sip_key {
    uint64_t low;
    uint64_t high;
} fd_sip_key;

uint64_t fd_siphash(fd_sip_key key, const void *bytes, size_t size);

#endif
