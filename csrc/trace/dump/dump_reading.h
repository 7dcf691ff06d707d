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
    FD_VECTOR(uint32_t) texts; /* index of a string in the document -> text */
    /* index in the document -> node; entry 0: no node */
    FD_VECTOR(uint32_t) nodes;
    FD_VECTOR(uint32_t) modules;
    uint32_t *contexts; /* owned */
    uint32_t context_count;
} fd_loading;

/* Fail with FD_EFORMAT and a message with the file, the position and the
 * fault. */
fd_status fd_loading_wrong(const fd_loading *l, const char *where,
                           const char *what);

/* Read a non-negative integer; above 2^53 it is written as a string. */
fd_status fd_loading_number(const fd_loading *l, fd_span json,
                            const char *name, uint64_t max, uint64_t *value);

/* Read the content of a JSON string into l->text, valid until the next call,
 * with a NUL that is not in its size. FD_EFORMAT without a message for other
 * values. */
fd_status fd_loading_text(fd_loading *l, fd_span json);

/* Add a JSON string as a text of the trace. `name` is for messages. */
fd_status fd_loading_add_text(fd_loading *l, fd_span json, const char *name,
                              uint32_t *id);

/* Return the next value of an array; the scan is zeroed at first. False at the
 * end of the array, and for other values. */
bool fd_loading_next(fd_scan *scan, fd_span array, fd_span *value);

/* Read the rows of a table. Context ids remain those of the document. The
 * caller frees the list, also after a failure. */
fd_status fd_loading_table(const fd_loading *l, fd_span json,
                           const fd_table *table, fd_rank_list *to);

/* Readers of the parts, in the order of the file. */
fd_status fd_load_strings(fd_loading *l, fd_span json);
fd_status fd_load_nodes(fd_loading *l, fd_span json);
fd_status fd_load_modules(fd_loading *l, fd_span json);
fd_status fd_load_contexts(fd_loading *l, fd_span json);
fd_status fd_load_rank(fd_loading *l, fd_span json);

#endif
