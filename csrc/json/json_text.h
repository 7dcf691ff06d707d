/* JSON that is kept as text: the facts about a run. */
#ifndef FD_JSON_TEXT_H
#define FD_JSON_TEXT_H

#include "base/buffer.h"
#include "json/json_scan.h"

/* Append a JSON value in the canonical spelling of this library, without
 * spaces; a text (UTF-8) that is not JSON becomes a JSON string. The result is
 * stable: a trace and a dump of it have the same text. */
void fd_json_text(fd_buffer *to, const char *json);

/* The content of a JSON string, as UTF-8. */

/* Append the text between the quotes, with escapes decoded. Invalid UTF-8 and
 * lone surrogates become U+FFFD; a backslash of no valid escape stays. */
void fd_json_string(fd_span inside, fd_buffer *to);

#endif
