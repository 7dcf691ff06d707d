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

/* Arrays that own their buffers, and their texts. */

enum { FD_ARROW_BUFFERS = 3 };

/* An empty array with `count` buffers and `children` children, all unset.
 * FD_ENOMEM is the only failure; the array is released then. */
fd_status fd_arrow_begin(struct ArrowArray *array, int64_t length, int count,
                         size_t children);

/* Allocate one buffer of at least `size` bytes, zeroed; NULL without memory.
 * The array owns it. */
void *fd_arrow_buffer(struct ArrowArray *array, int index, size_t size);

/* The value of a row in a text column, without a copy. */
typedef const char *fd_arrow_text(const void *context, uint32_t row,
                                  size_t *size);

/* An array of UTF-8 texts, a copy. */
fd_status fd_arrow_texts(struct ArrowArray *array, uint32_t count,
                         fd_arrow_text *text, const void *context);

#endif
