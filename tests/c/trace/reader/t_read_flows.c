#include "check.h"
#include "fixtures.h"

#include "trace/reader/recording_reader.h"

/* aten::mul 0 .. 10 makes MulBackward0 30 .. 40, whose arrow begins at
 * `from`. */
static fd_status
recorded(fixture *f, uint64_t from, fd_trace **trace)
{
    fd_status status = fixture_open_timeline(f, &(fd_timeline){.on = true});
    if (status != FD_OK) {
        return status;
    }
    uint64_t origin = fd_file_header(&f->recording->file)->start.ticks;
    const fd_context *forward =
        fixture_call(f->main, fixture_node(f, FD_NODE_OP, "aten::mul"), 10);
    fixture_work(20);
    fd_callee backward = {fixture_node(f, FD_NODE_AUTOGRAD, "MulBackward0"), 0,
                          fd_tree_id(f->main, forward)};
    const fd_context *node = fixture_enter(f->main, backward);
    fd_tree_event(f->main,
                  (fd_event){f->main->record->last, origin + from,
                             fd_tree_id(f->main, node), FD_EVENT_FLOW, 0});
    fixture_work(10);
    fixture_leave(f->main);
    return fixture_reload_timeline(f, trace);
}

ABSORBS(ties_two_calls)
{
    CLEAN(fixture_clear) fixture f = {.recording = NULL};
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(recorded(&f, 0, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    FIELDS(rank, (events.count, 2), (threads.list[0].events, 2),
           (flows.count, 1), (flows.list[0].from, 0), (flows.list[0].to, 1),
           (flows_lost, 0));
}

ABSORBS(without_an_end_it_is_counted)
{
    CLEAN(fixture_clear) fixture f = {.recording = NULL};
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(recorded(&f, 3, &trace));
    FIELDS(&trace->ranks.list[0], (events.count, 2), (flows.count, 0),
           (flows_lost, 1));
}
