/* What a string of JSON says, as UTF-8. */
#ifndef FD_JSON_STRING_H
#define FD_JSON_STRING_H

#include "json/json_scan.h"

/* Append what stands between the quotes, without its escapes. What is no text
 * (bytes that are no UTF-8, a surrogate alone) becomes U+FFFD; a backslash
 * that escapes nothing stays. */
void fd_json_string(fd_span inside, fd_buffer *to);

#endif
