#include "events/recorded/chrome_tracks.h"

#include "base/sums.h"
#include "trace/trace_columns.h"

#include <stdio.h>

static fd_timeline_event *
new_event(const fd_chrome_tracks *tracks, char phase, uint32_t tid)
{
    fd_timeline_event *event = fd_batch_new(tracks->batch);
    event->phase = phase;
    event->pid =
        fd_batch_number(tracks->batch, (uint64_t)tracks->rank->rank + 1);
    event->tid = fd_batch_number(tracks->batch, tid);
    return event;
}

void
fd_chrome_rows(const fd_chrome_tracks *tracks, fd_chrome_kind kind,
               uint32_t tid, fd_span name, uint32_t sort_index)
{
    bool process = kind == FD_CHROME_PROCESS;
    fd_timeline_event *row = new_event(tracks, 'M', tid);
    row->name = fd_span_text(process ? "\"process_name\"" : "\"thread_name\"");
    row->args = fd_batch_text_object(tracks->batch, "name", name.from,
                                     fd_span_size(name));
    row->beside = kind == FD_CHROME_TRACK;
    row = new_event(tracks, 'M', tid);
    row->name = fd_span_text(process ? "\"process_sort_index\""
                                     : "\"thread_sort_index\"");
    row->args =
        fd_batch_number_object(tracks->batch, "sort_index", sort_index);
}

fd_timeline_event *
fd_chrome_event(const fd_chrome_tracks *tracks, char phase, uint32_t tid,
                uint64_t time)
{
    fd_timeline_event *event = new_event(tracks, phase, tid);
    event->has_start = true;
    event->start = fd_clock_apply(&tracks->clock, (int64_t)time);
    return event;
}

fd_timeline_event *
fd_chrome_slice(const fd_chrome_tracks *tracks, uint32_t tid, uint64_t start,
                uint64_t end)
{
    fd_timeline_event *event = fd_chrome_event(tracks, 'X', tid, start);
    event->has_duration = true;
    event->duration =
        fd_minus(fd_clock_apply(&tracks->clock, (int64_t)end), event->start);
    return event;
}

/* Add the phases of a step; their sum can exceed the step by a nanosecond of
 * rounding. */
static void
put_phases(const fd_chrome_tracks *tracks, const fd_trace_step *step)
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
            fd_timeline_event *made =
                fd_chrome_slice(tracks, tracks->phases, at, at + ns);
            made->name = fd_batch_format(tracks->batch, "\"phase: %s\"",
                                         fd_phase_names[order[i]]);
            made->cat = fd_span_text("\"phase\"");
        }
        at += ns;
    }
}

void
fd_chrome_phases(const fd_chrome_tracks *tracks)
{
    bool any = false;
    for (uint32_t i = 0; i < tracks->rank->latest.count; i++) {
        const fd_trace_step *step = &tracks->rank->latest.list[i];
        bool has_phases = false;
        for (int phase = FD_PHASE_OTHER + 1; phase < FD_PHASES; phase++) {
            has_phases = has_phases || step->phases[phase] > 0;
        }
        if (has_phases && !any) {
            fd_chrome_rows(tracks, FD_CHROME_TRACK, tracks->phases,
                           fd_span_text("Time by phase"), tracks->sort_index);
            any = true;
        }
        if (has_phases) {
            put_phases(tracks, step);
        }
    }
}

static void
put_value(const fd_chrome_tracks *tracks, const char *name, uint64_t time,
          uint64_t value)
{
    fd_timeline_event *event = fd_chrome_event(tracks, 'C', 0, time);
    event->name = fd_batch_json(tracks->batch, name, strlen(name));
    event->args = fd_batch_number_object(tracks->batch, "value", value);
}

FD_ORDER_AS(by_device, fd_flight_change, FD_UP(device), FD_UP(time),
            FD_DOWN(up))

fd_chrome_counters
fd_chrome_counters_make(const fd_trace_rank *rank, fd_arena *arena)
{
    uint32_t count = rank->gpu_events.count;
    fd_flight_change *changes =
        fd_arena_new(arena, 2 * (size_t)count, sizeof *changes);
    for (uint32_t i = 0; i < count; i++) {
        const fd_trace_gpu_event *event = &rank->gpu_events.list[i];
        uint64_t end = event->start + event->duration;
        end = end > event->host ? end : event->host;
        changes[2 * i] = (fd_flight_change){event->host, event->device, 1};
        changes[2 * i + 1] = (fd_flight_change){end, event->device, -1};
    }
    fd_sort(changes, 2 * (size_t)count, sizeof *changes, by_device);
    return (fd_chrome_counters){.changes = changes, .count = 2 * count};
}

/* Add the next number of calls in flight; simultaneous changes are one
 * value. */
static void
put_in_flight(fd_chrome_counters *counters, const fd_chrome_tracks *tracks)
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
    put_value(tracks, name, at->time, counters->in_flight);
}

/* Add the events that each thread had lost by its last event. */
static void
put_losses(const fd_chrome_tracks *tracks)
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
            put_value(tracks, name, last, thread->events_lost);
        }
    }
}

/* Add a figure of the latest steps. Sums count from the start of their step
 * on, levels from its end. Steps in which it was not measured have no value:
 * the counter keeps the previous one. */
static void
put_measured(const fd_chrome_tracks *tracks, bool level)
{
    for (uint32_t i = 0; i < tracks->rank->latest.count; i++) {
        const fd_trace_step *step = &tracks->rank->latest.list[i];
        uint64_t figure = level ? step->live : step->communicated;
        if (figure > 0) {
            put_value(tracks,
                      level ? "Allocated bytes at ends of steps"
                            : "Communicated bytes per step",
                      level ? step->end : step->begin, figure - 1);
        }
    }
}

bool
fd_chrome_counters_next(fd_chrome_counters *counters,
                        const fd_chrome_tracks *tracks)
{
    if (counters->next < counters->count) {
        put_in_flight(counters, tracks);
        return true;
    }
    put_losses(tracks);
    put_measured(tracks, false);
    put_measured(tracks, true);
    return false;
}
