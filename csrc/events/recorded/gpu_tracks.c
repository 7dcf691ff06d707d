#include "events/recorded/gpu_tracks.h"

#include "profile/call_slices.h"
#include "recording/gpu_format.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t
end_of(const fd_trace_gpu_event *event)
{
    return event->start + event->duration;
}

/* Order by track, then by end. Inner intervals are recorded first. */
FD_ORDER_POINTERS(by_track, fd_trace_gpu_event, FD_UP(device), FD_UP(stream),
                  FD_ORDER(end_of(one), end_of(other)),
                  FD_FIRST_2(FD_DOWN(start), FD_ORDER(one, other)))

/* Order by call of CUDA: its thread, its begin, its number. */
FD_ORDER_POINTERS(by_launch, fd_trace_gpu_event, FD_UP(thread), FD_UP(host),
                  FD_UP(correlation), FD_UP(start))

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
    uint32_t call = event->function == 0 ? call_of(rank, event) : FD_NO_SLICE;
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

/* Add one kernel of each call of CUDA. */
static fd_status
add_launches(fd_streams *streams, uint32_t count)
{
    const fd_trace_gpu_event **order = fd_malloc(count * sizeof *order);
    uint32_t known = 0;
    if (order == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (streams->works[i]->function != 0) {
            order[known++] = streams->works[i];
        }
    }
    qsort(order, known, sizeof *order, by_launch);
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < known && status == FD_OK; i++) {
        if (i == 0 || order[i]->correlation != order[i - 1]->correlation
            || order[i]->thread != order[i - 1]->thread) {
            status = fd_vector_push(&streams->launches, order[i]);
        }
    }
    fd_free(order);
    return status;
}

fd_status
fd_streams_make(fd_streams *streams, const fd_trace_rank *rank)
{
    uint32_t count = rank->gpu_events.count;
    *streams = (fd_streams){.events = NULL};
    if (count == 0) {
        return FD_OK;
    }
    streams->works = fd_malloc(count * sizeof *streams->works);
    streams->events = fd_malloc(count * sizeof *streams->events);
    streams->flows = fd_calloc(count, sizeof *streams->flows);
    streams->of_calls =
        fd_calloc(rank->events.count + 1, sizeof *streams->of_calls);
    fd_status status = streams->works != NULL && streams->events != NULL
                            && streams->flows != NULL
                            && streams->of_calls != NULL
                         ? FD_OK
                         : FD_ENOMEM;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        streams->works[i] = &rank->gpu_events.list[i];
    }
    if (status == FD_OK) {
        qsort(streams->works, count, sizeof *streams->works, by_track);
    }
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        status = add_interval(streams, rank, streams->works[i], i);
    }
    return status == FD_OK ? add_launches(streams, count) : status;
}

void
fd_streams_clear(fd_streams *streams)
{
    fd_vector_clear(&streams->tracks);
    fd_vector_clear(&streams->launches);
    fd_free(streams->works);
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
fd_stream_arguments(const fd_trace_gpu_event *work, fd_event_batch *batch)
{
    fd_buffer *args = fd_batch_compose(batch);
    fd_buffer_format(args, "{\"device\":%u,\"stream\":%u", work->device,
                     work->stream);
    if (work->correlation != 0) {
        fd_buffer_format(args, ",\"correlation\":%u", work->correlation);
    }
    if (work->bytes != 0) {
        fd_buffer_format(args, ",\"bytes\":%llu",
                         (unsigned long long)work->bytes);
    }
    if (work->bytes != 0 && work->duration != 0) {
        fd_buffer_format(args, ",\"memory bandwidth (GB/s)\":%.9g",
                         (double)work->bytes / (double)work->duration);
    }
    fd_buffer_text(args, "}");
    return fd_batch_composed(batch);
}

void
fd_launch_slice(const fd_trace_gpu_event *work, fd_event_batch *batch,
                fd_timeline_event *made)
{
    const char *name = fd_launch_name(work->function);
    bool driver = work->function >> 16 == FD_CUDA_DRIVER;
    made->name =
        fd_batch_format(batch, "\"%s\"", name != NULL ? name : "cuda");
    made->cat = fd_span_text(driver ? "\"cuda_driver\"" : "\"cuda_runtime\"");
    made->args = fd_batch_format(batch, "{\"cbid\":%u,\"correlation\":%u}",
                                 work->function & 0xffff, work->correlation);
}
