#include "check.h"

#include "events/stats/duration_digest.h"

#include <stdbool.h>
#include <stdlib.h>

static bool
is_near(uint64_t got, uint64_t wanted, double error)
{
    double off = (double)got - (double)wanted;
    return off <= error * (double)wanted && -off <= error * (double)wanted;
}

static void
small_values_are_exact(void)
{
    CLEAN(fd_digest_clear) fd_digest digest = {.count = 0};
    EQUAL(fd_digest_at(&digest, 0.5), 0);
    for (uint64_t i = 1; i <= 100; i++) {
        OK(fd_digest_add(&digest, i));
    }
    EQUAL(fd_digest_at(&digest, 0.5), 50);
    EQUAL(fd_digest_at(&digest, 0.95), 95);
    EQUAL(fd_digest_at(&digest, 0.99), 99);
    EQUAL(fd_digest_at(&digest, 1), 100);
    EQUAL(fd_digest_at(&digest, 0), 1);
    EQUAL(digest.total, 5050);
    EQUAL(digest.least, 1);
}

/* Every value on its own lies within the error, however wide the buckets. */
static void
error_is_bounded(void)
{
    for (uint32_t widened = 0; widened <= FD_DIGEST_BITS; widened++) {
        for (uint64_t value = 3; value < UINT64_MAX / 3; value += value / 2) {
            CLEAN(fd_digest_clear) fd_digest digest = {.count = 0};
            OK(fd_digest_add(&digest, value));
            OK(fd_digest_add(&digest, 0));
            OK(fd_digest_add(&digest, UINT64_MAX));
            for (uint32_t i = 0; i < widened; i++) {
                fd_digest_widen(&digest);
            }
            CHECK(is_near(fd_digest_at(&digest, 0.5), value,
                          fd_digest_error(widened) * 1.01));
        }
    }
}

static int
by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void
many_values(void)
{
    static uint64_t values[5000];
    CLEAN(fd_digest_clear) fd_digest digest = {.count = 0};
    srand(1);
    for (int i = 0; i < 5000; i++) {
        values[i] = (uint64_t)rand() * (uint64_t)(1 + rand() % 1000);
        OK(fd_digest_add(&digest, values[i]));
    }
    qsort(values, 5000, sizeof *values, by_value);
    static const double shares[] = {0.5, 0.95, 0.99};
    for (int wide = 0; wide < 3; wide++) {
        for (size_t i = 0; i < 3; i++) {
            CHECK(is_near(fd_digest_at(&digest, shares[i]),
                          values[(int)(shares[i] * 5000) - 1],
                          fd_digest_error((uint32_t)wide)));
        }
        CHECK(digest.buckets.count < 64 * 64);
        fd_digest_widen(&digest);
    }
    EQUAL(digest.count, 5000);
}

RUN(TEST(small_values_are_exact), TEST(error_is_bounded), TEST(many_values))
