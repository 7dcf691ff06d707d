/* Many durations as a few figures: counts in buckets (base/log_buckets.h), so
 * that every percentile is off by half of the share of a bucket at most. Only
 * buckets in use take room. */
#ifndef FD_DURATION_DIGEST_H
#define FD_DURATION_DIGEST_H

#include "base/vector.h"

enum { FD_DIGEST_BITS = 6 };

typedef struct fd_digest_bucket {
    uint16_t bucket;
    uint64_t count;
} fd_digest_bucket;

typedef struct fd_digest {
    uint64_t count;
    uint64_t total;
    uint64_t least;
    uint64_t most;
    uint32_t widened; /* how often: FD_DIGEST_BITS less that are the bits */
    FD_VECTOR(fd_digest_bucket) buckets; /* by number */
} fd_digest;

void fd_digest_clear(fd_digest *digest);
fd_status fd_digest_add(fd_digest *digest, uint64_t value);

/* Half as many buckets, twice the error; up to FD_DIGEST_BITS times. */
void fd_digest_widen(fd_digest *digest);

/* The value at a share (0.5: the median) of the sorted ones, the nearest rank;
 * within the relative error, between minimum and maximum. */
uint64_t fd_digest_at(const fd_digest *digest, double share);

/* The largest relative error of a percentile. */
double fd_digest_error(uint32_t widened);

#endif
