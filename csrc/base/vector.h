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

/* Return the next capacity with room for `more` elements, or 0 if indexes of
 * 32 bits do not suffice. */
uint32_t fd_vector_capacity(uint32_t count, uint32_t capacity, size_t more);

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

/* Define a comparison function for qsort: of numbers; of structs by one to four
 * fields, such as FD_ORDER_BY(by_start, step, rank, start); of structs by one
 * to four orders, such as FD_ORDER_AS(by_time, step, FD_UP(rank),
 * FD_DOWN(end)); of pointers to structs, as FD_ORDER_AS. Orders may use the
 * pointers `one` and `other`. */
#define FD_ORDER_OF(name, type) \
    static int name(const void *left, const void *right) \
    { \
        return FD_ORDER(*(const type *)left, *(const type *)right); \
    }

#define FD_ORDER_BY(name, type, ...) \
    FD_COMPARISON(name, type, left, right, \
                  FD_CHOOSE_4(__VA_ARGS__, FD_FIELDS_4, FD_FIELDS_3, \
                              FD_FIELDS_2, FD_UP)(__VA_ARGS__))

#define FD_ORDER_AS(name, type, ...) \
    FD_COMPARISON(name, type, left, right, FD_FIRST_OF(__VA_ARGS__))

#define FD_ORDER_POINTERS(name, type, ...) \
    FD_COMPARISON(name, type, *(const type *const *)left, \
                  *(const type *const *)right, FD_FIRST_OF(__VA_ARGS__))

/* Orders of the two structs by a field. */
#define FD_UP(field) FD_ORDER(one->field, other->field)
#define FD_DOWN(field) FD_ORDER(other->field, one->field)

/* Parts of these macros: the function; the choice by the number of arguments;
 * the order by fields; the first order that is not 0. */
#define FD_COMPARISON(name, type, first, second, order) \
    static int name(const void *left, const void *right) \
    { \
        const type *one = first; \
        const type *other = second; \
        return order; \
    }
#define FD_CHOOSE_4(a, b, c, d, chosen, ...) chosen
#define FD_FIELDS_2(a, b) FD_FIRST_2(FD_UP(a), FD_UP(b))
#define FD_FIELDS_3(a, ...) FD_FIRST_2(FD_UP(a), FD_FIELDS_2(__VA_ARGS__))
#define FD_FIELDS_4(a, ...) FD_FIRST_2(FD_UP(a), FD_FIELDS_3(__VA_ARGS__))
#define FD_FIRST_OF(...) \
    FD_CHOOSE_4(__VA_ARGS__, FD_FIRST_4, FD_FIRST_3, FD_FIRST_2, FD_FIRST_1) \
    (__VA_ARGS__)
#define FD_FIRST_1(a) (a)
#define FD_FIRST_2(a, b) ((a) != 0 ? (a) : (b))
#define FD_FIRST_3(a, ...) FD_FIRST_2(a, FD_FIRST_2(__VA_ARGS__))
#define FD_FIRST_4(a, ...) FD_FIRST_2(a, FD_FIRST_3(__VA_ARGS__))

#endif
