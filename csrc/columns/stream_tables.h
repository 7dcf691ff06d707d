/* The tables of a trace as rows of structs, for a stream of batches: one batch
 * of the tables that all ranks share, or one per rank. */
#ifndef FD_STREAM_TABLES_H
#define FD_STREAM_TABLES_H

#include "base/arena.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

/* The rows of a batch. `list` is part of the trace, or of the arena. */
typedef struct fd_table_rows {
    const void *list;
    uint32_t count;
    fd_arena arena;
} fd_table_rows;

void fd_table_rows_clear(fd_table_rows *batch);

typedef void fd_table_fill(fd_table_rows *batch, const fd_trace *trace,
                           const uint64_t *paths, uint32_t rank);

typedef struct fd_arrow_table {
    const fd_table *table;
    fd_table_fill *fill; /* NULL: the rows that a rank has in this form */
    bool per_rank;       /* a batch per rank, with a column "rank" */
} fd_arrow_table;

/* Make the rows of one batch. Clear it also after a failure. */
fd_status fd_table_rows_fill(fd_table_rows *batch, const fd_arrow_table *table,
                             const fd_trace *trace, const uint64_t *paths,
                             uint32_t rank);

/* Return the table with a name, or NULL. */
const fd_arrow_table *fd_arrow_table_of(const char *name);

/* Return the name of a table by index, or NULL after the last one. */
const char *fd_arrow_table_name(size_t index);

#endif
