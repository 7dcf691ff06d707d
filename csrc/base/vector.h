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
#define FD_ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

/* Define a comparison function for qsort, of numbers or of structs: by one to
 * four fields, such as FD_ORDER_BY(by_start, step, rank, start). */
#define FD_ORDER_OF(name, type) \
    static int name(const void *left, const void *right) \
    { \
        return FD_ORDER(*(const type *)left, *(const type *)right); \
    }

#define FD_ORDER_BY(name, type, ...) \
    static int name(const void *left, const void *right) \
    { \
        const type *one = left; \
        const type *other = right; \
        return FD_ORDER_CHOOSE(__VA_ARGS__, FD_ORDER_4, FD_ORDER_3, \
                               FD_ORDER_2, FD_ORDER_1)(__VA_ARGS__); \
    }

/* Parts of FD_ORDER_BY: choose by the number of fields; compare each field if
 * the fields before it are equal. */
#define FD_ORDER_CHOOSE(a, b, c, d, chosen, ...) chosen
#define FD_ORDER_1(a) FD_ORDER(one->a, other->a)
#define FD_ORDER_2(a, b) (FD_ORDER_1(a) != 0 ? FD_ORDER_1(a) : FD_ORDER_1(b))
#define FD_ORDER_3(a, ...) \
    (FD_ORDER_1(a) != 0 ? FD_ORDER_1(a) : FD_ORDER_2(__VA_ARGS__))
#define FD_ORDER_4(a, ...) \
    (FD_ORDER_1(a) != 0 ? FD_ORDER_1(a) : FD_ORDER_3(__VA_ARGS__))

#endif
