/* UTF-8 as RFC 3629 defines it: no surrogates, no overlong forms, at most
 * U+10FFFF. */
#ifndef FD_UTF8_H
#define FD_UTF8_H

#include <stddef.h>

/* Return the length of the valid sequence at the start of `text`, or 0 if it
 * is invalid or truncated. */
size_t fd_utf8_length(const char *text, size_t size);

#endif
