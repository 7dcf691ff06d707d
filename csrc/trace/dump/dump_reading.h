/* The parts of loading a dump. load.c opens the document, load_shared.c loads
 * what all ranks share, load_rank.c one rank, load_table.c cells and
 * columns. */
#ifndef FD_DUMP_READING_H
#define FD_DUMP_READING_H

#include "trace/trace_columns.h"

#include <cjson/cJSON.h>

typedef struct fd_loading {
    const char *path;
    fd_error *error;
    fd_trace *trace;
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

/* FD_EFORMAT with the file, the place and what is the matter there. */
fd_status fd_loading_wrong(const fd_loading *l, const char *where,
                           const char *what);

/* A whole number from 0 on, above 2^53 written as a string. */
bool fd_loading_unsigned(const cJSON *json, uint64_t *value);
fd_status fd_loading_number(const fd_loading *l, const cJSON *json,
                            const char *name, uint64_t max, uint64_t *value);

/* The rows of a table in the object `parent`; the caller frees the list, also
 * after a failure. Context ids stay the document's. */
fd_status fd_loading_table(const fd_loading *l, const cJSON *parent,
                           const fd_table *table, fd_loading_rows *to);

fd_status fd_load_strings(fd_loading *l, const cJSON *document);
fd_status fd_load_nodes(fd_loading *l, const cJSON *document);
fd_status fd_load_modules(fd_loading *l, const cJSON *document);
fd_status fd_load_contexts(fd_loading *l, const cJSON *document);
fd_status fd_load_ranks(fd_loading *l, const cJSON *document);

#endif
