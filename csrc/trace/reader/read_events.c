#include "trace/reader/recording_reading.h"

static const uint32_t NO_JOB = UINT32_MAX;

/* Make an event. Start and end are rounded, not the duration, so that nested
 * events in ticks are nested in nanoseconds. */
static fd_trace_event
event_of(const fd_reading *r, uint64_t start, uint64_t ticks, uint16_t thread,
         uint16_t kind)
{
    uint64_t origin = fd_chunks_header(&r->file)->start.ticks;
    uint64_t since = start > origin ? start - origin : 0;
    uint64_t begin = fd_reading_ns(r, since);
    uint64_t end =
        since + ticks >= since ? fd_reading_ns(r, since + ticks) : begin;
    return (fd_trace_event){.start = begin,
                            .duration = end - begin,
                            .thread = thread,
                            .kind = kind};
}

/* Read a record id. It belongs to the previous event, the call, unless that
 * call was too short to be recorded. */
static fd_status
read_record_id(fd_reading *r, const fd_event *event, uint16_t thread)
{
    fd_trace_rank *rank = r->rank;
    fd_trace_event call = event_of(r, event->start, 0, thread, FD_EVENT_CALL);
    const fd_trace_event *last = rank->events.count > 0
                                   ? &rank->events.list[rank->events.count - 1]
                                   : NULL;
    rank->threads.list[thread].events--;
    if (last == NULL || last->kind != FD_EVENT_CALL || last->thread != thread
        || last->start != call.start
        || last->context != fd_reading_context(r, event->context)) {
        return FD_OK;
    }
    return fd_vector_push(
        &rank->record_ids,
        (fd_trace_record){rank->events.count - 1, event->ticks});
}

/* Read the event of a job; its other facts are in the jobs of the rank. */
static fd_status
read_job_event(fd_reading *r, uint32_t id, fd_trace_event event)
{
    uint32_t job = fd_map_get(&r->jobs, id);
    if (job == 0) {
        r->rank->threads.list[event.thread].events_lost++;
        return FD_OK;
    }
    event.kind = FD_EVENT_JOB;
    event.context = job - 1;
    return fd_vector_push(&r->rank->events, event);
}

static fd_status
read_event(fd_reading *r, const fd_event *event, uint16_t thread)
{
    const fd_header *header = fd_chunks_header(&r->file);
    fd_trace_event made =
        event_of(r, event->start, event->ticks, thread, event->kind);
    if (event->kind == FD_EVENT_STEP) {
        made.context = event->context;
        return event->source == header->steps_source
                 ? fd_vector_push(&r->rank->events, made)
                 : FD_OK;
    }
    if (event->kind == FD_EVENT_RECORD) {
        return read_record_id(r, event, thread);
    }
    if (event->kind == FD_EVENT_FLOW) {
        return fd_read_flow(r, event, thread);
    }
    if (event->kind == FD_EVENT_JOB) {
        return read_job_event(r, event->context, made);
    }
    made.context = fd_reading_context(r, event->context);
    if (made.context == 0
        || (event->kind != FD_EVENT_CALL && event->kind != FD_EVENT_ASYNC)) {
        r->rank->threads.list[thread].events_lost++;
        return FD_OK;
    }
    return fd_vector_push(&r->rank->events, made);
}

static fd_status
read_run(fd_reading *r, const fd_chunk_view *one, uint16_t thread)
{
    const void *records;
    fd_status status = fd_chunks_events(&r->file, one, &records);
    const fd_event *events = records;
    if (events == NULL) {
        r->rank->threads.list[thread].events_lost += one->used;
        return status;
    }
    for (uint32_t i = 0; i < one->used && status == FD_OK; i++) {
        status = read_event(r, &events[i], thread);
    }
    return status;
}

/* Return the job of an entry of the open stack, or NO_JOB. */
static uint32_t
open_job(const fd_reading *r, const fd_entry *entry, const fd_trace_event *at)
{
    uint32_t job = 0;
    while (job < r->rank->jobs.count
           && (!r->rank->jobs.list[job].open
               || r->rank->jobs.list[job].thread != at->thread
               || r->rank->jobs.list[job].start != at->start)) {
        job++;
    }
    return (entry->flags & FD_ENTRY_RANGE) != 0 && job < r->rank->jobs.count
             ? job
             : NO_JOB;
}

/* Add the open calls, the innermost first, as if they ended now. */
static fd_status
read_open(fd_reading *r, const fd_thread_record *record, uint16_t thread)
{
    enum {
        NO_CALL = FD_ENTRY_CONTRACTED | FD_ENTRY_PENDING | FD_ENTRY_ENGINE
    };
    uint32_t depth;
    const fd_entry *entries = fd_reading_stack(r, record, &depth);
    fd_status status = FD_OK;
    for (uint32_t i = depth; i-- > 0 && status == FD_OK;) {
        uint64_t start = entries[i].start;
        fd_trace_event open =
            event_of(r, start, record->last > start ? record->last - start : 0,
                     thread, FD_EVENT_OPEN);
        open.context = fd_reading_context(r, entries[i].context);
        uint32_t job = open_job(r, &entries[i], &open);
        if (job != NO_JOB) {
            open.kind = FD_EVENT_JOB;
            open.context = job;
            status = fd_vector_push(&r->rank->events, open);
        }
        else if (open.context != 0 && start != 0
                 && (entries[i].flags & NO_CALL) == 0) {
            status = fd_vector_push(&r->rank->events, open);
        }
    }
    return status;
}

static fd_status
read_thread(fd_reading *r, const fd_thread_record *record, uint16_t thread)
{
    fd_run_list runs = {NULL, 0, 0};
    fd_status status =
        fd_reading_runs(r, FD_CHUNK_EVENTS, fd_reading_id(r, record), &runs);
    for (uint32_t i = 0; i < runs.count && status == FD_OK; i++) {
        status = read_run(r, runs.list[i], thread);
    }
    if (status == FD_OK && runs.count > 0) {
        status = read_open(r, record, thread);
    }
    fd_vector_clear(&runs);
    return status;
}

fd_status
fd_read_events(fd_reading *r)
{
    fd_status status = FD_OK;
    uint32_t thread = 0;
    if (r->part != FD_PART_TIMELINE) {
        return FD_OK;
    }
    FOR_EACH_CHUNK(r, FD_CHUNK_THREADS, view)
    {
        const fd_thread_record *records = view->records;
        for (uint32_t i = 0;
             i < view->used && status == FD_OK && thread < UINT16_MAX; i++) {
            status = read_thread(r, &records[i], (uint16_t)thread++);
        }
    }
    return status;
}
