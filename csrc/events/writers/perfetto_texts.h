/* The interned texts of one sequence of a native trace, and the encoding of
 * arguments. */
#ifndef FD_PERFETTO_TEXTS_H
#define FD_PERFETTO_TEXTS_H

#include "base/vector.h"
#include "trace/interned_texts.h"
#include "json/json_scan.h"

/* Texts beyond these bounds are not interned. */
enum { FD_PERFETTO_TEXTS = 1 << 16, FD_PERFETTO_TEXT_BYTES = 4 << 20 };

/* Texts of one kind. Texts of readers that number them are found by these
 * numbers. */
typedef struct fd_perfetto_pool {
    fd_text_pool texts;
    FD_VECTOR(uint32_t) ids; /* by number of the reader; 0: not found yet */
} fd_perfetto_pool;

typedef struct fd_perfetto_texts {
    fd_perfetto_pool names;
    fd_perfetto_pool categories;
    fd_perfetto_pool notes; /* names of arguments */
    fd_buffer scratch;
} fd_perfetto_texts;

void fd_perfetto_texts_clear(fd_perfetto_texts *texts);

/* Append `text` to an event: as its id in field `iid_field` if it is interned,
 * else in field `text_field`. `number`: its number in the reader, or 0. */
fd_status fd_perfetto_text(fd_perfetto_pool *pool, fd_span text,
                           uint32_t number, uint32_t iid_field,
                           uint32_t text_field, fd_buffer *to);

/* Return the id of a text that was interned under this number of the reader;
 * 0: none was. */
static inline uint32_t
fd_perfetto_text_known(const fd_perfetto_pool *pool, uint32_t number)
{
    return number < pool->ids.count ? pool->ids.list[number] : 0;
}

/* Return the text of a JSON string, or any other value unchanged. Valid until
 * the next call. */
fd_span fd_perfetto_spell(fd_perfetto_texts *texts, fd_span value);

/* Append each member of an object to an event as a debug annotation. */
fd_status fd_perfetto_notes(fd_perfetto_texts *texts, fd_span object,
                            fd_buffer *to);

/* Append a number as a 64-bit integer or as a double; return false if it is
 * neither. */
bool fd_perfetto_number(fd_span number, uint32_t whole_field,
                        uint32_t real_field, fd_buffer *to);

#endif
