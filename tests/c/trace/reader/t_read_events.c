#include "check.h"
#include "timelines.h"

#include "trace/reader/recording_reader.h"

ABSORBS(only_on_request)
{
    FIXTURE_TIMELINE(f, .on = true);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    fixture_enter_node(f.main, fixture_function(&f, "a", 0));
    fixture_leave(f.main);
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].events.count, 0);
    EQUAL(trace->ranks.list[0].threads.list[0].events, 1);
}

/* Written over a weaker source's steps; of an invalid kind and of an invalid
 * context. */
ABSORBS(ignored_events)
{
    FIXTURE_TIMELINE(f, .on = true);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    fixture_work(5);
    fd_steps_end(&f.steps, f.main, FD_STEPS_OPTIMIZER);
    fixture_work(5);
    fd_steps_end(&f.steps, f.main, FD_STEPS_EXPLICIT);
    fd_tree_event(f.main, (fd_event){0, 0, 12345, FD_EVENT_CALL, 0});
    fd_tree_event(f.main,
                  (fd_event){0, 0, fd_tree_id(f.main, f.main->root), 99, 0});
    OK(fixture_reload_timeline(&f, &trace));
    FIELDS(&trace->ranks.list[0], (events.count, 1),
           (events.list[0].duration, 10), (threads.list[0].events_lost, 2));
}

/* As torch.profiler numbers calls: each after the call it is of. */
ABSORBS(numbers_of_calls)
{
    FIXTURE_TIMELINE(f, .on = true);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    uint32_t node = fixture_function(&f, "a", 0);
    for (uint64_t i = 0; i < 3; i++) {
        fixture_enter_node(f.main, node);
        fd_event number = {f.main->stack[0].start + (i == 1), 70 + i,
                           f.main->stack[0].context, FD_EVENT_RECORD, 0};
        fixture_work(5);
        fixture_leave(f.main);
        fd_tree_event(f.main, number);
    }
    OK(fixture_reload_timeline(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    FIELDS(rank, (events.count, 3), (threads.list[0].events, 3));
    EQUAL(fd_trace_record_id(rank, 0), 70);
    EQUAL(fd_trace_record_id(rank, 1), 0); /* of a call that is not there */
    EQUAL(fd_trace_record_id(rank, 2), 72);
    EQUAL(fd_trace_record_id(rank, 3), 0);
}

ABSORBS(chunks_in_their_order)
{
    FIXTURE_TIMELINE(f, .on = true, .overwrites = true,
                     .max_bytes = 24 * 1024);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    uint32_t node = fixture_function(&f, "a", 0);
    for (int i = 0; i < 1100; i++) {
        fixture_call(f.main, node, 1);
    }
    OK(fixture_reload_timeline(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    CHECK(rank->events.count > 700);
    EQUAL(rank->events.count + rank->threads.list[0].events_lost, 1100);
    for (uint32_t i = 0; i < rank->events.count; i++) {
        EQUAL(rank->events.list[i].start, 1100 - rank->events.count + i);
    }
}
