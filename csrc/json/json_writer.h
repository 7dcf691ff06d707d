/* A writer of JSON into a buffer, value by value:
 *
 *     fd_json_writer w = {.to = &text};
 *     fd_json_begin_object(&w, NULL);
 *     fd_json_put_u64(&w, "pid", 7);
 *     fd_json_end_object(&w);              {"pid":7}
 *
 * `key` is the name of a member, or NULL for an element of an array and for
 * the outermost value. The writer inserts commas, no spaces, and only the line
 * breaks requested by fd_json_line. Errors are stored in the status of the
 * buffer. */
#ifndef FD_JSON_WRITER_H
#define FD_JSON_WRITER_H

#include "base/buffer.h"

typedef struct fd_json_writer {
    fd_buffer *to; /* borrowed */
    bool comma;    /* whether a comma precedes the next value */
    bool line;     /* whether the next value or end begins a line */
} fd_json_writer;

/* Begin a line with the next member, element or closing bracket. */
static inline void
fd_json_line(fd_json_writer *w)
{
    w->line = true;
}

void fd_json_begin_object(fd_json_writer *w, const char *key);
void fd_json_begin_array(fd_json_writer *w, const char *key);
void fd_json_end_object(fd_json_writer *w);
void fd_json_end_array(fd_json_writer *w);

/* Write a member name that is not a constant, with escapes; then write the
 * value with `key` NULL. Names passed as `key` are not escaped. */
void fd_json_key(fd_json_writer *w, const char *text, size_t size);

/* Write a string with quotes, escaped as by fd_buffer_json. */
void fd_json_put_text(fd_json_writer *w, const char *key, const char *text);
void fd_json_put_bytes(fd_json_writer *w, const char *key, const char *text,
                       size_t size);

void fd_json_put_u64(fd_json_writer *w, const char *key, uint64_t value);
void fd_json_put_i64(fd_json_writer *w, const char *key, int64_t value);
void fd_json_put_bool(fd_json_writer *w, const char *key, bool value);
void fd_json_put_null(fd_json_writer *w, const char *key);

/* Write 17 digits with a decimal point in any locale; null if not finite. */
void fd_json_put_double(fd_json_writer *w, const char *key, double value);

/* Write the output of printf for a finite double. */
void fd_json_put_digits(fd_json_writer *w, const char *key,
                        const char *printed);

/* Return the buffer, for the caller to append one value. */
fd_buffer *fd_json_put(fd_json_writer *w, const char *key);

#endif
