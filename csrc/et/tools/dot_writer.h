/* Writer of Graphviz's language, for execution traces. Failures are stored in the status of the buffer. */
#ifndef FD_DOT_WRITER_H
#define FD_DOT_WRITER_H

#include "base/buffer.h"

typedef struct fd_dot_writer {
    fd_buffer *to; /* borrowed */
    bool more;     /* the statement has an attribute already */
} fd_dot_writer;

/* Begin a graph. `defaults` are lines of "graph [...]", "node [...]" and "edge
 * [...]". */
void fd_dot_begin(fd_dot_writer *w, const char *name, const char *defaults);
void fd_dot_end(fd_dot_writer *w);

/* Begin a statement; fd_dot_end_statement follows its attributes. */
void fd_dot_begin_node(fd_dot_writer *w, uint32_t node);
void fd_dot_begin_edge(fd_dot_writer *w, uint32_t from, uint32_t to);
void fd_dot_end_statement(fd_dot_writer *w);

/* Begin an attribute and return the buffer, to which the caller appends its
 * value. */
fd_buffer *fd_dot_put(fd_dot_writer *w, const char *name);

/* Write a string without escapes, or a value that needs no quotes. */
void fd_dot_put_text(fd_dot_writer *w, const char *name, const char *text);
void fd_dot_put_word(fd_dot_writer *w, const char *name, const char *word);
void fd_dot_put_number(fd_dot_writer *w, const char *name, uint64_t value);

#endif
