/* JSON kept as text, for the facts about a run. */
#ifndef FD_JSON_TEXT_H
#define FD_JSON_TEXT_H

#include "base/buffer.h"
#include "json/json_scan.h"

/* Append a JSON value in the canonical format of this library, without spaces.
 * A text (UTF-8) that is not JSON becomes a JSON string. The result is stable:
 * it is the same for a trace and for a dump of the trace. */
void fd_json_text(fd_buffer *to, const char *json);

/* Decode the text between the quotes of a JSON string and append it as UTF-8.
 * Invalid UTF-8 and lone surrogates become U+FFFD; a backslash that starts no
 * valid escape is kept. */
void fd_json_string(fd_span inside, fd_buffer *to);

/* Replace escapes of printable ASCII characters, such as \u003c and \/, by
 * these characters, in place. The text stays the same JSON value. */
void fd_json_plain(fd_buffer *text);

#endif
