/* Structs described by tables of their fields. Arrow streams, the conversion to
 * Python objects (module/field_tables.h), and there the reader and the writer
 * of dumps use these tables; docs/reference/schemas/dump.schema.json describes
 * them. */
#ifndef FD_TRACE_COLUMNS_H
#define FD_TRACE_COLUMNS_H

#include "trace/trace.h"

typedef enum fd_column_type {
    FD_COLUMN_INDEX,   /* uint32_t; one less in files and Python: -1 for
                      * "none" */
    FD_COLUMN_CONTEXT, /* the same, of a context */
    FD_COLUMN_TEXT,    /* uint32_t id of a text */
    FD_COLUMN_U8,
    FD_COLUMN_BOOL,
    FD_COLUMN_U32,
    FD_COLUMN_U64,         /* a string in JSON if above 2^53 */
    FD_COLUMN_U64_OR_NONE, /* uint64_t, plus 1; 0: null in JSON, Python None */
    FD_COLUMN_DOUBLE,
    /* the following are not dumped */
    FD_COLUMN_I32,
    FD_COLUMN_I64,
    FD_COLUMN_U16,
    FD_COLUMN_CHARS,      /* char[], with a NUL */
    FD_COLUMN_STRING,     /* const char *, with a NUL */
    FD_COLUMN_I64_OR_NONE /* int64_t; Python None if negative */
} fd_column_type;

typedef struct fd_column {
    const char *name;
    fd_column_type type;
    size_t offset;            /* in the row */
    size_t bytes;             /* there */
    const char *const *names; /* names of the values of an enumeration; dumps
                               * have the numbers, Python the names */
    const char *unit;         /* "ns", "ns^2", "bytes"; or NULL */
    bool newer;               /* earlier dumps do not have it: 0 */
} fd_column;

typedef struct fd_table {
    const char *name;
    const fd_column *columns;
    size_t count;
    size_t row_bytes;
    bool from_one; /* row 0 is "none" and is not shown */
} fd_table;

/* Initializers of columns, such as FD_COLUMN(fd_edge, "calls", U64, calls); of
 * columns with a unit or an enumeration; of tables. */
#define FD_COLUMN_OF(struct_type, name, type, field, names, unit, newer) \
    { \
        name, FD_COLUMN_##type, offsetof(struct_type, field), \
            sizeof(((struct_type *)0)->field), names, unit, newer \
    }
#define FD_COLUMN(struct_type, name, type, field) \
    FD_COLUMN_OF(struct_type, name, type, field, NULL, NULL, false)
#define FD_COLUMN_IN(unit, struct_type, name, type, field) \
    FD_COLUMN_OF(struct_type, name, type, field, NULL, unit, false)
#define FD_COLUMN_OF_NAMES(struct_type, name, type, field, names) \
    FD_COLUMN_OF(struct_type, name, type, field, names, NULL, false)
#define FD_NEWER_COLUMN(unit, struct_type, name, type, field) \
    FD_COLUMN_OF(struct_type, name, type, field, NULL, unit, true)
#define FD_TABLE(name, columns, row, from_one) \
    { \
        name, columns, sizeof(columns) / sizeof *(columns), sizeof(row), \
            from_one \
    }

/* Names of enumerations; the lists end with NULL. */
extern const char *const fd_kind_names[];
extern const char *const fd_from_names[];
extern const char *const fd_phase_names[];
extern const char *const fd_state_names[];
extern const char *const fd_steps_source_names[];
extern const char *const fd_counter_names[]; /* FD_COUNT_USED names */

extern const fd_table fd_nodes_table;
extern const fd_table fd_modules_table;
extern const fd_table fd_contexts_table;
extern const fd_table fd_figures_table;
extern const fd_table fd_gpu_table;
extern const fd_table fd_measures_table;
extern const fd_table fd_threads_table;
extern const fd_table fd_live_table; /* of the same rows, while they run */
extern const fd_table fd_marks_table;
extern const fd_table fd_settled_from_table; /* of the settled steps */
extern const fd_table fd_settled_to_table;
extern const fd_table fd_open_table;
extern const fd_table fd_steps_table;
extern const fd_table fd_tops_table;
extern const fd_table fd_spreads_table; /* of a sum of ranks */
extern const fd_table fd_jobs_table;    /* not in dumps, like the next */
extern const fd_table fd_facts_table;

/* Fields of a rank: those of all ranks, those that dumps state only if they
 * are not 0, its start, and those of a sum of ranks. */
extern const fd_table fd_rank_fields;
extern const fd_table fd_sparse_fields;
extern const fd_table fd_start_fields;
extern const fd_table fd_reduced_fields;

/* Return whether each row is of one context, its first member. */
static inline bool
fd_table_is_keyed(const fd_table *table)
{
    return table->count > 0 && table->columns[0].type == FD_COLUMN_CONTEXT
        && table->columns[0].offset == 0;
}

/* A table of a rank. */
typedef struct fd_rank_table {
    const fd_table *table;
    size_t offset; /* of its vector in fd_trace_rank */
} fd_rank_table;

/* Every vector of fd_trace_rank. */
enum { FD_RANK_TABLES = 19 };
extern const fd_rank_table fd_rank_tables[FD_RANK_TABLES];

/* Any vector of fd_trace_rank. */
typedef struct __attribute__((may_alias)) fd_rank_list {
    void *list;
    uint32_t count;
    uint32_t capacity;
} fd_rank_list;

static inline fd_rank_list *
fd_rank_rows(const fd_trace_rank *rank, int table)
{
    return (fd_rank_list *)(uintptr_t)((const char *)rank
                                       + fd_rank_tables[table].offset);
}

/* Return the rows of a table of a rank; NULL for a table of no rank. */
fd_rank_list *fd_rank_rows_of(const fd_trace_rank *rank,
                              const fd_table *table);

/* Call `see` for each id of a type (FD_COLUMN_CONTEXT, FD_COLUMN_TEXT) in rows,
 * or in all tables of a rank, also in its events. */
typedef void fd_visit(uint32_t *id, void *context);
void fd_table_visit(const fd_table *table, void *rows, uint32_t count,
                    fd_column_type type, fd_visit *see, void *context);
void fd_rank_visit(fd_trace_rank *rank, fd_column_type type, fd_visit *see,
                   void *context);

/* Replace an id by that in a list of new ids. */
void fd_visit_renumber(uint32_t *id, void *ids);

/* Return the column with this name, or NULL. */
const fd_column *fd_column_named(const fd_table *table, const char *name);

/* Return the size of a number in the struct; 0 for FD_COLUMN_CHARS and
 * FD_COLUMN_STRING. */
size_t fd_cell_bytes(const fd_column *column);

/* Return the value of a cell as an unsigned number, as stored in the struct; 0
 * for FD_COLUMN_CHARS and FD_COLUMN_STRING. */
uint64_t fd_cell(const fd_column *column, const void *row);
void fd_cell_set(const fd_column *column, void *row, uint64_t value);

#endif
