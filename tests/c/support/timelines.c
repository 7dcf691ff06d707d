#include "timelines.h"

#include "events/readers/chrome_scan.h"
#include "events/writers/chrome_writer.h"
#include "trace/canonical_order.h"
#include "trace/reader/recording_reader.h"
#include "trace/trace_merge.h"

#include <string.h>

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
    fd_then(status,
            fixture_write(path, f.recording->file.base, fixture_bytes(&f)));
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
        fd_then(status,
                fd_reader_read_memory(&ranks[i], f.recording->file.base,
                                      fixture_bytes(&f), true, NULL));
        fd_then(status, fixture_merge(*trace, ranks[i], "rank", NULL));
        fixture_clear(&f);
        fd_trace_free(ranks[i]);
    }
    return status == FD_OK ? fd_trace_sort(*trace) : status;
}

fd_status
fixture_event(const char *text, fd_timeline_event *event)
{
    fd_scan scan = {.at = NULL};
    fd_buffer rest = {.bytes = NULL};
    fd_scan_begin(&scan, text, text + strlen(text));
    fd_scan_result result = fd_chrome_scan(&scan, event, &rest);
    event->rest = (fd_span){NULL, NULL};
    fd_buffer_clear(&rest);
    fd_scan_clear(&scan);
    return result == FD_SCAN_OK     ? FD_OK
         : result == FD_SCAN_ENOMEM ? FD_ENOMEM
                                    : FD_EINVAL;
}

bool
fixture_kind(void *context, fd_span subject, fd_slice_kind *kind)
{
    static const struct {
        const char *begin;
        fd_slice_kind kind;
    } kinds[] = {
        {"job", {FD_IS_JOB, 0, FD_NO_STEP, 2}},
        {"kernel",
         {FD_IS_KERNEL,
          FD_ROW_KERNEL | FD_ROW_DEVICE | FD_ROW_PROFILED | FD_ROW_WORK,
          FD_NO_STEP, 0}},
        {"step", {FD_IS_STEP, FD_ROW_STEP, 3, 0}},
    };
    (void)context;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(subject.from, kinds[i].begin) == 0) {
            *kind = kinds[i].kind;
        }
    }
    if (memmem(subject.from, fd_span_size(subject), "\0gloo:", 6) != NULL) {
        kind->kind = FD_IS_COMMUNICATION;
    }
    return true;
}

static void
print_item(fd_span key, fd_span value, const fd_timeline_event *event,
           fd_buffer *to)
{
    if (key.from != NULL) {
        fd_buffer_bytes(to, key.from, fd_span_size(key));
        fd_buffer_text(to, ":");
        fd_buffer_bytes(to, value.from, fd_span_size(value));
    }
    else {
        fd_chrome_print(event, to);
    }
    fd_buffer_text(to, "\n");
}

void
fixture_print(const fd_event_batch *batch, fd_buffer *to)
{
    for (uint32_t i = 0; i < batch->items.count; i++) {
        const fd_batch_item *item = &batch->items.list[i];
        print_item(item->key, item->value, &item->event, to);
    }
}

fd_status
fixture_items(const char *path, fd_buffer *to, fd_timeline_reader *reader)
{
    fd_timeline_item item;
    fd_status status = fd_timeline_reader_open(reader, path, NULL);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(reader)) != FD_TIMELINE_END) {
        fd_span key =
            item == FD_TIMELINE_MEMBER ? reader->key : (fd_span){NULL, NULL};
        print_item(key, reader->value, &reader->event, to);
    }
    return status != FD_OK         ? status
         : reader->status != FD_OK ? reader->status
                                   : to->status;
}

fd_status
fixture_join(fd_buffer *to, const char *between, const char *const *texts,
             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fd_buffer_text(to, i == 0 ? "" : between);
        fd_buffer_text(to, texts[i]);
    }
    fd_buffer_bytes(to, "", 1);
    to->size -= to->status == FD_OK;
    return to->status;
}

fd_status
fixture_write_list(const char *path, const char *head,
                   const char *const *texts, size_t count)
{
    fd_buffer text = {.bytes = NULL};
    fd_buffer_text(&text, head);
    fd_status status = fixture_join(&text, ",", texts, count);
    fd_then(status, fixture_write(path, text.bytes, text.size));
    fd_buffer_clear(&text);
    return status;
}

fd_status
fixture_merge(fd_trace *into, const fd_trace *from, const char *name,
              fd_error *error)
{
    fd_merge_ids ids = {.texts = NULL};
    fd_trace *copy = fd_trace_new();
    fd_status status =
        copy != NULL ? fd_merge_shared(copy, from, &ids) : FD_ENOMEM;
    fd_then(status, fd_merge_ranks(copy, from, &ids));
    fd_then(status, fd_merge_take(into, copy, name, error));
    fd_arena_clear(&ids.arena);
    fd_trace_free(copy);
    return status;
}
