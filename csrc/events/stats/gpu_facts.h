/* Arguments of torch.profiler's GPU events and of the calls that launched
 * them. */
#ifndef FD_GPU_FACTS_H
#define FD_GPU_FACTS_H

#include "base/map.h"
#include "events/stats/duration_digest.h"
#include "events/timeline_event.h"

#define FD_NO_STREAM INT64_MIN

typedef enum fd_copy_kind {
    FD_COPY_OTHER,
    FD_COPY_HTOD,
    FD_COPY_DTOH,
    FD_COPY_DTOD,
    FD_COPY_PTOP,
    FD_COPY_HTOH,
    FD_COPY_MEMSET,
    FD_COPY_KINDS
} fd_copy_kind;

typedef struct fd_gpu_facts {
    uint64_t correlation; /* id of a launch and its work; 0: absent */
    bool has_bytes;
    uint64_t bytes;     /* of a copy */
    uint64_t bandwidth; /* of a copy, bytes per second; 0: absent */
    int64_t device;     /* FD_NO_STREAM: absent */
    int64_t stream;     /* FD_NO_STREAM: absent */
    fd_copy_kind copy;
} fd_gpu_facts;

void fd_gpu_facts_read(const fd_timeline_event *event, fd_gpu_facts *facts);

/* Return the rate; it saturates. */
uint64_t fd_bytes_per_second(uint64_t bytes, uint64_t nanoseconds);

/* Return the kind of a copy by its name, such as "Memcpy HtoD (Pinned ->
 * Device)". */
fd_copy_kind fd_copy_kind_of(fd_span name);
const char *fd_copy_kind_name(fd_copy_kind kind);

/* Copies and memsets of GPUs: bytes and bandwidths by rank and direction. */

typedef struct fd_copy_row {
    uint32_t rank;
    fd_copy_kind kind;
    uint64_t unsized; /* copies of unknown size */
    uint64_t bytes;
    uint64_t timed_bytes; /* bytes of copies with known size and duration */
    uint64_t timed;       /* their duration in ns */
    fd_digest time;
    fd_digest rate; /* bytes per second of each copy */
} fd_copy_row;

typedef struct fd_copies {
    FD_VECTOR(fd_copy_row) rows;
    fd_map row_of; /* rank and kind -> index + 1 */
} fd_copies;

void fd_copies_clear(fd_copies *copies);
fd_status fd_copies_add(fd_copies *copies, uint32_t rank,
                        const fd_gpu_facts *facts, uint64_t duration);

#endif
