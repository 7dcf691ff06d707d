/* The texts of one sequence of a native trace, each once, and the arguments of
 * an event with them. Texts of native inputs are mapped by their ids. */
#ifndef FD_PERFETTO_TEXTS_H
#define FD_PERFETTO_TEXTS_H

#include "base/vector.h"
#include "trace/interned_texts.h"
#include "json/json_scan.h"

/* Later texts are written in their events. */
enum { FD_PERFETTO_TEXTS = 1 << 16, FD_PERFETTO_TEXT_BYTES = 4 << 20 };

typedef struct fd_perfetto_pool {
    fd_text_pool texts;
    FD_VECTOR(uint32_t) ids; /* by ids of the input; 0: not known yet */
} fd_perfetto_pool;

typedef struct fd_perfetto_texts {
    fd_perfetto_pool names;
    fd_perfetto_pool categories;
    fd_perfetto_pool notes;   /* names of arguments */
    fd_perfetto_pool sources; /* source locations: fields */
    fd_buffer scratch;
} fd_perfetto_texts;

void fd_perfetto_texts_clear(fd_perfetto_texts *texts);

/* Append `text` to an event: as the number `iid_field`, else `text_field`. */
fd_status fd_perfetto_text(fd_perfetto_pool *pool, fd_span text,
                           uint32_t iid_field, uint32_t text_field,
                           fd_buffer *to);

/* The same for a text of the input. */
fd_status fd_perfetto_text_of(fd_perfetto_pool *pool, const fd_text_pool *from,
                              uint32_t text, uint32_t iid_field,
                              uint32_t text_field, fd_buffer *to);

/* The text of a JSON string, or another value as it is. Valid until the
 * next call. */
fd_span fd_perfetto_spell(fd_perfetto_texts *texts, fd_span value);

/* Append the members of an object to an event, each as an annotation. */
fd_status fd_perfetto_notes(fd_perfetto_texts *texts, fd_span object,
                            fd_buffer *to);

/* End a message that begins at `from` and continues to the end of the buffer:
 * insert its tag and length before it. */
void fd_perfetto_end_message(fd_buffer *to, uint32_t field, size_t from);

/* Append a number as a whole one of 64 bits or as a double; false when it is
 * neither. */
bool fd_perfetto_number(fd_span number, uint32_t whole_field,
                        uint32_t real_field, fd_buffer *to);

#endif
