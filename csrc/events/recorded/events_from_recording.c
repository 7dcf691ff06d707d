#include "events/recorded/events_from_recording.h"

#include "events/recorded/trace_events.h"
#include "trace/reader/file_chunks.h"
#include "trace/reader/recording_reader.h"

#include <stdio.h>
#include <string.h>

typedef struct recording {
    fd_trace *trace;               /* owned; loaded without its timeline at
                                    * first */
    fd_trace_events *events;       /* owned; reads `trace` */
    const fd_transfers *transfers; /* borrowed, or NULL */
    bool whole;                    /* the timeline is loaded */
    uint64_t made;                 /* number of events and members added */
    char path[];
} recording;

static void
release_recording(void *context)
{
    recording *r = context;
    if (r != NULL) {
        fd_trace_events_close(r->events);
        fd_trace_free(r->trace);
        fd_free(r);
    }
}

static fd_status
load_trace(recording *r, bool timeline, fd_error *error)
{
    fd_export_options options = {
        .rank = 0, .no_flows = !timeline, .transfers = r->transfers};
    fd_trace_events_close(r->events);
    fd_trace_free(r->trace);
    r->events = NULL;
    r->trace = NULL;
    r->whole = timeline;
    fd_status status = fd_reader_read(&r->trace, r->path, timeline, error);
    if (status == FD_OK) {
        r->events = fd_trace_events_open(r->trace, &options, false);
        status = r->events != NULL ? FD_OK : FD_ENOMEM;
    }
    return status;
}

/* Load the trace with its timeline, and skip the head that was
 * already added. */
static fd_status
load_timeline(recording *r, fd_error *error)
{
    fd_event_batch head = {.next = 0};
    fd_status status = load_trace(r, true, error);
    fd_then(status, fd_trace_events_fill(r->events, &head));
    fd_batch_clear(&head);
    return status;
}

/* End the events; fail with a message if the recording has losses. */
static fd_status
end_events(const recording *r, fd_timeline_maker *maker, fd_error *error)
{
    const fd_trace_rank *rank = &r->trace->ranks.list[0];
    uint64_t calls = 0;
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        calls += rank->threads.list[i].events_lost;
    }
    maker->read = maker->size;
    maker->lost = calls + rank->notes.count;
    if (maker->lost == 0) {
        return FD_OK;
    }
    char text[64];
    snprintf(text, sizeof text, "%llu events found no room in the timeline",
             (unsigned long long)calls);
    const char *note = rank->notes.count > 0
                         ? fd_trace_text(r->trace, rank->notes.list[0])
                         : "";
    return fd_fail(error, FD_EFORMAT, "%.100s%s%s", note,
                   note[0] != '\0' && calls > 0 ? "; " : "",
                   calls > 0 ? text : "");
}

/* Estimate the bytes read, from the share of events read. */
static uint64_t
guess_read(const recording *r, uint64_t size)
{
    double all = 1 + (double)r->trace->ranks.list[0].events.count;
    double part = (double)r->made / all;
    return (uint64_t)((part < 1 ? part : 1) * (double)size);
}

static fd_status
fill_batch(fd_timeline_maker *maker, fd_event_batch *batch, fd_error *error)
{
    recording *r = maker->context;
    fd_status status =
        r->made > 0 && !r->whole ? load_timeline(r, error) : FD_OK;
    fd_then(status, fd_trace_events_fill(r->events, batch));
    if (status != FD_OK || batch->items.count == 0) {
        return fd_then(status, end_events(r, maker, error));
    }
    r->made += batch->items.count;
    maker->read = guess_read(r, maker->size);
    return FD_OK;
}

static bool
has_timeline(const fd_trace *trace)
{
    const fd_trace_rank *rank = &trace->ranks.list[0];
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        if (rank->threads.list[i].events > 0) {
            return true;
        }
    }
    return false;
}

/* Load the trace without its timeline, which it must have. */
static fd_status
check_recording(recording *r, fd_error *error)
{
    fd_status status = load_trace(r, false, error);
    return status != FD_OK || has_timeline(r->trace) ? status
         : r->trace->ranks.list[0].incomplete
             ? fd_fail(error, FD_EFORMAT,
                       "it is cut short or damaged: no timeline in the "
                       "readable part")
             : fd_fail(error, FD_EFORMAT,
                       "no timeline in it: record with `fastdispatch run "
                       "--timeline`");
}

bool
fd_timeline_is_recording(const char *path, const char *head, size_t size)
{
    (void)path;
    return fd_chunks_match(head, size);
}

fd_status
fd_timeline_from_recording(fd_timeline_maker *maker, fd_bytes_in *in,
                           const char *path, fd_error *error)
{
    size_t size = strlen(path) + 1;
    recording *r = fd_calloc(1, sizeof *r + size);
    fd_bytes_in_close(in);
    if (r == NULL) {
        return FD_ENOMEM;
    }
    memcpy(r->path, path, size);
    fd_status status = check_recording(r, error);
    if (status != FD_OK) {
        release_recording(r);
        return status;
    }
    maker->context = r;
    maker->fill = fill_batch;
    maker->release = release_recording;
    return FD_OK;
}

bool
fd_timeline_recording_transfers(fd_timeline_maker *maker,
                                const fd_transfers *transfers)
{
    recording *r = maker->context;
    if (maker->fill != fill_batch || transfers->list == NULL) {
        return false;
    }
    r->transfers = transfers;
    return true;
}
