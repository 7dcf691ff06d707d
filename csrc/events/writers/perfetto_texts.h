/* The interned texts of one sequence of a native trace, and the encoding of
 * arguments. Texts of native inputs are mapped by their ids. */
#ifndef FD_PERFETTO_TEXTS_H
#define FD_PERFETTO_TEXTS_H

#include "base/vector.h"
#include "trace/interned_texts.h"
#include "json/json_scan.h"

/* Texts beyond these bounds are not interned. */
enum { FD_PERFETTO_TEXTS = 1 << 16, FD_PERFETTO_TEXT_BYTES = 4 << 20 };

typedef struct fd_perfetto_pool {
    fd_text_pool texts;
    FD_VECTOR(uint32_t) ids; /* by id of the input; 0: not mapped yet */
} fd_perfetto_pool;

typedef struct fd_perfetto_texts {
    fd_perfetto_pool names;
    fd_perfetto_pool categories;
    fd_perfetto_pool notes;   /* names of arguments */
    fd_perfetto_pool sources; /* source locations, as encoded fields */
    fd_buffer scratch;
} fd_perfetto_texts;

void fd_perfetto_texts_clear(fd_perfetto_texts *texts);

/* Append `text` to an event: as its id in field `iid_field` if it is interned,
 * else in field `text_field`. */
fd_status fd_perfetto_text(fd_perfetto_pool *pool, fd_span text,
                           uint32_t iid_field, uint32_t text_field,
                           fd_buffer *to);

/* Append a text of a native input, given by its id there, in the same way. */
fd_status fd_perfetto_text_of(fd_perfetto_pool *pool, const fd_text_pool *from,
                              uint32_t text, uint32_t iid_field,
                              uint32_t text_field, fd_buffer *to);

/* Return the text of a JSON string, or any other value unchanged. Valid until
 * the next call. */
fd_span fd_perfetto_spell(fd_perfetto_texts *texts, fd_span value);

/* Append each member of an object to an event as a debug annotation. */
fd_status fd_perfetto_notes(fd_perfetto_texts *texts, fd_span object,
                            fd_buffer *to);

/* End the message that consists of the bytes from `from` to the end of the
 * buffer: insert its tag and length before it. */
void fd_perfetto_end_message(fd_buffer *to, uint32_t field, size_t from);

/* Append a number as a 64-bit integer or as a double; return false if it is
 * neither. */
bool fd_perfetto_number(fd_span number, uint32_t whole_field,
                        uint32_t real_field, fd_buffer *to);

#endif
