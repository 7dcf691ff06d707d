/* Escaping for dot and XML, and formatting of numbers with units. */
#ifndef FD_GRAPH_TEXT_H
#define FD_GRAPH_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>

/* Append a text for a string of dot: a label, a tooltip, or an HTML-like
 * label. At most `limit` characters, then an ellipsis. Invalid characters of
 * XML (bad UTF-8, controls) become U+FFFD; a backslash becomes a full-width
 * one if Graphviz has no escape for it. */
void fd_text_dot(fd_buffer *to, const char *text, size_t size, size_t limit);
void fd_text_tooltip(fd_buffer *to, const char *text, size_t size,
                     size_t limit);
void fd_text_html(fd_buffer *to, const char *text, size_t size, size_t limit);

/* Append a text for XML, without a limit. */
void fd_text_xml(fd_buffer *to, const char *text, size_t size);

/* Append a time with three digits: "1.24 s", "80 ms", "3.1 us". */
void fd_text_time(fd_buffer *to, uint64_t nanoseconds);

/* Append a count: "1 234 567". */
void fd_text_count(fd_buffer *to, uint64_t count);

/* Append a share: "12.5 %", "0.04 %"; 0 if `whole` is 0. */
void fd_text_percent(fd_buffer *to, uint64_t part, uint64_t whole);

#endif
