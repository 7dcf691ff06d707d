/* Decimal numbers as text, independent of the locale. */
#ifndef FD_DECIMAL_DIGITS_H
#define FD_DECIMAL_DIGITS_H

#include "base/buffer.h"

#include <stdbool.h>

/* Read a decimal number. Return false for any other text, and for numbers
 * outside the range of a double. */
bool fd_digits_read(const char *text, size_t size, double *value);

/* Write the shortest number that is read as the same double, as Python's repr:
 * 6291456.0, 0.1, 1e+16. */
void fd_digits_write(fd_buffer *to, double value);

/* Write three decimals if that is exact, otherwise the shortest number. */
void fd_digits_write_thousandths(fd_buffer *to, double value);

#endif
