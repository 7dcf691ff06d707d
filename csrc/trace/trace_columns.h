/* The tables of a trace as columns: the one description that the dump, the
 * loader and Python's view of a trace all go by. See
 * docs/reference/schemas/dump.schema.json. */
#ifndef FD_TRACE_COLUMNS_H
#define FD_TRACE_COLUMNS_H

#include "trace/trace.h"

typedef enum fd_column_type {
    FD_COLUMN_INDEX, /* uint32_t; 0 is none, -1 outside; others count from 0 */
    FD_COLUMN_TEXT,  /* uint32_t id of a text */
    FD_COLUMN_U8,
    FD_COLUMN_BOOL,
    FD_COLUMN_U32,
    FD_COLUMN_U64, /* above 2^53 a string outside */
    FD_COLUMN_I64, /* sums only, never dumped */
    FD_COLUMN_DOUBLE
} fd_column_type;

typedef struct fd_column {
    const char *name;
    fd_column_type type;
    size_t offset;            /* in the row */
    const char *const *names; /* of the values, where those are a fixed set;
                                 a dump has the numbers, Python the names */
} fd_column;

typedef struct fd_table {
    const char *name;
    const fd_column *columns;
    size_t count;
    size_t row_bytes;
    bool from_one; /* row 0 is "none" and not shown */
} fd_table;

/* Names outside, by number; NULL past the end. */
extern const char *const fd_kind_names[];
extern const char *const fd_from_names[];
extern const char *const fd_phase_names[];
extern const char *const fd_state_names[];
extern const char *const fd_steps_source_names[];
extern const char *const fd_counter_names[]; /* FD_COUNT_USED of them */

extern const fd_table fd_nodes_table;
extern const fd_table fd_modules_table;
extern const fd_table fd_contexts_table;
extern const fd_table fd_figures_table;
extern const fd_table fd_gpu_table;
extern const fd_table fd_threads_table;
extern const fd_table fd_open_table;
extern const fd_table fd_steps_table;
extern const fd_table fd_tops_table;
extern const fd_table fd_jobs_table; /* in no dump */

/* The value of a cell as an unsigned number (indexes as they are inside). */
uint64_t fd_cell(const fd_column *column, const void *row);
void fd_cell_set(const fd_column *column, void *row, uint64_t value);

#endif
