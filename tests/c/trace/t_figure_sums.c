#include "check.h"
#include "fixtures.h"

#include "trace/figure_sums.h"

static fd_status
add_rank(fd_trace *trace, uint32_t context, uint64_t calls)
{
    fd_trace_rank *rank = fd_trace_add_rank(trace);
    fd_figure figure = {
        .context = context, .calls = calls, .self = 10 * calls};
    return rank == NULL ? FD_ENOMEM : fd_vector_push(&rank->figures, figure);
}

static fd_status
add_context(fd_trace *trace, const char *name, uint32_t *id)
{
    fd_trace_node node = {.kind = FD_NODE_OP};
    fd_trace_context context = {.parent = 0};
    fd_status status = fixture_text(trace, name, &node.name);
    fd_then(status, fd_trace_add_node(trace, &node, &context.node));
    return status == FD_OK ? fd_trace_add_context(trace, &context, id)
                           : status;
}

/* The first rank has the sums of all ranks, in the order of contexts, and a
 * context that is added later counts too. */
ABSORBS(sums_are_in_the_first_rank)
{
    NEW_TRACE(trace);
    CLEAN(fd_figure_sums_clear) fd_figure_sums sums = {.ranks = 0};
    uint32_t first;
    uint32_t second;
    OK(add_context(trace, "first", &first));
    OK(add_rank(trace, first, 3));
    OK(fd_figure_sums_add(&sums, trace));
    EQUAL(trace->ranks.list[0].figures.count, 0);
    OK(add_context(trace, "second", &second));
    OK(add_rank(trace, second, 5));
    OK(add_rank(trace, first, 4));
    OK(fd_figure_sums_add(&sums, trace));
    fd_figure_sums_move(&sums, trace);
    const fd_trace_rank *ranks = trace->ranks.list;
    FIELDS(&ranks[0].figures, (count, 2), (list[0].context, first),
           (list[0].calls, 7), (list[0].self, 70), (list[1].context, second),
           (list[1].calls, 5));
    EQUAL(ranks[1].figures.count + ranks[2].figures.count, 0);
}

ABSORBS(no_ranks)
{
    NEW_TRACE(trace);
    CLEAN(fd_figure_sums_clear) fd_figure_sums sums = {.ranks = 0};
    OK(fd_figure_sums_add(&sums, trace));
    fd_figure_sums_move(&sums, trace);
    EQUAL(sums.figures.count, 0);
}
