/* The texts of one sequence of a native trace, each once, and the arguments of
 * an event with them. */
#ifndef FD_PERFETTO_TEXTS_H
#define FD_PERFETTO_TEXTS_H

#include "trace/interned_texts.h"
#include "json/json_scan.h"

/* Later texts are written in their events. */
enum { FD_PERFETTO_TEXTS = 1 << 16, FD_PERFETTO_TEXT_BYTES = 4 << 20 };

typedef struct fd_perfetto_texts {
    fd_text_pool names;
    fd_text_pool categories;
    fd_text_pool notes; /* names of arguments */
    fd_buffer scratch;
} fd_perfetto_texts;

void fd_perfetto_texts_clear(fd_perfetto_texts *texts);

/* Append `text` to an event: as the number `iid_field`, else `text_field`. */
fd_status fd_perfetto_text(fd_text_pool *pool, fd_span text,
                           uint32_t iid_field, uint32_t text_field,
                           fd_buffer *to);

/* The text of a JSON string, or another value as it is. Valid until the
 * next call. */
fd_span fd_perfetto_spell(fd_perfetto_texts *texts, fd_span value);

/* Append the members of an object to an event, each as an annotation. */
fd_status fd_perfetto_notes(fd_perfetto_texts *texts, fd_span object,
                            fd_buffer *to);

/* Append a number as a whole one of 64 bits or as a double; false when it is
 * neither. */
bool fd_perfetto_number(fd_span number, uint32_t whole_field,
                        uint32_t real_field, fd_buffer *to);

#endif
