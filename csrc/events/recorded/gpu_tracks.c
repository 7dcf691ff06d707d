#include "events/recorded/gpu_tracks.h"

#include "profile/call_slices.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t
end_of(const fd_trace_gpu_event *event)
{
    return event->start + event->duration;
}

/* Order by track, then by end; inner intervals first. */
/* Inner intervals are recorded first. */
FD_ORDER_POINTERS(by_track, fd_trace_gpu_event, FD_UP(device), FD_UP(stream),
                  FD_ORDER(end_of(one), end_of(other)),
                  FD_FIRST_2(FD_DOWN(start), FD_ORDER(one, other)))

static uint32_t
context_of(const fd_trace_rank *rank, const fd_trace_event *event)
{
    return event->kind == FD_EVENT_JOB
             ? rank->jobs.list[event->context].context
             : event->context;
}

/* Return the call that was open on the thread when the interval was launched:
 * the first call of its context that ends after the launch. FD_NO_SLICE: the
 * timeline does not have it. */
static uint32_t
call_of(const fd_trace_rank *rank, const fd_trace_gpu_event *event)
{
    uint32_t low = 0;
    uint32_t high = rank->events.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const fd_trace_event *at = &rank->events.list[middle];
        if (at->thread < event->thread
            || (at->thread == event->thread
                && at->start + at->duration < event->host)) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    for (; low < rank->events.count; low++) {
        const fd_trace_event *at = &rank->events.list[low];
        if (at->thread != event->thread) {
            break;
        }
        if (fd_event_is_call(at) && context_of(rank, at) == event->launcher) {
            return at->start <= event->host ? low : FD_NO_SLICE;
        }
    }
    return FD_NO_SLICE;
}

static fd_status
add_interval(fd_streams *streams, const fd_trace_rank *rank,
             const fd_trace_gpu_event *event, uint32_t index)
{
    fd_stream_track *last =
        streams->tracks.count > 0
            ? &streams->tracks.list[streams->tracks.count - 1]
            : NULL;
    if (last == NULL || last->device != event->device
        || last->stream != event->stream) {
        fd_stream_track track = {event->device, event->stream, index, 0};
        if (fd_vector_push(&streams->tracks, track) != FD_OK) {
            return FD_ENOMEM;
        }
        last = &streams->tracks.list[streams->tracks.count - 1];
    }
    last->count++;
    streams->events[index] = (fd_trace_event){.start = event->start,
                                              .duration = event->duration,
                                              .context = event->context,
                                              .kind = FD_EVENT_CALL};
    uint32_t call = call_of(rank, event);
    if (call != FD_NO_SLICE && rank->events.list[call].kind == FD_EVENT_JOB) {
        streams->events[index].kind = FD_EVENT_JOB;
        streams->events[index].context = rank->events.list[call].context;
    }
    if (call != FD_NO_SLICE && streams->of_calls[call] == 0) {
        streams->flows[index] = ++streams->flow_count;
        streams->of_calls[call] = streams->flow_count;
    }
    return FD_OK;
}

fd_status
fd_streams_make(fd_streams *streams, const fd_trace_rank *rank)
{
    uint32_t count = rank->gpu_events.count;
    *streams = (fd_streams){.events = NULL};
    if (count == 0) {
        return FD_OK;
    }
    const fd_trace_gpu_event **order = fd_malloc(count * sizeof *order);
    streams->events = fd_malloc(count * sizeof *streams->events);
    streams->flows = fd_calloc(count, sizeof *streams->flows);
    streams->of_calls =
        fd_calloc(rank->events.count + 1, sizeof *streams->of_calls);
    fd_status status = order != NULL && streams->events != NULL
                            && streams->flows != NULL
                            && streams->of_calls != NULL
                         ? FD_OK
                         : FD_ENOMEM;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        order[i] = &rank->gpu_events.list[i];
    }
    if (status == FD_OK) {
        qsort(order, count, sizeof *order, by_track);
    }
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        status = add_interval(streams, rank, order[i], i);
    }
    fd_free(order);
    return status;
}

void
fd_streams_clear(fd_streams *streams)
{
    fd_vector_clear(&streams->tracks);
    fd_free(streams->events);
    fd_free(streams->flows);
    fd_free(streams->of_calls);
    *streams = (fd_streams){.events = NULL};
}

void
fd_stream_name(const fd_stream_track *track, char name[FD_STREAM_NAME])
{
    snprintf(name, FD_STREAM_NAME, "GPU %u stream %u", track->device,
             track->stream);
}

fd_span
fd_stream_arguments(const fd_streams *streams, uint32_t track,
                    fd_event_batch *batch)
{
    const fd_stream_track *at = &streams->tracks.list[track];
    return fd_batch_format(batch, "{\"device\":%u,\"stream\":%u}", at->device,
                           at->stream);
}
