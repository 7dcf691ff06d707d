#include "events/stats/duration_digest.h"

#include <string.h>

/* Buckets are logarithmic: the width of a bucket is at most 2^-bits of its
 * values.
 *
 *     value   1 0 1 1 0 1 1 | 0 1 1 0 ...   in binary
 *             bucket: 1 + 6 bits              its width: 1/64 of it at most */
static uint16_t
bucket_of(uint64_t value, uint32_t bits)
{
    if (value < UINT64_C(1) << bits) {
        return (uint16_t)value; /* small values are exact */
    }
    uint32_t exponent = 63 - (uint32_t)__builtin_clzll(value) - bits;
    return (uint16_t)((exponent << bits) + (uint32_t)(value >> exponent));
}

/* Return the middle of a bucket. */
static uint64_t
middle_of(uint16_t bucket, uint32_t bits)
{
    if (bucket < 2u << bits) {
        return bucket; /* the bucket of one value */
    }
    uint32_t exponent = ((uint32_t)bucket >> bits) - 1;
    uint64_t from = (uint64_t)(bucket - (exponent << bits)) << exponent;
    return from + ((UINT64_C(1) << exponent) - 1) / 2;
}

void
fd_digest_clear(fd_digest *digest)
{
    fd_vector_clear(&digest->buckets);
    *digest = (fd_digest){.count = 0};
}

static fd_status
insert_bucket(fd_digest *digest, uint32_t at, uint16_t bucket)
{
    fd_status status =
        fd_vector_push(&digest->buckets, (fd_digest_bucket){bucket, 0});
    if (status == FD_OK) {
        fd_digest_bucket *list = digest->buckets.list;
        memmove(list + at + 1, list + at,
                (digest->buckets.count - 1 - at) * sizeof *list);
        list[at] = (fd_digest_bucket){bucket, 0};
    }
    return status;
}

fd_status
fd_digest_add(fd_digest *digest, uint64_t value)
{
    uint32_t bits = FD_DIGEST_BITS - digest->widened;
    uint16_t bucket = bucket_of(value, bits);
    uint32_t low = 0;
    uint32_t high = digest->buckets.count;
    FD_BISECT(low, high, digest->buckets.list[middle].bucket < bucket);
    if (low == digest->buckets.count
        || digest->buckets.list[low].bucket != bucket) {
        fd_status status = insert_bucket(digest, low, bucket);
        if (status != FD_OK) {
            return status;
        }
    }
    digest->buckets.list[low].count++;
    digest->least =
        digest->count == 0 || value < digest->least ? value : digest->least;
    digest->most = value > digest->most ? value : digest->most;
    digest->total += value;
    digest->count++;
    return FD_OK;
}

void
fd_digest_widen(fd_digest *digest)
{
    uint32_t kept = 0;
    if (digest->widened == FD_DIGEST_BITS) {
        return;
    }
    uint32_t before = FD_DIGEST_BITS - digest->widened++;
    for (uint32_t i = 0; i < digest->buckets.count; i++) {
        fd_digest_bucket each = digest->buckets.list[i];
        each.bucket = bucket_of(middle_of(each.bucket, before), before - 1);
        if (kept > 0 && digest->buckets.list[kept - 1].bucket == each.bucket) {
            digest->buckets.list[kept - 1].count += each.count;
        }
        else {
            digest->buckets.list[kept++] = each;
        }
    }
    digest->buckets.count = kept;
}

uint64_t
fd_digest_at(const fd_digest *digest, double share)
{
    double exact = share * (double)digest->count;
    uint64_t index = (uint64_t)exact;
    uint64_t seen = 0;
    index += (double)index < exact || index == 0;
    for (uint32_t i = 0; i < digest->buckets.count; i++) {
        fd_digest_bucket each = digest->buckets.list[i];
        seen += each.count;
        if (seen >= index) {
            uint64_t value =
                middle_of(each.bucket, FD_DIGEST_BITS - digest->widened);
            return value < digest->least ? digest->least
                 : value > digest->most  ? digest->most
                                         : value;
        }
    }
    return digest->most;
}

double
fd_digest_error(uint32_t widened)
{
    return 1.0 / (double)(UINT64_C(2) << (FD_DIGEST_BITS - widened));
}
