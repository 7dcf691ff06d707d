/* Shared declarations of the reader of dumps. Reading is one request of an
 * arena (base/arena.h): after a failure, it continues at its begin in
 * dump_reader.c. */
#ifndef FD_DUMP_READING_H
#define FD_DUMP_READING_H

#include "base/arena.h"
#include "trace/trace_columns.h"
#include "json/json_scan.h"

typedef struct fd_loading {
    fd_arena arena;
    const char *path;
    fd_trace *trace;
    fd_buffer text;            /* of fd_loading_text */
    FD_VECTOR(uint32_t) texts; /* index of a string in the document -> text */
    /* index in the document -> node; entry 0: no node */
    FD_VECTOR(uint32_t) nodes;
    FD_VECTOR(uint32_t) modules;
    uint32_t *contexts;
    uint32_t context_count;
} fd_loading;

/* End the request with FD_EFORMAT and a message with the file, the position
 * and the fault. */
_Noreturn void fd_loading_wrong(fd_loading *l, const char *where,
                                const char *what);

/* Read a non-negative integer; above 2^53 it is written as a string. */
uint64_t fd_loading_number(fd_loading *l, fd_span json, const char *name,
                           uint64_t max);

/* Read the content of a JSON string into l->text, valid until the next call,
 * with a NUL that is not in its size. False for other values. */
bool fd_loading_text(fd_loading *l, fd_span json);

/* Add a JSON string as a text of the trace. `name` is for messages. */
uint32_t fd_loading_add_text(fd_loading *l, fd_span json, const char *name);

/* Return the next value of an array; the scan is zeroed at first. False at the
 * end of the array, and for other values. */
bool fd_loading_next(fd_scan *scan, fd_span array, fd_span *value);

/* Read the rows of a table into an empty list of the heap. Context ids remain
 * those of the document. */
void fd_loading_table(fd_loading *l, fd_span json, const fd_table *table,
                      fd_rank_list *to);

/* The same with a list of the arena. */
fd_rank_list *fd_loading_rows(fd_loading *l, fd_span json,
                              const fd_table *table);

/* Readers of the parts, in the order of the file. */
void fd_load_strings(fd_loading *l, fd_span json);
void fd_load_nodes(fd_loading *l, fd_span json);
void fd_load_modules(fd_loading *l, fd_span json);
void fd_load_contexts(fd_loading *l, fd_span json);
void fd_load_rank(fd_loading *l, fd_span json);

#endif
