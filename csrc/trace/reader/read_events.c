#include "trace/reader/recording_reading.h"

static const uint32_t NO_JOB = UINT32_MAX;

static fd_trace_event
event_of(const fd_reading *r, uint64_t start, uint64_t ticks, uint16_t thread,
         uint16_t kind)
{
    fd_trace_event made = {.thread = thread, .kind = kind};
    fd_reading_span(r, start, ticks, &made.start, &made.duration);
    return made;
}

/* Read a record id. It belongs to the previous event, the call, unless that
 * call was too short to be recorded. */
static void
read_record_id(fd_reading *r, const fd_event *event, uint16_t thread)
{
    fd_trace_rank *rank = r->rank;
    fd_trace_event call = event_of(r, event->start, 0, thread, FD_EVENT_CALL);
    const fd_trace_event *last = rank->events.count > 0
                                   ? &rank->events.list[rank->events.count - 1]
                                   : NULL;
    rank->threads.list[thread].events--;
    if (last != NULL && last->kind == FD_EVENT_CALL && last->thread == thread
        && last->start == call.start
        && last->context == fd_reading_context(r, event->context)) {
        fd_reading_push(
            r, &rank->record_ids,
            (fd_trace_record){rank->events.count - 1, event->ticks});
    }
}

static void
add_job(fd_reading *r, fd_trace_event event, uint32_t job)
{
    event.kind = FD_EVENT_JOB;
    event.context = job;
    r->rank->jobs.list[job].drawn = true;
    fd_reading_push(r, &r->rank->events, event);
}

/* Read the event of a job; its other facts are in the jobs of the rank. */
static void
read_job_event(fd_reading *r, uint32_t id, fd_trace_event event)
{
    uint32_t job = fd_map_get(&r->jobs, id);
    if (job == 0) {
        r->rank->threads.list[event.thread].events_lost++;
        return;
    }
    add_job(r, event, job - 1);
}

static void
read_call(fd_reading *r, uint32_t id, fd_trace_event event)
{
    event.context = fd_reading_context(r, id);
    if (event.context == 0
        || (event.kind != FD_EVENT_CALL && event.kind != FD_EVENT_ASYNC)) {
        r->rank->threads.list[event.thread].events_lost++;
        return;
    }
    fd_reading_push(r, &r->rank->events, event);
}

static void
read_event(fd_reading *r, const fd_event *event, uint16_t thread)
{
    fd_trace_event made =
        event_of(r, event->start, event->ticks, thread, event->kind);
    switch (event->kind) {
    case FD_EVENT_STEP:
        made.context = event->context;
        if (event->source == fd_chunks_header(&r->file)->steps_source) {
            fd_reading_push(r, &r->rank->events, made);
        }
        break;
    case FD_EVENT_RECORD:
        read_record_id(r, event, thread);
        break;
    case FD_EVENT_FLOW:
        fd_read_flow(r, event, thread);
        break;
    case FD_EVENT_JOB:
        read_job_event(r, event->context, made);
        break;
    default:
        read_call(r, event->context, made);
    }
}

static void
read_run(fd_reading *r, const fd_chunk_view *one, uint16_t thread)
{
    const void *records;
    fd_arena_check(&r->arena, fd_chunks_events(&r->file, one, &records));
    const fd_event *events = records;
    if (events == NULL) {
        r->rank->threads.list[thread].events_lost += one->used;
        return;
    }
    for (uint32_t i = 0; i < one->used; i++) {
        read_event(r, &events[i], thread);
    }
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
static void
read_open(fd_reading *r, const fd_thread_record *record, uint16_t thread)
{
    enum {
        NO_CALL = FD_ENTRY_CONTRACTED | FD_ENTRY_PENDING | FD_ENTRY_ENGINE
    };
    uint32_t depth;
    const fd_entry *entries = fd_reading_stack(r, record, &depth);
    for (uint32_t i = depth; i-- > 0;) {
        uint64_t start = entries[i].start;
        fd_trace_event open =
            event_of(r, start, record->last > start ? record->last - start : 0,
                     thread, FD_EVENT_OPEN);
        open.context = fd_reading_context(r, entries[i].context);
        uint32_t job = open_job(r, &entries[i], &open);
        if (job != NO_JOB) {
            add_job(r, open, job);
        }
        else if (open.context != 0 && start != 0
                 && (entries[i].flags & NO_CALL) == 0) {
            fd_reading_push(r, &r->rank->events, open);
        }
    }
}

static void
read_thread(fd_reading *r, const fd_thread_record *record, uint16_t thread)
{
    fd_run_list runs =
        fd_reading_runs(r, FD_CHUNK_EVENTS, fd_reading_id(r, record));
    for (uint32_t i = 0; i < runs.count; i++) {
        read_run(r, runs.list[i], thread);
    }
    if (runs.count > 0) {
        read_open(r, record, thread);
    }
    fd_arena_drop(runs.list);
}

void
fd_read_events(fd_reading *r)
{
    uint32_t thread = 0;
    if (r->part != FD_PART_TIMELINE) {
        return;
    }
    FOR_EACH_RECORD (r, FD_CHUNK_THREADS, fd_thread_record, record) {
        if (thread < UINT16_MAX) {
            read_thread(r, record, (uint16_t)thread++);
        }
    }
}
