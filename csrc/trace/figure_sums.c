#include "trace/figure_sums.h"

#include <string.h>

/* Reserve space for all contexts of a trace. */
static fd_status
grow_sums(fd_figure_sums *sums, uint32_t contexts)
{
    uint32_t count = sums->figures.count;
    if (contexts <= count) {
        return FD_OK;
    }
    fd_status status = fd_vector_reserve(&sums->figures, contexts - count);
    if (status == FD_OK) {
        memset(&sums->figures.list[count], 0,
               (contexts - count) * sizeof *sums->figures.list);
        sums->figures.count = contexts;
    }
    return status;
}

fd_status
fd_figure_sums_add(fd_figure_sums *sums, fd_trace *trace)
{
    fd_status status = grow_sums(sums, trace->contexts.count);
    for (; sums->ranks < trace->ranks.count && status == FD_OK;
         sums->ranks++) {
        fd_trace_rank *rank = &trace->ranks.list[sums->ranks];
        for (uint32_t i = 0; i < rank->figures.count; i++) {
            const fd_figure *figure = &rank->figures.list[i];
            fd_figure_add(&sums->figures.list[figure->context], figure);
        }
        fd_vector_clear(&rank->figures);
    }
    return status;
}

void
fd_figure_sums_move(fd_figure_sums *sums, fd_trace *trace)
{
    uint32_t kept = 0;
    fd_figure *list = sums->figures.list;
    for (uint32_t i = 1; i < sums->figures.count; i++) {
        if (list[i].calls + list[i].resumes + list[i].self > 0) {
            list[i].context = i;
            list[kept++] = list[i];
        }
    }
    sums->figures.count = kept;
    if (trace->ranks.count > 0) {
        fd_trace_rank *first = &trace->ranks.list[0];
        fd_vector_clear(&first->figures);
        first->figures.list = list;
        first->figures.count = kept;
        first->figures.capacity = sums->figures.capacity;
        sums->figures.list = NULL;
    }
    fd_figure_sums_clear(sums);
}

void
fd_figure_sums_clear(fd_figure_sums *sums)
{
    fd_vector_clear(&sums->figures);
    sums->ranks = 0;
}
