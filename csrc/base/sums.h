/* Saturating sums of times from files. They stop short of the two ends of the
 * range, which mean "none" and "never". */
#ifndef FD_SUMS_H
#define FD_SUMS_H

#include <stdint.h>

static inline int64_t
fd_bounded(int64_t value)
{
    return value == INT64_MIN ? INT64_MIN + 1
         : value == INT64_MAX ? INT64_MAX - 1
                              : value;
}

static inline int64_t
fd_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum)
             ? (b < 0 ? INT64_MIN + 1 : INT64_MAX - 1)
             : fd_bounded(sum);
}

static inline int64_t
fd_minus(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference)
             ? (b > 0 ? INT64_MIN + 1 : INT64_MAX - 1)
             : fd_bounded(difference);
}

#endif
