/* UTF-8 as RFC 3629 defines it: no surrogates, no overlong forms, at most
 * U+10FFFF. */
#ifndef FD_UTF8_H
#define FD_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Return the length of the valid sequence at the start of `text`, or 0 if it
 * is invalid or truncated. */
size_t fd_utf8_length(const char *text, size_t size);

/* Return the value of a hexadecimal digit, or 16. */
static inline uint32_t
fd_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? (uint32_t)(c - '0')
         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                : 16;
}

#endif
