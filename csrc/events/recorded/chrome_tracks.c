#include "events/recorded/chrome_tracks.h"

#include "base/sums.h"
#include "trace/trace_columns.h"

#include <stdio.h>
#include <string.h>

static fd_timeline_event
begin_row(fd_event_batch *batch, const fd_trace_rank *rank, const char *name,
          uint32_t tid)
{
    return (fd_timeline_event){.phase = 'M',
                               .name = fd_span_text(name),
                               .pid = fd_batch_number(batch, rank->rank + 1),
                               .tid = fd_batch_number(batch, tid)};
}

void
fd_chrome_rows(fd_event_batch *batch, const fd_trace_rank *rank,
               fd_chrome_kind kind, uint32_t tid, const char *name,
               size_t size, uint32_t sort_index)
{
    bool process = kind == FD_CHROME_PROCESS;
    fd_timeline_event row = begin_row(
        batch, rank, process ? "\"process_name\"" : "\"thread_name\"", tid);
    row.args = fd_batch_text_object(batch, "name", name, size);
    row.beside = kind == FD_CHROME_TRACK;
    fd_batch_event(batch, &row);
    row = begin_row(
        batch, rank,
        process ? "\"process_sort_index\"" : "\"thread_sort_index\"", tid);
    row.args = fd_batch_number_object(batch, "sort_index", sort_index);
    fd_batch_event(batch, &row);
}

static int64_t
shown_time(const fd_chrome_tracks *tracks, uint64_t time)
{
    return fd_clock_apply(tracks->clock, (int64_t)time);
}

/* Add the phases of a step; their sum can exceed the step by a nanosecond of
 * rounding. */
static void
put_phases(const fd_chrome_tracks *tracks, const fd_trace_step *step,
           fd_event_batch *batch)
{
    static const int order[FD_PHASES] = {FD_PHASE_DATA, FD_PHASE_FORWARD,
                                         FD_PHASE_BACKWARD, FD_PHASE_OPTIMIZER,
                                         FD_PHASE_OTHER};
    uint64_t at = step->begin;
    for (int i = 0; i < FD_PHASES; i++) {
        uint64_t left = step->end > at ? step->end - at : 0;
        uint64_t ns = step->phases[order[i]];
        ns = ns < left ? ns : left;
        if (ns > 0) {
            fd_timeline_event *made = fd_batch_new(batch);
            made->phase = 'X';
            made->has_start = made->has_duration = true;
            made->start = shown_time(tracks, at);
            made->duration =
                fd_minus(shown_time(tracks, at + ns), made->start);
            made->pid = fd_batch_number(batch, tracks->rank->rank + 1);
            made->tid = fd_batch_number(batch, tracks->phases);
            made->name = fd_batch_format(batch, "\"phase: %s\"",
                                         fd_phase_names[order[i]]);
            made->cat = fd_span_text("\"phase\"");
        }
        at += ns;
    }
}

void
fd_chrome_phases(const fd_chrome_tracks *tracks, fd_event_batch *batch)
{
    static const char name[] = "Time by phase";
    bool any = false;
    for (uint32_t i = 0; i < tracks->rank->latest.count; i++) {
        const fd_trace_step *step = &tracks->rank->latest.list[i];
        bool has_phases = false;
        for (int phase = FD_PHASE_OTHER + 1; phase < FD_PHASES; phase++) {
            has_phases = has_phases || step->phases[phase] > 0;
        }
        if (has_phases && !any) {
            fd_chrome_rows(batch, tracks->rank, FD_CHROME_TRACK,
                           tracks->phases, name, sizeof name - 1,
                           tracks->sort_index);
            any = true;
        }
        if (has_phases) {
            put_phases(tracks, step, batch);
        }
    }
}

static void
put_value(const fd_chrome_tracks *tracks, const char *name, uint64_t time,
          uint64_t value, fd_event_batch *batch)
{
    fd_timeline_event event = {
        .phase = 'C',
        .has_start = true,
        .start = shown_time(tracks, time),
        .pid = fd_batch_number(batch, tracks->rank->rank + 1),
        .tid = fd_batch_number(batch, 0),
        .name = fd_batch_json(batch, name, strlen(name)),
        .args = fd_batch_number_object(batch, "value", value)};
    fd_batch_event(batch, &event);
}

FD_ORDER_AS(by_device, fd_flight_change, FD_UP(device), FD_UP(time),
            FD_DOWN(up))

fd_status
fd_chrome_counters_make(fd_chrome_counters *counters,
                        const fd_trace_rank *rank)
{
    uint32_t count = rank->gpu_events.count;
    fd_chrome_counters_clear(counters);
    counters->changes =
        fd_malloc((2 * (size_t)count + 1) * sizeof *counters->changes);
    if (counters->changes == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const fd_trace_gpu_event *event = &rank->gpu_events.list[i];
        uint64_t end = event->start + event->duration;
        end = end > event->host ? end : event->host;
        counters->changes[2 * i] =
            (fd_flight_change){event->host, event->device, 1};
        counters->changes[2 * i + 1] =
            (fd_flight_change){end, event->device, -1};
    }
    counters->count = 2 * count;
    fd_sort(counters->changes, counters->count, sizeof *counters->changes,
            by_device);
    return FD_OK;
}

void
fd_chrome_counters_clear(fd_chrome_counters *counters)
{
    fd_free(counters->changes);
    *counters = (fd_chrome_counters){.changes = NULL};
}

/* Add the next number of calls in flight; simultaneous changes are one
 * value. */
static void
put_in_flight(fd_chrome_counters *counters, const fd_chrome_tracks *tracks,
              fd_event_batch *batch)
{
    char name[48];
    const fd_flight_change *at;
    const fd_flight_change *end = counters->changes + counters->count;
    do {
        at = &counters->changes[counters->next++];
        counters->in_flight += (uint64_t)at->up;
    } while (at + 1 < end && at[1].device == at->device
             && at[1].time == at->time);
    snprintf(name, sizeof name, "GPU %u marked calls in flight", at->device);
    put_value(tracks, name, at->time, counters->in_flight, batch);
}

/* Add the events that each thread had lost by its last event. */
static void
put_losses(const fd_chrome_tracks *tracks, fd_event_batch *batch)
{
    const fd_trace_rank *rank = tracks->rank;
    uint32_t event = 0;
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        const fd_trace_thread *thread = &rank->threads.list[i];
        uint64_t last = 0;
        for (; event < rank->events.count
               && rank->events.list[event].thread == i;
             event++) {
            const fd_trace_event *at = &rank->events.list[event];
            uint64_t end = at->start + at->duration;
            last = end > last ? end : last;
        }
        if (thread->events_lost > 0) {
            char name[96];
            snprintf(name, sizeof name, "%.64s: events lost",
                     fd_trace_text(tracks->trace, thread->role));
            put_value(tracks, name, last, thread->events_lost, batch);
        }
    }
}

/* Add a figure of the latest steps. Sums count from the start of their step
 * on, levels from its end. Steps in which it was not measured have no value:
 * the counter keeps the previous one. */
static void
put_measured(const fd_chrome_tracks *tracks, bool level, fd_event_batch *batch)
{
    for (uint32_t i = 0; i < tracks->rank->latest.count; i++) {
        const fd_trace_step *step = &tracks->rank->latest.list[i];
        uint64_t figure = level ? step->live : step->communicated;
        if (figure > 0) {
            put_value(tracks,
                      level ? "Allocated bytes at ends of steps"
                            : "Communicated bytes per step",
                      level ? step->end : step->begin, figure - 1, batch);
        }
    }
}

bool
fd_chrome_counters_next(fd_chrome_counters *counters,
                        const fd_chrome_tracks *tracks, fd_event_batch *batch)
{
    if (counters->next < counters->count) {
        put_in_flight(counters, tracks, batch);
        return true;
    }
    put_losses(tracks, batch);
    put_measured(tracks, false, batch);
    put_measured(tracks, true, batch);
    return false;
}
