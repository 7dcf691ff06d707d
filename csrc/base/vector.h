/* Growing arrays of plain structs. The only container that consists of macros.
 *
 *     FD_VECTOR(int) numbers = {NULL, 0, 0};
 *     if (fd_vector_push(&numbers, 42) != FD_OK) ...
 *     numbers.list[i], i < numbers.count
 *     fd_vector_clear(&numbers);
 */
#ifndef FD_VECTOR_H
#define FD_VECTOR_H

#include "base/alloc.h"
#include "base/status.h"

#include <stdint.h>

#define FD_VECTOR(type) \
    struct { \
        type *list; /* owned */ \
        uint32_t count; \
        uint32_t capacity; \
    }

/* Reserve capacity for `more` elements; evaluates to a status. */
#define fd_vector_reserve(vector, more) \
    fd_vector_grow((void **)&(vector)->list, (vector)->count, \
                   &(vector)->capacity, sizeof *(vector)->list, (more))

#define fd_vector_push(vector, ...) \
    ((fd_status)(fd_vector_reserve((vector), 1) == FD_OK \
                     ? ((vector)->list[(vector)->count++] = (__VA_ARGS__), \
                        FD_OK) \
                     : FD_ENOMEM))

#define fd_vector_clear(vector) \
    (fd_free((vector)->list), (vector)->list = NULL, (vector)->count = 0, \
     (vector)->capacity = 0)

fd_status fd_vector_grow(void **list, uint32_t count, uint32_t *capacity,
                         size_t size, size_t more);

/* Sort with a comparison function for qsort. Safe for an empty vector, whose
 * list may be NULL. */
#define fd_vector_sort(vector, compare) \
    fd_sort((vector)->list, (vector)->count, sizeof *(vector)->list, (compare))

void fd_sort(void *list, size_t count, size_t size,
             int (*compare)(const void *, const void *));

/* Set `low` to the first index below `high` for which `before`, an expression
 * with `middle`, is false, or to `high`. The list is sorted accordingly. */
#define FD_BISECT(low, high, before) \
    while ((low) < (high)) { \
        uint32_t middle = (low) + ((high) - (low)) / 2; \
        if (before) { \
            (low) = middle + 1; \
        } \
        else { \
            (high) = middle; \
        } \
    }

/* Compare two numbers; evaluates to -1, 0 or 1. */
#define FD_ORDER(a, b) ((a) == (b) ? 0 : (a) < (b) ? -1 : 1)

#endif
