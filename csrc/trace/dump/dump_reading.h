/* Shared declarations of the reader of dumps. */
#ifndef FD_DUMP_READING_H
#define FD_DUMP_READING_H

#include "trace/trace_columns.h"
#include "json/json_scan.h"

typedef struct fd_loading {
    const char *path;
    fd_error *error;
    fd_trace *trace;
    fd_buffer text;            /* of fd_loading_text */
    FD_VECTOR(uint32_t) texts; /* index in the document -> text */
    FD_VECTOR(uint32_t) nodes; /* the same for nodes; entry 0 means none */
    FD_VECTOR(uint32_t) modules;
    uint32_t *contexts; /* owned */
    uint32_t context_count;
} fd_loading;

typedef struct fd_loading_rows {
    void *list; /* owned */
    uint32_t count;
} fd_loading_rows;

/* FD_EFORMAT with the file, the place and the fault. */
fd_status fd_loading_wrong(const fd_loading *l, const char *where,
                           const char *what);

/* A non-negative integer, above 2^53 written as a string. */
fd_status fd_loading_number(const fd_loading *l, fd_span json,
                            const char *name, uint64_t max, uint64_t *value);

/* The content of a JSON string, valid until the next call: in l->text, with a
 * NUL that is not in its size. FD_EFORMAT without a message for other
 * values. */
fd_status fd_loading_text(fd_loading *l, fd_span json);

/* A JSON string as a text of the trace. `name` is for messages. */
fd_status fd_loading_add_text(fd_loading *l, fd_span json, const char *name,
                              uint32_t *id);

/* The next value of an array, with a zeroed scan at first; false at its end
 * and for anything but an array. */
bool fd_loading_next(fd_scan *scan, fd_span array, fd_span *value);

/* The rows of a table; the caller frees the list, also after a failure.
 * Context ids stay the document's. */
fd_status fd_loading_table(const fd_loading *l, fd_span json,
                           const fd_table *table, fd_loading_rows *to);

/* The parts, in this order. */
fd_status fd_load_strings(fd_loading *l, fd_span json);
fd_status fd_load_nodes(fd_loading *l, fd_span json);
fd_status fd_load_modules(fd_loading *l, fd_span json);
fd_status fd_load_contexts(fd_loading *l, fd_span json);
fd_status fd_load_rank(fd_loading *l, fd_span json);

#endif
