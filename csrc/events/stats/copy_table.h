/* Copies and memsets of GPUs: bytes and bandwidths by rank and direction. */
#ifndef FD_COPY_TABLE_H
#define FD_COPY_TABLE_H

#include "events/stats/duration_digest.h"
#include "events/stats/gpu_facts.h"

typedef struct fd_copy_row {
    uint32_t rank;
    fd_copy_kind kind;
    uint64_t unsized; /* copies without bytes */
    uint64_t bytes;
    uint64_t timed_bytes; /* of copies with bytes and a duration */
    uint64_t timed;       /* ns of these */
    fd_digest time;
    fd_digest rate; /* bytes per second of each */
} fd_copy_row;

typedef struct fd_copies {
    FD_VECTOR(fd_copy_row) rows;
} fd_copies;

void fd_copies_clear(fd_copies *copies);
fd_status fd_copies_add(fd_copies *copies, uint32_t rank,
                        const fd_gpu_facts *facts, uint64_t duration);

#endif
