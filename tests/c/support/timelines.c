#include "timelines.h"

#include "trace/canonical_order.h"
#include "trace/reader/recording_reader.h"
#include "trace/trace_merge.h"

static void
put(fixture *f, uint64_t start, uint64_t end, const fd_context *context,
    uint16_t kind)
{
    uint64_t origin = fd_file_header(&f->recording->file)->start.ticks;
    fd_tree_event(f->main, (fd_event){origin + start, end - start,
                                      fd_tree_id(f->main, context), kind, 0});
}

static void
perform(fixture *f)
{
    fd_callee forward = {fixture_function(f, "forward", 0),
                         fd_recording_module(f->recording, 0, "", "GPT"), 0};
    fd_context *work = fd_tree_child(
        f->main, f->main->current,
        &(fd_callee){fixture_node(f, FD_NODE_RANGE, "gloo"), 0, 0});
    work->calls += 2;
    work->flags |= FD_CONTEXT_ASYNC;
    fixture_enter_node(f->main, fixture_function(f, "train", 0));
    fixture_work(10);
    fixture_enter(f->main, forward);
    fixture_work(10);
    fixture_enter_node(f->main, fixture_node(f, FD_NODE_OP, "aten::mm"));
    put(f, 5, 25, work, FD_EVENT_ASYNC);
    fixture_work(10);
    fixture_leave(f->main);
    fixture_work(10);
    fixture_leave(f->main);
    fixture_work(20);
    fixture_enter_node(f->main, fixture_function(f, "\"open\"", 0));
    put(f, 15, 50, work, FD_EVENT_ASYNC);
    fixture_work(30);
    fd_steps_end(&f->steps, f->main, FD_STEPS_ENGINE);
    fixture_work(10);
    fd_tree_tick(f->main, check_clock_now());
}

static fd_status
record(fixture *f, uint32_t rank, bool one_host)
{
    fd_timeline all = {.on = true};
    fd_status status = fixture_open_timeline(f, &all);
    if (status == FD_OK) {
        fd_header *header = fd_file_header(&f->recording->file);
        header->rank = rank;
        header->world = 2;
        header->boot_id[0] = (uint8_t)(one_host ? 7 : 7 + rank);
        header->start.boottime_ns = 5000 + 1000 * rank;
        header->start.realtime_ns = 900000 + 2000 * rank;
        perform(f);
    }
    return status;
}

fd_status
fixture_timeline_file(const char *path, uint32_t rank)
{
    fixture f = {.recording = NULL};
    fd_status status = record(&f, rank, true);
    if (status == FD_OK) {
        status =
            fixture_write(path, f.recording->file.base, fixture_bytes(&f));
    }
    fixture_clear(&f);
    return status;
}

fd_status
fixture_timeline(fd_trace **trace, bool one_host)
{
    fd_trace *ranks[2] = {NULL, NULL};
    fd_status status = FD_OK;
    *trace = fd_trace_new();
    for (uint32_t i = 0; i < 2 && status == FD_OK; i++) {
        fixture f = {.recording = NULL};
        status = *trace != NULL ? record(&f, i, one_host) : FD_ENOMEM;
        if (status == FD_OK) {
            status = fd_reader_read_memory(&ranks[i], f.recording->file.base,
                                           fixture_bytes(&f), true, NULL);
        }
        if (status == FD_OK) {
            status = fd_merge_add(*trace, ranks[i], "rank", NULL);
        }
        fixture_clear(&f);
        fd_trace_free(ranks[i]);
    }
    return status == FD_OK ? fd_trace_sort(*trace) : status;
}
