/* JSON numbers as exact decimals, never converted to a double. */
#ifndef FD_DECIMAL_H
#define FD_DECIMAL_H

#include "json/json_scan.h"

/* Append the sum of `number`, in microseconds, and `ns`. Keeps digits below a
 * nanosecond, down to 10^-21 us. Return false if it is not a number or above
 * 10^36. */
bool fd_decimal_shift(fd_span number, int64_t ns, fd_buffer *to);

/* Convert a number of microseconds to nanoseconds, rounded down. */
bool fd_decimal_ns(fd_span number, int64_t *ns);

/* Read a whole number in any form: 7, "7", 7.0, 0.7e1, "0x7". */
bool fd_decimal_whole(fd_span value, uint64_t *number);

/* Append a thousandth of `value` with three decimals: nanoseconds as
 * microseconds. */
void fd_decimal_milli(int64_t value, fd_buffer *to);

#endif
