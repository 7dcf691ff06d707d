/* Rows of structs as an Arrow array: a struct array with a child per column
 * (arrow_schema.h has the types). */
#ifndef FD_ARROW_ARRAY_H
#define FD_ARROW_ARRAY_H

#include "columns/arrow_abi.h"
#include "trace/trace_columns.h"

typedef struct fd_arrow_rows {
    const void *list;
    uint32_t count; /* with row 0, also if the table does not show it */
    const fd_text_pool *texts;
    const uint32_t *rank; /* of all rows; NULL: no column "rank" */
} fd_arrow_rows;

/* Copies the rows. FD_ENOMEM is the only failure; the caller releases it. */
fd_status fd_arrow_array(struct ArrowArray *array, const fd_table *table,
                         const fd_arrow_rows *rows);

#endif
