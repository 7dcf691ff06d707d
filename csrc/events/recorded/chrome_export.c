#include "events/recorded/timeline_exports.h"

#include "events/recorded/chrome_head.h"
#include "events/recorded/slice_names.h"
#include "events/recorded/trace_events.h"
#include "events/writers/chrome_writer.h"

static void
print_all(const fd_event_batch *batch, bool *any, fd_buffer *to)
{
    for (uint32_t i = 0; i < batch->items.count; i++) {
        const fd_batch_item *item = &batch->items.list[i];
        if (item->key.from == NULL) {
            fd_buffer_text(to, *any ? ",\n" : "\n");
            fd_chrome_print(&item->event, to);
            *any = true;
        }
    }
}

static fd_status
export_events(fd_trace_events *events, fd_buffer *to)
{
    fd_event_batch batch = {.next = 0};
    bool any = false;
    fd_status status;
    do {
        fd_batch_reset(&batch);
        status = fd_trace_events_fill(events, &batch);
        if (status == FD_OK) {
            print_all(&batch, &any, to);
            status = to->status;
        }
    } while (status == FD_OK && batch.items.count > 0);
    fd_batch_clear(&batch);
    return status;
}

fd_status
fd_export_chrome(const fd_trace *trace, const fd_export_options *options,
                 fd_buffer *to, fd_error *error)
{
    fd_status status = fd_timeline_check(trace, options->rank, error);
    fd_trace_events *events =
        status == FD_OK ? fd_trace_events_open(trace, options, false) : NULL;
    if (events != NULL) {
        fd_chrome_head(trace, options, to);
        fd_buffer_text(to, ",\n\"traceEvents\":[");
        status = export_events(events, to);
        fd_buffer_text(to, "\n]}\n");
        fd_trace_events_close(events);
    }
    else {
        fd_then(status, FD_ENOMEM);
    }
    return fd_then(status, to->status);
}
