/* Logarithmic histogram buckets: the width of a bucket is at most 2^-bits of
 * its values.
 *
 *     value   1 0 1 1 0 1 1 | 0 1 1 0 ...   in binary
 *             bucket: 1 + 6 bits              its width: 1/64 of it at most */
#ifndef FD_LOG_BUCKETS_H
#define FD_LOG_BUCKETS_H

#include <stdint.h>

static inline uint16_t
fd_log_bucket(uint64_t value, uint32_t bits)
{
    if (value < UINT64_C(1) << bits) {
        return (uint16_t)value; /* small values are exact */
    }
    uint32_t exponent = 63 - (uint32_t)__builtin_clzll(value) - bits;
    return (uint16_t)((exponent << bits) + (uint32_t)(value >> exponent));
}

/* Return the middle of a bucket. */
static inline uint64_t
fd_log_bucket_middle(uint16_t bucket, uint32_t bits)
{
    if (bucket < 2u << bits) {
        return bucket; /* the bucket of one value */
    }
    uint32_t exponent = ((uint32_t)bucket >> bits) - 1;
    uint64_t from = (uint64_t)(bucket - (exponent << bits)) << exponent;
    return from + ((UINT64_C(1) << exponent) - 1) / 2;
}

/* Return the largest relative error of the middle of a bucket. */
static inline double
fd_log_bucket_error(uint32_t bits)
{
    return 1.0 / (double)(UINT64_C(2) << bits);
}

#endif
