/* The interned texts of one sequence of a native trace, and the encoding of
 * arguments. */
#ifndef FD_PERFETTO_TEXTS_H
#define FD_PERFETTO_TEXTS_H

#include "base/arena.h"
#include "trace/interned_texts.h"

/* Texts beyond these bounds are not interned. */
enum { FD_PERFETTO_TEXTS = 1 << 16, FD_PERFETTO_TEXT_BYTES = 4 << 20 };

/* Kinds of interned texts. */
typedef enum fd_perfetto_kind {
    FD_PERFETTO_CATEGORIES,
    FD_PERFETTO_NAMES,
    FD_PERFETTO_NOTES, /* names of arguments */
    FD_PERFETTO_KINDS
} fd_perfetto_kind;

/* Texts of one kind. Texts of readers that number them are found by these
 * numbers. */
typedef struct fd_perfetto_pool {
    fd_text_pool texts;
    FD_VECTOR(uint32_t) ids; /* by number of the reader; 0: not found yet */
} fd_perfetto_pool;

typedef struct fd_perfetto_texts {
    fd_arena *arena; /* borrowed */
    fd_perfetto_pool pools[FD_PERFETTO_KINDS];
    fd_buffer scratch;
} fd_perfetto_texts;

/* Free the texts, without the memory of the arena. */
void fd_perfetto_texts_clear(fd_perfetto_texts *texts);

/* Append a text, a JSON value, to an event or an argument: as its id if it is
 * interned. `number`: its number in the reader, or 0. */
void fd_perfetto_text(fd_perfetto_texts *texts, fd_perfetto_kind kind,
                      fd_span value, uint32_t number, fd_buffer *to);

/* Return the text of a JSON string, or any other value unchanged. Valid until
 * the next call. */
fd_span fd_perfetto_spell(fd_perfetto_texts *texts, fd_span value);

/* Append each member of an object to an event as a debug annotation. The
 * request fails with FD_EFORMAT if it is not JSON. */
void fd_perfetto_notes(fd_perfetto_texts *texts, fd_span object,
                       fd_buffer *to);

/* Append a number as a 64-bit integer or as a double; return false if it is
 * neither. */
bool fd_perfetto_number(fd_span number, uint32_t whole_field,
                        uint32_t real_field, fd_buffer *to);

#endif
