#include "check.h"

#include "events/recorded/gpu_tracks.h"

static fd_status
call(fd_trace_rank *rank, uint32_t context, uint64_t start, uint64_t end)
{
    return fd_vector_push(&rank->events,
                          ((fd_trace_event){.start = start,
                                            .duration = end - start,
                                            .context = context,
                                            .kind = FD_EVENT_CALL}));
}

static fd_status
interval(fd_trace_rank *rank, uint32_t context, uint64_t host, uint64_t start,
         uint16_t stream)
{
    return fd_vector_push(&rank->gpu_events,
                          ((fd_trace_gpu_event){.host = host,
                                                .start = start,
                                                .duration = 10,
                                                .context = context,
                                                .launcher = context,
                                                .stream = stream}));
}

#define STREAMS(streams, rank) \
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL}; \
    fd_streams streams; \
    ENTER(&arena); \
    fd_streams_make(&streams, rank, &arena)

/* A track a stream, and arrows from the calls that were open at the launch. */
TEST(tracks_and_arrows)
{
    CLEAN(fd_trace_rank_clear) fd_trace_rank rank = {.rank = 0};
    OK(call(&rank, 5, 11, 15));
    OK(call(&rank, 4, 10, 20));
    OK(call(&rank, 4, 30, 40));
    OK(interval(&rank, 4, 31, 200, 1));
    OK(interval(&rank, 5, 12, 150, 0));
    OK(interval(&rank, 4, 10, 100, 1));
    OK(interval(&rank, 9, 32, 300, 0)); /* its call is not in the timeline */
    OK(interval(&rank, 4, 25, 400, 0)); /* nor was one open then */
    STREAMS(streams, &rank);
    FIELDS(&streams, (tracks.count, 2), (tracks.list[0].count, 3),
           (tracks.list[1].first, 3), (flow_count, 3), (events[0].start, 150),
           (flows[0], fd_streams_flow_of_call(&streams, 0)), (flows[1], 0),
           (flows[2], 0), (flows[3], fd_streams_flow_of_call(&streams, 1)),
           (flows[4], fd_streams_flow_of_call(&streams, 2)));
}

/* An event of a job has the job's number where others have their context. */
TEST(arrows_from_jobs)
{
    CLEAN(fd_trace_rank_clear) fd_trace_rank rank = {.rank = 0};
    OK(fd_vector_push(&rank.jobs, ((fd_trace_job){.context = 9})));
    OK(fd_vector_push(&rank.jobs, ((fd_trace_job){.context = 4})));
    OK(call(&rank, 0, 10, 20));
    OK(call(&rank, 1, 10, 30));
    rank.events.list[0].kind = FD_EVENT_JOB;
    rank.events.list[1].kind = FD_EVENT_JOB;
    OK(interval(&rank, 4, 12, 100, 0));
    OK(interval(&rank, 1, 12, 200, 0));
    STREAMS(streams, &rank);
    FIELDS(&streams, (flow_count, 1),
           (flows[0], fd_streams_flow_of_call(&streams, 1)), (flows[1], 0));
}

static fd_status
kernel(fd_trace_rank *rank, uint32_t correlation, uint64_t host,
       uint64_t start, uint64_t bytes)
{
    return fd_vector_push(&rank->gpu_events,
                          ((fd_trace_gpu_event){.host = host,
                                                .start = start,
                                                .duration = 4,
                                                .bytes = bytes,
                                                .call = 3,
                                                .context = 4,
                                                .launcher = 4,
                                                .correlation = correlation,
                                                .function = 1,
                                                .stream = 7}));
}

/* A call of CUDA is there once, also if it launched several kernels. Its
 * kernels have no arrow from the call around it. */
TEST(calls_of_cuda)
{
    CLEAN(fd_trace_rank_clear) fd_trace_rank rank = {.rank = 0};
    OK(call(&rank, 4, 10, 20));
    OK(kernel(&rank, 9, 15, 120, 0));
    OK(kernel(&rank, 8, 11, 100, 64));
    OK(kernel(&rank, 9, 15, 110, 0));
    STREAMS(streams, &rank);
    FIELDS(&streams, (flow_count, 0), (launches.count, 2),
           (launches.list[0]->correlation, 8), (launches.list[1]->start, 110));
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    fd_span args = fd_stream_arguments(streams.works[0], &batch);
    OK(batch.status);
    CHECK(fd_span_is(args, "{\"device\":0,\"stream\":7,\"correlation\":8,"
                           "\"bytes\":64,\"memory bandwidth (GB/s)\":16}"));
}
