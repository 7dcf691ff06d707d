/* Writer of GraphML, http://graphml.graphdrawing.org/, for call graphs and
 * execution traces. Failures are stored in the status of the buffer. */
#ifndef FD_GRAPHML_WRITER_H
#define FD_GRAPHML_WRITER_H

#include "base/buffer.h"

/* A declared attribute of nodes or edges. */
typedef struct fd_graphml_key {
    const char *id;
    const char *target; /* "node", "edge" or "all" */
    const char *name;
    const char *type; /* "string", "int", "long", "double" or "boolean" */
} fd_graphml_key;

typedef struct fd_graphml_writer {
    fd_buffer *to;      /* borrowed */
    const char *prefix; /* prefix of the ids of nodes */
} fd_graphml_writer;

/* Write the header with the declared keys; write the end of the document. */
void fd_graphml_begin(const fd_graphml_writer *w, const fd_graphml_key *keys,
                      size_t count);
void fd_graphml_end(const fd_graphml_writer *w);

void fd_graphml_begin_node(const fd_graphml_writer *w, uint64_t node);
void fd_graphml_end_node(const fd_graphml_writer *w);
void fd_graphml_begin_edge(const fd_graphml_writer *w, uint64_t source,
                           uint64_t target);
void fd_graphml_end_edge(const fd_graphml_writer *w);

/* Write a value of the current node or edge. */
void fd_graphml_put_bytes(const fd_graphml_writer *w, const char *key,
                          const char *text, size_t size);
void fd_graphml_put_text(const fd_graphml_writer *w, const char *key,
                         const char *text);
void fd_graphml_put_i64(const fd_graphml_writer *w, const char *key,
                        int64_t value);
void fd_graphml_put_double(const fd_graphml_writer *w, const char *key,
                           double value);

#endif
