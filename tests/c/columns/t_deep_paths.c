#include "check.h"
#include "fixtures.h"

#include "columns/deep_paths.h"
#include "columns/rank_reduction.h"

#include <stdio.h>
#include <string.h>

enum { RANKS = 4, LEVELS = 6, ALL = 1000 };

static fd_status
add_figure(fd_trace *trace, const fd_trace_context *like, uint32_t *id)
{
    fd_status status = fd_trace_add_context(trace, like, id);
    fd_figure figure = {.context = *id, .calls = 1, .self = 10};
    return status == FD_OK
             ? fd_vector_push(&trace->ranks.list[0].figures, figure)
             : status;
}

/* Add the backward path of a forward call, and asynchronous work below it. */
static fd_status
add_backward(fd_trace *trace, uint32_t forward)
{
    uint32_t root;
    uint32_t id;
    fd_status status =
        fixture_add(trace, 0, FD_NODE_AUTOGRAD, "Backward0", 1, 10, &root);
    fd_trace_context context = {.parent = root, .origin = forward};
    if (status == FD_OK) {
        context.node = trace->contexts.list[root].node;
        status = add_figure(trace, &context, &id);
    }
    if (status == FD_OK) {
        context = (fd_trace_context){.parent = id,
                                     .node = trace->contexts.list[root].node,
                                     .flags = FD_CONTEXT_ASYNC};
        status = add_figure(trace, &context, &id);
    }
    return status;
}

/* Make a rank with a chain of LEVELS calls that all ranks have, and with
 * `rank` calls that no other rank has, below each of them. */
static fd_status
make_rank(fd_trace **made, uint32_t rank)
{
    char name[32];
    uint32_t parent = 0;
    uint32_t leaf;
    fd_trace *trace = *made = fd_trace_new();
    fd_status status = trace != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t level = 0; level < LEVELS && status == FD_OK; level++) {
        snprintf(name, sizeof name, "aten::level%u", level);
        status = fixture_add(trace, parent, FD_NODE_OP, name, 1, 10, &parent);
        for (uint32_t i = 0; i < rank && status == FD_OK; i++) {
            snprintf(name, sizeof name, "aten::own%u_%u", rank, i);
            status =
                fixture_add(trace, parent, FD_NODE_OP, name, 2, 20, &leaf);
        }
    }
    if (status == FD_OK) {
        trace->ranks.list[0].rank = rank;
        status = add_backward(trace, parent);
    }
    return status;
}

static void
free_all(fd_trace *(*traces)[RANKS])
{
    for (int i = 0; i < RANKS; i++) {
        fd_trace_free((*traces)[i]);
    }
}

static fd_status
reduced(fd_trace **made, fd_trace *const *from, size_t count, uint32_t limit)
{
    const fd_trace *traces[RANKS];
    for (size_t i = 0; i < count; i++) {
        traces[i] = from[i];
    }
    return fd_ranks_reduce(made, traces, count, "{}", limit);
}

static uint64_t
self_of(const fd_trace *trace)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < trace->ranks.list[0].figures.count; i++) {
        sum += trace->ranks.list[0].figures.list[i].self;
    }
    return sum;
}

/* For every limit: the time of all calls is kept, the sum of sums has the
 * bytes of the sum, and a dump loads as it was. */
static void
same_in_any_grouping(void)
{
    CLEAN(free_all) fd_trace *ranks[RANKS] = {NULL};
    CLEAN(fixture_trace_free) fd_trace *whole = NULL;
    for (uint32_t i = 0; i < RANKS; i++) {
        OK(make_rank(&ranks[i], i));
    }
    OK(reduced(&whole, ranks, RANKS, ALL));
    EQUAL(whole->ranks.list[0].deepest, 0);
    for (uint32_t limit = 1; limit < whole->contexts.count; limit++) {
        CLEAN(fixture_trace_free) fd_trace *all = NULL;
        CLEAN(free_all) fd_trace *parts[RANKS] = {NULL};
        CLEAN(fixture_trace_free) fd_trace *sum = NULL;
        CLEAN(fixture_trace_free) fd_trace *loaded = NULL;
        CLEAN(fd_buffer_clear) fd_buffer dump = {.bytes = NULL};
        fd_error error = {""};
        bool same;
        OK(reduced(&all, ranks, RANKS, limit));
        OK(reduced(&parts[0], &ranks[3], 1, limit));
        OK(reduced(&parts[1], ranks, 2, limit));
        OK(reduced(&parts[2], &ranks[2], 1, limit));
        OK(reduced(&sum, parts, 3, limit));
        EQUAL(self_of(all), self_of(whole));
        CHECK(fixture_sound(all));
        OK(fixture_same(all, sum, &same));
        CHECK(same);
        OK(fixture_dump(all, &dump));
        OK(fixture_load(&loaded, dump.bytes, dump.size, &error));
        OK(fixture_same(all, loaded, &same));
        CHECK(same);
        EQUAL(loaded->ranks.list[0].deepest, all->ranks.list[0].deepest);
    }
}

/* The deepest calls are below the nearest caller that is kept; a backward path
 * is as deep as its forward call. */
static void
counted_below_the_caller(void)
{
    CLEAN(free_all) fd_trace *ranks[RANKS] = {NULL};
    CLEAN(fixture_trace_free) fd_trace *sum = NULL;
    OK(make_rank(&ranks[0], 2));
    /* 2 roots, 3 calls each on levels 1 and 2 */
    OK(reduced(&sum, ranks, 1, 8));
    const fd_trace_rank *rank = &sum->ranks.list[0];
    EQUAL(rank->deepest, 3);
    uint32_t last = fixture_find(sum, "aten::level2");
    uint32_t deep = fixture_find(sum, "<deep>");
    CHECK(last != 0 && deep != 0);
    EQUAL(fixture_find(sum, "aten::level3"), 0);
    uint32_t async = fixture_find(sum, "<deep asynchronous>");
    EQUAL(sum->contexts.list[async].parent, fixture_find(sum, "Backward0"));
    EQUAL(fixture_figure(sum, 0, async).self, 10);
    CHECK((sum->contexts.list[async].flags & FD_CONTEXT_ASYNC) != 0);
    for (uint32_t i = 0; i < rank->spreads.count; i++) {
        CHECK(rank->spreads.list[i].context != deep);
        CHECK(rank->spreads.list[i].context != async);
    }
}

RUN(TEST(same_in_any_grouping), TEST(counted_below_the_caller))
