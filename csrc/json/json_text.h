/* JSON that is kept as text: the facts about a run. */
#ifndef FD_JSON_TEXT_H
#define FD_JSON_TEXT_H

#include "base/buffer.h"

/* Append a JSON value spelled in the one way of this library, without spaces;
 * a text (UTF-8) that is no JSON becomes a JSON string. Spelling it again changes
 * nothing, so that a trace and a dump of it hold the same text. */
void fd_json_text(fd_buffer *to, const char *json);

#endif
