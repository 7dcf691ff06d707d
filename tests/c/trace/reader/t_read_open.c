#include "check.h"
#include "fixtures.h"

#include "trace/reader/recording_reader.h"

static fd_status
read_part(fd_trace **trace, fd_trace_part part)
{
    return fd_reader_read_steps(trace, "open.fd", part, false, NULL, NULL);
}

static void
add_child(fixture *f, uint8_t kind, const char *name, uint32_t origin)
{
    fd_callee callee = {fixture_node(f, kind, name), 0, origin};
    fd_context *context = fd_tree_child(f->main, f->main->root, &callee);
    context->calls += 3;
    context->self += 5;
}

/* A live recording: one call is open, others have ended. */
static fd_status
record(fixture *f)
{
    fd_status status = fixture_open(f, "open.fd", 4);
    if (status == FD_OK) {
        add_child(f, FD_NODE_OP, "ended", 0);
        add_child(f, FD_NODE_OP, "c10d::allreduce_", 0);
        add_child(f, FD_NODE_PYTHON, "c10d::is_a_function", 0);
        fd_context *outer =
            fixture_enter_node(f->main, fixture_node(f, FD_NODE_OP, "outer"));
        fixture_work(40);
        uint32_t inner = fixture_node(f, FD_NODE_OP, "inner");
        fixture_enter(f->main,
                      (fd_callee){inner, 0, fd_tree_id(f->main, outer)});
        fixture_work(2);
        fd_tree_tick(f->main, check_clock_now());
    }
    return status;
}

ABSORBS(contexts_of_open_calls)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fixture_trace_free) fd_trace *whole = NULL;
    OK(record(&f));
    OK(read_part(&trace, FD_PART_OPEN_CALLS));
    OK(read_part(&whole, FD_PART_FIGURES));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    const fd_trace_rank *other = &whole->ranks.list[0];
    EQUAL(rank->open.count, 2);
    for (uint32_t i = 0; i < rank->open.count; i++) {
        EQUAL(rank->open.list[i].age, other->open.list[i].age);
    }
    EQUAL(rank->open.list[0].context, fixture_find(trace, "outer"));
    EQUAL(rank->open.list[1].context, fixture_find(trace, "inner"));
    EQUAL(trace->contexts.list[fixture_find(trace, "inner")].origin,
          fixture_find(trace, "outer"));
    EQUAL(fixture_find(trace, "ended"), 0);
    CHECK(fixture_find(whole, "ended") != 0);
    FIELDS(rank, (recorded, other->recorded), (notes.count, 0));
}

ABSORBS(collectives_have_totals)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(record(&f));
    OK(read_part(&trace, FD_PART_OPEN_CALLS));
    uint32_t found = fixture_find(trace, "c10d::allreduce_");
    EQUAL(fixture_figure(trace, 0, found).calls, 3);
    EQUAL(fixture_figure(trace, 0, found).self, 5);
    EQUAL(fixture_find(trace, "c10d::is_a_function"), 0);
}

ABSORBS(totals_are_those_of_all_parts)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fixture_trace_free) fd_trace *whole = NULL;
    OK(record(&f));
    OK(read_part(&trace, FD_PART_TOTALS));
    OK(read_part(&whole, FD_PART_FIGURES));
    FIELDS(trace, (contexts.count, whole->contexts.count),
           (ranks.list[0].figures.count, whole->ranks.list[0].figures.count));
    for (uint32_t i = 0; i < whole->ranks.list[0].figures.count; i++) {
        fd_figure a = trace->ranks.list[0].figures.list[i];
        fd_figure b = whole->ranks.list[0].figures.list[i];
        CHECK(a.context == b.context && a.calls == b.calls
              && a.self == b.self);
    }
}
