/* Arrays that own their buffers, and their texts. */
#ifndef FD_ARROW_MEMORY_H
#define FD_ARROW_MEMORY_H

#include "columns/arrow_abi.h"
#include "trace/trace_columns.h"

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
