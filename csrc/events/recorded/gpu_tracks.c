#include "events/recorded/gpu_tracks.h"

#include "profile/call_slices.h"
#include "recording/gpu_format.h"

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

static bool
ends_before(const fd_trace_event *call, const fd_trace_gpu_event *event)
{
    return call->thread < event->thread
        || (call->thread == event->thread
            && call->start + call->duration < event->host);
}

/* Return the call that was open on the thread when the interval was launched:
 * the first call of its context that ends after the launch. FD_NO_SLICE: the
 * timeline does not have it. */
static uint32_t
call_of(const fd_trace_rank *rank, const fd_trace_gpu_event *event)
{
    uint32_t low = 0;
    uint32_t high = rank->events.count;
    FD_BISECT(low, high, ends_before(&rank->events.list[middle], event))
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

static void
add_interval(fd_streams *streams, const fd_trace_rank *rank, uint32_t index,
             fd_arena *arena)
{
    const fd_trace_gpu_event *event = streams->works[index];
    uint32_t track = streams->tracks.count;
    if (index == 0 || event->device != streams->works[index - 1]->device
        || event->stream != streams->works[index - 1]->stream) {
        fd_arena_push(
            arena, &streams->tracks,
            (fd_stream_track){event->device, event->stream, index, 0});
        track++;
    }
    streams->tracks.list[track - 1].count++;
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
}

/* Add one kernel of each call of CUDA. */
static void
add_launches(fd_streams *streams, uint32_t count, fd_arena *arena)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (streams->works[i]->function != 0) {
            fd_arena_push(arena, &streams->launches, streams->works[i]);
        }
    }
    fd_vector_sort(&streams->launches, by_launch);
    const fd_trace_gpu_event **list = streams->launches.list;
    for (uint32_t i = 0; i < streams->launches.count; i++) {
        if (kept == 0 || list[i]->correlation != list[kept - 1]->correlation
            || list[i]->thread != list[kept - 1]->thread) {
            list[kept++] = list[i];
        }
    }
    streams->launches.count = kept;
}

void
fd_streams_make(fd_streams *streams, const fd_trace_rank *rank,
                fd_arena *arena)
{
    uint32_t count = rank->gpu_events.count;
    *streams = (fd_streams){.flow_count = 0};
    if (count == 0) {
        return;
    }
    streams->works = fd_arena_new(arena, count, sizeof *streams->works);
    streams->events = fd_arena_new(arena, count, sizeof *streams->events);
    streams->flows = fd_arena_new(arena, count, sizeof *streams->flows);
    streams->of_calls = fd_arena_new(arena, (size_t)rank->events.count + 1,
                                     sizeof *streams->of_calls);
    for (uint32_t i = 0; i < count; i++) {
        streams->works[i] = &rank->gpu_events.list[i];
    }
    fd_sort(streams->works, count, sizeof *streams->works, by_track);
    for (uint32_t i = 0; i < count; i++) {
        add_interval(streams, rank, i, arena);
    }
    add_launches(streams, count, arena);
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
