#include "check.h"
#include "timelines.h"

#include "events/recorded/trace_events.h"
#include "profile/totals.h"

#include <string.h>

/* Counts the events of all batches. */
static fd_status
fill_all(fd_trace_events *events, uint32_t *batches, uint32_t *count,
         fd_buffer *to)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    fd_status status;
    do {
        fd_batch_reset(&batch);
        status = fd_trace_events_fill(events, &batch);
        if (status == FD_OK) {
            fixture_print(&batch, to);
            status = to->status;
        }
        *count += batch.items.count;
        ++*batches;
    } while (status == FD_OK && batch.items.count > 0);
    return status;
}

/* The first batch needs no timeline. */
ABSORBS(batch_by_batch)
{
    TIMELINE_TRACE(trace, true);
    CLEAN(fd_buffer_clear) fd_buffer whole = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer part = {.bytes = NULL};
    fd_export_options options = {.rank = FD_ALL_RANKS};
    fd_status status;
    uint32_t batches = 0;
    uint32_t count = 0;
    fd_trace_events *events = fd_trace_events_open(trace, &options, false);
    status = events != NULL ? fill_all(events, &batches, &count, &whole)
                            : FD_ENOMEM;
    fd_trace_events_close(events);
    OK(status);
    CHECK(batches > 5 && count > 30);
    trace->ranks.list[0].events.count = 0;
    CLEAN(fd_batch_clear) fd_event_batch head = {.next = 0};
    events = fd_trace_events_open(trace, &options, false);
    status = events != NULL ? fd_trace_events_fill(events, &head) : FD_ENOMEM;
    if (status == FD_OK) {
        fixture_print(&head, &part);
        status = part.status;
    }
    fd_trace_events_close(events);
    OK(status);
    CHECK(part.size > 0 && memcmp(part.bytes, whole.bytes, part.size) == 0);
}
