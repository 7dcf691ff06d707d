#include "check.h"
#include "fixtures.h"

ABSORBS(open_calls)
{
    FIXTURE_AND_TRACE(f, trace);
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "outer"));
    fixture_work(40);
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "inner"));
    fixture_work(2);
    fd_tree_tick(f.main, check_clock_now());
    f.main->stack[2] = f.main->stack[1];
    f.main->stack[2].flags |= FD_ENTRY_CONTRACTED;
    f.main->record->depth = 3;
    OK(fixture_reload(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->open.count, 2);
    EQUAL(rank->open.list[0].context, fixture_find(trace, "outer"));
    EQUAL(rank->open.list[0].age, 42);
    EQUAL(rank->open.list[1].age, 2);
    EQUAL(rank->open.list[1].thread, 0);
    EQUAL(rank->threads.list[0].covered, 42);
    EQUAL(rank->threads.list[0].self, 42);
    CHECK(rank->threads.list[0].running);
}

/* A thread that has ended has nothing open. */
ABSORBS(released_threads)
{
    FIXTURE_AND_TRACE(f, trace);
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
    fixture_work(7);
    fd_tree_release(f.main);
    f.main->record->depth = 1;
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 0);
    CHECK(!trace->ranks.list[0].threads.list[0].running);
    EQUAL(trace->ranks.list[0].threads.list[0].covered, 7);
}

/* Stacks that cannot be: outside the file, at odd places, too deep. */
ABSORBS(damaged_stacks)
{
    FIXTURE(f, NULL, 4);
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
    fd_thread_record *record = f.main->record;
    uint64_t places[] = {0, 64, record->stack + 1, fixture_bytes(&f) - 8,
                         UINT64_MAX - 8};
    uint64_t saved = record->stack;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CLEAN(fixture_trace_free) fd_trace *trace = NULL;
        record->stack = places[i];
        OK(fixture_reload(&f, &trace));
        EQUAL(trace->ranks.list[0].open.count, 0);
    }
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    record->stack = saved;
    record->depth = UINT32_MAX;
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 0);
}
