/* Percentiles of many durations in little memory: counts in buckets. The error of a percentile is at most half the width of
 * a bucket. Only buckets that are used take memory. */
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
    uint32_t widened; /* how often buckets were merged: subtracted from
                       * FD_DIGEST_BITS */
    FD_VECTOR(fd_digest_bucket) buckets; /* sorted by number */
} fd_digest;

void fd_digest_clear(fd_digest *digest);
fd_status fd_digest_add(fd_digest *digest, uint64_t value);

/* Halve the number of buckets and double the error, at most FD_DIGEST_BITS
 * times. */
void fd_digest_widen(fd_digest *digest);

/* Return the percentile `share` (0.5: the median) by the nearest-rank method,
 * within the relative error, limited to minimum and maximum. */
uint64_t fd_digest_at(const fd_digest *digest, double share);

/* Return the largest relative error of a percentile. */
double fd_digest_error(uint32_t widened);

#endif
