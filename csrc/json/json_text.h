/* JSON that is kept as text: the facts about a run. */
#ifndef FD_JSON_TEXT_H
#define FD_JSON_TEXT_H

#include "base/buffer.h"

/* Append a JSON value in the canonical spelling of this library, without
 * spaces; a text (UTF-8) that is not JSON becomes a JSON string. The result is
 * stable: a trace and a dump of it have the same text. */
void fd_json_text(fd_buffer *to, const char *json);

#endif
