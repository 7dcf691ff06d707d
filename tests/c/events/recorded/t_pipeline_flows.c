#include "check.h"
#include "fixtures.h"

#include "events/recorded/pipeline_flows.h"
#include "events/recorded/timeline_exports.h"
#include "profile/totals.h"

typedef struct job_options {
    const char *kind;
    uint32_t stage, peer, micro_batch;
    uint64_t start, end;
    uint32_t flags;
} job_options;

static fd_status
add_job(fd_trace *trace, fd_trace_rank *rank, const job_options *options)
{
    fd_trace_job job = {.context = 1,
                        .micro_batch = options->micro_batch + 1,
                        .stage = options->stage + 1,
                        .peer = options->peer + 1,
                        .flags = options->flags,
                        .start = options->start,
                        .duration = options->end - options->start};
    fd_trace_event event = {.start = options->start,
                            .duration = job.duration,
                            .context = rank->jobs.count,
                            .kind = FD_EVENT_JOB};
    fd_status status = fixture_text(trace, options->kind, &job.kind);
    status = status == FD_OK ? fd_vector_push(&rank->jobs, job) : status;
    return status == FD_OK ? fd_vector_push(&rank->events, event) : status;
}

/* Two stages: micro-batch 0 as it should be, to a receive that waits; 1 is
 * received, by a clock that is off, before it is sent; 2 is received in a job
 * that posts and one that waits; stage 2 is rank 1's as well. */
static fd_status
two_ranks(fd_trace **made)
{
    static const job_options jobs[2][7] = {
        {{"SA", 0, 1, 0, 10, 20, 0},
         {"SA", 0, 1, 1, 60, 70, 0},
         {"SA", 0, 1, 2, 80, 90, 0}},
        {{"RA", 1, 0, 0, 5, 30, 0},
         {"RA", 1, 0, 1, 40, 50, 0},
         {"RA", 1, 0, 2, 60, 62, FD_JOB_POSTED},
         {"RA", 1, 0, 2, 70, 95, 0},
         {"SA", 1, 2, 0, 100, 110, 0},
         {"RA", 2, 1, 0, 112, 120, 0},
         {"SA", 1, 2, 1, 130, 140, 0}}};
    *made = fd_trace_new();
    fd_status status = *made == NULL ? FD_ENOMEM : FD_OK;
    for (uint32_t i = 0; i < 2 && status == FD_OK; i++) {
        fd_trace_rank *rank = fd_trace_add_rank(*made);
        status = rank == NULL ? FD_ENOMEM : FD_OK;
        for (int j = 0; j < 7 && status == FD_OK; j++) {
            rank->rank = i;
            if (jobs[i][j].kind != NULL) {
                status = add_job(*made, rank, &jobs[i][j]);
            }
        }
    }
    return status;
}

static fd_arrow_end
at(const fd_transfers *transfers, const fd_trace *trace, uint32_t rank,
   uint32_t event)
{
    return fd_transfers_at(transfers, rank,
                           &trace->ranks.list[rank].events.list[event]);
}

static void
from_sends_to_receives(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_transfers_clear) fd_transfers found = {.ends = NULL};
    fd_export_options options = {.rank = FD_ALL_RANKS};
    OK(two_ranks(&trace));
    OK(fd_transfers_make(&found, trace, &options));
    static const struct {
        uint32_t rank, event;
        uint64_t id;
        bool ends;
    } wanted[] = {{0, 0, 0xC0000000, false}, {1, 0, 0xC0000000, true},
                  {0, 1, 0, false},          {1, 1, 0, false},
                  {0, 2, 0xC0000002, false}, {1, 2, 0, false},
                  {1, 3, 0xC0000002, true},  {1, 4, 0x1C0000004, false},
                  {1, 5, 0x1C0000004, true}, {1, 6, 0, false}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        fd_arrow_end end = at(&found, trace, wanted[i].rank, wanted[i].event);
        EQUAL(end.id, wanted[i].id);
        EQUAL(end.ends, wanted[i].ends);
    }
    EQUAL(fd_transfer_arrival(&trace->ranks.list[1].events.list[0]), 29);
}

static void
only_exported_ranks(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_transfers_clear) fd_transfers found = {.ends = NULL};
    fd_export_options options = {.rank = 1};
    OK(two_ranks(&trace));
    OK(fd_transfers_make(&found, trace, &options));
    EQUAL(at(&found, trace, 1, 0).id, 0);
    EQUAL(at(&found, trace, 1, 5).id, 0x1C0000004);
    fd_transfers_clear(&found);
    trace->ranks.list[0].events.list[0].kind = FD_EVENT_ASYNC; /* no slice */
    options.rank = FD_ALL_RANKS;
    OK(fd_transfers_make(&found, trace, &options));
    EQUAL(at(&found, trace, 1, 0).id, 0);
    EQUAL(at(&found, trace, 1, 3).id, 0xC0000002);
    fd_transfers_clear(&found);
    options.no_flows = true;
    OK(fd_transfers_make(&found, trace, &options));
    CHECK(found.ends == NULL);
}

/* A slice has one flow in Chrome JSON. */
static void
a_send_that_launches(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_export_options options = {.rank = FD_ALL_RANKS};
    OK(two_ranks(&trace));
    for (uint32_t i = 0; i < 2; i++) {
        OK(fd_vector_push(&trace->ranks.list[i].threads,
                          (fd_trace_thread){.role = 0}));
    }
    OK(fd_vector_push(&trace->ranks.list[0].gpu_events,
                      (fd_trace_gpu_event){.host = 15,
                                           .start = 40,
                                           .duration = 5,
                                           .context = 1,
                                           .launcher = 1}));
    OK(fd_export_chrome(trace, &options, &to, NULL));
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    static const char *const rows[] = {
        "\"ts\":0.010,\"dur\":0.010,\"bind_id\":\"0x80000001\","
        "\"flow_out\":true,\"name\":\"SA mb0",
        "\"ts\":0.010,\"dur\":0.000,\"bind_id\":\"0xc0000000\","
        "\"flow_out\":true,\"name\":\"sent\",\"cat\":\"transfer\"}",
        "\"pid\":2,\"tid\":200001,\"ts\":0.029,\"dur\":0.000,\"bind_id\":"
        "\"0xc0000000\",\"flow_in\":true,\"name\":\"received\",",
        "\"ts\":0.080,\"dur\":0.010,\"bind_id\":\"0xc0000002\","
        "\"flow_out\":true,\"name\":\"SA mb2"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        HAS(to.bytes, rows[i]);
    }
}

RUN(TEST(from_sends_to_receives), TEST(only_exported_ranks),
    TEST(a_send_that_launches))
