/* Writer of Graphviz's language, for call graphs and execution traces.
 * Failures are stored in the status of the buffer. */
#ifndef FD_DOT_WRITER_H
#define FD_DOT_WRITER_H

#include "base/buffer.h"

typedef struct fd_dot_writer {
    fd_buffer *to;         /* borrowed */
    const char *separator; /* separator of attributes */
    bool inside;           /* within a cluster */
    bool more;             /* the statement has an attribute already */
} fd_dot_writer;

/* Begin a graph. `defaults` are lines of "graph [...]", "node [...]" and "edge
 * [...]". */
void fd_dot_begin(fd_dot_writer *w, const char *name, const char *defaults);
void fd_dot_end(fd_dot_writer *w);

/* Begin a statement; fd_dot_end_statement follows its attributes. */
void fd_dot_begin_node(fd_dot_writer *w, uint32_t node);
void fd_dot_begin_edge(fd_dot_writer *w, uint32_t from, uint32_t to);
void fd_dot_end_statement(fd_dot_writer *w);

/* Begin a cluster; fd_dot_end_attributes separates its attributes from its
 * nodes. */
void fd_dot_begin_cluster(fd_dot_writer *w, uint32_t cluster);
void fd_dot_end_attributes(fd_dot_writer *w);
void fd_dot_end_cluster(fd_dot_writer *w);

/* Begin an attribute and return the buffer, to which the caller appends its
 * value. */
fd_buffer *fd_dot_put(fd_dot_writer *w, const char *name);

/* Write a string without escapes, or a value that needs no quotes. */
void fd_dot_put_text(fd_dot_writer *w, const char *name, const char *text);
void fd_dot_put_word(fd_dot_writer *w, const char *name, const char *word);
void fd_dot_put_number(fd_dot_writer *w, const char *name, uint64_t value);

/* Write a label or tooltip: quoted, escaped, at most `limit` characters. */
void fd_dot_put_label(fd_dot_writer *w, const char *text, size_t limit);
void fd_dot_put_tooltip(fd_dot_writer *w, const char *text, size_t limit);

#endif
