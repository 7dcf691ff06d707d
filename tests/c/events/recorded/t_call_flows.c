#include "check.h"
#include "fixtures.h"

#include "events/recorded/call_flows.h"
#include "events/recorded/timeline_exports.h"
#include "profile/totals.h"

TEST(by_the_slices_at_their_ends)
{
    NEW_TRACE(trace);
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL};
    fd_trace_rank *rank = fd_trace_add_rank(trace);
    OK(rank != NULL ? FD_OK : FD_ENOMEM);
    ENTER(&arena);
    fd_flows flows = fd_flows_make(rank, &arena);
    CHECK(flows.first == NULL);
    EQUAL(fd_flows_to(&flows, 0), 0);
    for (int i = 0; i < 4; i++) {
        OK(fd_vector_push(&rank->events, (fd_trace_event){.kind = 1}));
    }
    OK(fd_vector_push(&rank->flows, (fd_trace_flow){3, 2}));
    OK(fd_vector_push(&rank->flows, (fd_trace_flow){1, 3}));
    OK(fd_vector_push(&rank->flows, (fd_trace_flow){1, 0}));
    flows = fd_flows_make(rank, &arena);
    static const uint32_t count[] = {0, 2, 0, 1};
    uint32_t next = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t first;
        EQUAL(fd_flows_from(&flows, i, &first) - first, count[i]);
        EQUAL(first, next);
        next += count[i];
    }
    EQUAL(fd_flows_to(&flows, 0), 2);
    EQUAL(fd_flows_to(&flows, 1), 0);
    EQUAL(fd_flows_to(&flows, 2), 3);
    EQUAL(fd_flows_to(&flows, 3), 1);
}

/* A job that sends and launches, one that receives, one without a message. */
static fd_status
three_jobs(fd_trace *trace)
{
    static const char *const kinds[] = {"SA", "RA", "F"};
    fd_trace_rank *rank = fd_trace_add_rank(trace);
    fd_status status = rank == NULL ? FD_ENOMEM : FD_OK;
    fd_then(status, fd_vector_push(&rank->threads, (fd_trace_thread){0}));
    fd_then(status, fd_vector_push(&rank->gpu_events,
                                   (fd_trace_gpu_event){.host = 15,
                                                        .start = 40,
                                                        .duration = 5,
                                                        .context = 1,
                                                        .launcher = 1}));
    for (uint32_t i = 0; i < 3 && status == FD_OK; i++) {
        fd_trace_job job = {.context = 1};
        fd_trace_event event = {.start = 10 + 20 * i,
                                .duration = 10,
                                .context = i,
                                .kind = FD_EVENT_JOB};
        status = fixture_text(trace, kinds[i], &job.kind);
        fd_then(status, fd_vector_push(&rank->jobs, job));
        fd_then(status, fd_vector_push(&rank->events, event));
    }
    return status;
}

/* A slice has one flow in Chrome JSON. */
TEST(messages_of_jobs)
{
    NEW_TRACE(trace);
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    static const fd_transfer_end ends[] = {{7, 0, 0}, {7, 1, 1}};
    const fd_transfers transfers = {ends, 2};
    fd_export_options options = {.rank = FD_ALL_RANKS,
                                 .transfers = &transfers};
    OK(three_jobs(trace));
    const fd_trace_event *events = trace->ranks.list[0].events.list;
    EQUAL(fd_transfers_at(&transfers, &events[0]).id, 7);
    EQUAL(fd_transfers_at(&transfers, &events[1]).id, 7);
    CHECK(fd_transfers_at(&transfers, &events[1]).ends);
    EQUAL(fd_transfers_at(&transfers, &events[2]).id, 0);
    EQUAL(fd_transfers_at(&(fd_transfers){NULL, 0}, &events[0]).id, 0);
    OK(fd_export_chrome(trace, &options, &to, NULL));
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    static const char *const rows[] = {
        "\"ts\":0.010,\"dur\":0.010,\"bind_id\":\"0x80000001\","
        "\"flow_out\":true,\"name\":\"SA",
        "\"ts\":0.010,\"dur\":0.000,\"bind_id\":\"0x7\","
        "\"flow_out\":true,\"name\":\"sent\",\"cat\":\"transfer\"}",
        "\"ts\":0.039,\"dur\":0.000,\"bind_id\":\"0x7\","
        "\"flow_in\":true,\"name\":\"received\","};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        HAS(to.bytes, rows[i]);
    }
}
