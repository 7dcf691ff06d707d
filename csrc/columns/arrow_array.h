/* Conversion of rows of structs to an Arrow array: a struct array with a child
 * per column (arrow_schema.h has the types). */
#ifndef FD_ARROW_ARRAY_H
#define FD_ARROW_ARRAY_H

#include "columns/arrow_abi.h"
#include "trace/trace_columns.h"

typedef struct fd_arrow_rows {
    const void *list;
    uint32_t count; /* including row 0, also if the table does not show it */
    const fd_text_pool *texts;
    const uint32_t *rank; /* rank of all rows; NULL: the table has no column
                           * "rank" */
} fd_arrow_rows;

/* Make the array, with a copy of the rows. FD_ENOMEM is the only failure. The
 * caller releases the array. */
fd_status fd_arrow_array(struct ArrowArray *array, const fd_table *table,
                         const fd_arrow_rows *rows);

#endif
