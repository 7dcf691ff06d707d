#include "events/recorded/side_tracks.h"

#include "trace/trace_columns.h"

#include <stdio.h>
#include <stdlib.h>

/* Add the phases of a step; their sum can exceed the step by a nanosecond of
 * rounding. */
static fd_status
add_phases(fd_phase_slices *slices, const fd_trace_step *step)
{
    static const int order[FD_PHASES] = {FD_PHASE_DATA, FD_PHASE_FORWARD,
                                         FD_PHASE_BACKWARD, FD_PHASE_OPTIMIZER,
                                         FD_PHASE_OTHER};
    uint64_t at = step->begin;
    fd_status status = FD_OK;
    for (int i = 0; i < FD_PHASES && status == FD_OK; i++) {
        uint64_t left = step->end > at ? step->end - at : 0;
        uint64_t ns = step->phases[order[i]];
        ns = ns < left ? ns : left;
        if (ns > 0) {
            status = fd_vector_push(
                slices,
                (fd_phase_slice){at, at + ns, fd_phase_names[order[i]]});
        }
        at += ns;
    }
    return status;
}

fd_status
fd_phase_slices_make(fd_phase_slices *slices, const fd_trace_rank *rank)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < rank->latest.count && status == FD_OK; i++) {
        const fd_trace_step *step = &rank->latest.list[i];
        bool any = false;
        for (int phase = FD_PHASE_OTHER + 1; phase < FD_PHASES; phase++) {
            any = any || step->phases[phase] > 0;
        }
        if (any) {
            status = add_phases(slices, step);
        }
    }
    return status;
}

/* A change of the number in flight by +1 or -1. */
typedef struct change {
    uint64_t time;
    uint32_t device;
    int up;
} change;

FD_ORDER_AS(by_time, change, FD_UP(device), FD_UP(time), FD_DOWN(up))

static fd_status
add_up(fd_counter_values *values, const change *changes, uint32_t count)
{
    uint64_t now = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        const change *next = i + 1 < count ? &changes[i + 1] : NULL;
        now = changes[i].up > 0 ? now + 1 : now - 1;
        if (next == NULL || next->device != changes[i].device
            || next->time != changes[i].time) {
            status = fd_vector_push(
                values,
                (fd_counter_value){changes[i].time, changes[i].device, now});
        }
    }
    return status;
}

static fd_status
make_in_flight(fd_counter_values *values, const fd_trace_rank *rank)
{
    uint32_t count = rank->gpu_events.count;
    if (count == 0) {
        return FD_OK;
    }
    change *changes = fd_malloc(2 * (size_t)count * sizeof *changes);
    if (changes == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const fd_trace_gpu_event *event = &rank->gpu_events.list[i];
        uint64_t end = event->start + event->duration;
        changes[2 * i] = (change){event->host, event->device, 1};
        changes[2 * i + 1] =
            (change){end > event->host ? end : event->host, event->device, -1};
    }
    qsort(changes, 2 * (size_t)count, sizeof *changes, by_time);
    fd_status status = add_up(values, changes, 2 * count);
    fd_free(changes);
    return status;
}

static fd_status
make_lost(fd_counter_values *values, const fd_trace_rank *rank)
{
    fd_status status = FD_OK;
    uint32_t event = 0;
    for (uint32_t i = 0; i < rank->threads.count && status == FD_OK; i++) {
        uint64_t last = 0;
        for (; event < rank->events.count
               && rank->events.list[event].thread == i;
             event++) {
            const fd_trace_event *at = &rank->events.list[event];
            uint64_t end = at->start + at->duration;
            last = end > last ? end : last;
        }
        uint64_t lost = rank->threads.list[i].events_lost;
        if (lost > 0) {
            status = fd_vector_push(values, (fd_counter_value){last, i, lost});
        }
    }
    return status;
}

/* Make the values of a measured figure. Sums count from the start of their
 * step on, levels from its end. */
static fd_status
make_measured(fd_counter_values *values, fd_counter counter,
              const fd_trace_rank *rank)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < rank->latest.count && status == FD_OK; i++) {
        const fd_trace_step *step = &rank->latest.list[i];
        /* The measured figure plus 1; 0: not measured. */
        uint64_t figure = counter == FD_COUNTER_COMMUNICATED
                            ? step->communicated
                            : step->live;
        uint64_t time = counter == FD_COUNTER_LIVE ? step->end : step->begin;
        if (figure > 0) {
            status = fd_vector_push(values,
                                    (fd_counter_value){time, 0, figure - 1});
        }
    }
    return status;
}

fd_status
fd_counter_values_make(fd_counter_values *values, fd_counter counter,
                       const fd_trace_rank *rank)
{
    switch (counter) {
    case FD_COUNTER_IN_FLIGHT:
        return make_in_flight(values, rank);
    case FD_COUNTER_LOST:
        return make_lost(values, rank);
    case FD_COUNTER_COMMUNICATED:
    case FD_COUNTER_LIVE:
        return make_measured(values, counter, rank);
    case FD_COUNTER_KINDS:
        break;
    }
    return FD_OK;
}

void
fd_counter_name(fd_counter counter, const fd_trace *trace,
                const fd_trace_rank *rank, uint32_t of,
                char name[FD_COUNTER_NAME])
{
    static const char *const names[FD_COUNTER_KINDS] = {
        [FD_COUNTER_COMMUNICATED] = "Communicated bytes per step",
        [FD_COUNTER_LIVE] = "Allocated bytes at ends of steps",
    };
    if (counter == FD_COUNTER_IN_FLIGHT) {
        snprintf(name, FD_COUNTER_NAME, "GPU %u marked calls in flight", of);
    }
    else if (counter == FD_COUNTER_LOST) {
        snprintf(name, FD_COUNTER_NAME, "%.64s: events lost",
                 fd_trace_text(trace, rank->threads.list[of].role));
    }
    else {
        snprintf(name, FD_COUNTER_NAME, "%s", names[counter]);
    }
}
