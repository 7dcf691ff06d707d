/* Numbers as programs write them into text, whatever the locale. */
#ifndef FD_DECIMAL_DIGITS_H
#define FD_DECIMAL_DIGITS_H

#include "base/buffer.h"

#include <stdbool.h>

/* A decimal number, nothing around it. False for all else, also for what is
 * no number or beyond a double. */
bool fd_digits_read(const char *text, size_t size, double *value);

/* The fewest digits that read back as the same double, as Python's repr:
 * 6291456.0, 0.1, 1e+16. */
void fd_digits_write(fd_buffer *to, double value);

/* With three decimals where they say it all, else as above. */
void fd_digits_write_thousandths(fd_buffer *to, double value);

#endif
