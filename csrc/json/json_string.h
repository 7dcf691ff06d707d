/* The content of a JSON string, as UTF-8. */
#ifndef FD_JSON_STRING_H
#define FD_JSON_STRING_H

#include "json/json_scan.h"

/* Append the text between the quotes, with escapes decoded. Invalid UTF-8 and
 * lone surrogates become U+FFFD; a backslash of no valid escape stays. */
void fd_json_string(fd_span inside, fd_buffer *to);

#endif
