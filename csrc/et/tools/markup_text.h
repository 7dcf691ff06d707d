/* Escaping for dot and XML, and formatting of counts. */
#ifndef FD_MARKUP_TEXT_H
#define FD_MARKUP_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>

/* Append a text for a label of dot: at most `limit` characters, then an
 * ellipsis. Invalid characters of XML (bad UTF-8, controls) become U+FFFD. */
void fd_text_dot(fd_buffer *to, const char *text, size_t size, size_t limit);

/* Append a text for XML, without a limit. */
void fd_text_xml(fd_buffer *to, const char *text, size_t size);

/* Append a count: "1 234 567". */
void fd_text_count(fd_buffer *to, uint64_t count);

#endif
