#include "pipeline/planner/time_order.h"

#include "base/alloc.h"

#include <stdlib.h>

typedef struct timed {
    double time;
    uint32_t index;
} timed;

static int
compare(const void *a, const void *b)
{
    const timed *x = a;
    const timed *y = b;
    int order = (x->time > y->time) - (x->time < y->time);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

fd_status
fd_time_order(uint32_t *order, const double *times, uint32_t count)
{
    timed *list = fd_calloc((size_t)count + 1, sizeof *list);
    if (list == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i] = (timed){times[i], i};
    }
    qsort(list, count, sizeof *list, compare);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = list[i].index;
    }
    fd_free(list);
    return FD_OK;
}
