#include "check.h"
#include "timelines.h"

#include "events/recorded/chrome_tracks.h"

static void
rows_of_phases_and_counters(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = fd_trace_new();
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    OK(trace != NULL && fd_trace_add_rank(trace) != NULL ? FD_OK : FD_ENOMEM);
    fd_trace_rank *rank = &trace->ranks.list[0];
    fd_clock_map clock = {.offset_ns = 1000};
    fd_chrome_tracks tracks = {trace, rank, &clock, 77, 5};
    CLEAN(fd_chrome_counters_clear)
    fd_chrome_counters counters = {.next = 0};
    OK(fd_chrome_phases(&tracks, &batch));
    OK(fd_chrome_counters_make(&counters, rank));
    CHECK(!fd_chrome_counters_next(&counters, &tracks, &batch));
    EQUAL(batch.items.count, 0);
    fd_trace_step step = {.begin = 100, .end = 160};
    step.phases[FD_PHASE_FORWARD] = 20;
    OK(fd_vector_push(&rank->latest, step));
    fd_trace_gpu_event event = {.host = 10, .start = 12, .duration = 8};
    OK(fd_vector_push(&rank->gpu_events, event));
    fd_trace_thread thread = {.events_lost = 3};
    OK(fixture_text(trace, "a \"b\"", &thread.role));
    OK(fd_vector_push(&rank->threads, thread));
    OK(fd_chrome_phases(&tracks, &batch));
    OK(fd_chrome_counters_make(&counters, rank));
    while (fd_chrome_counters_next(&counters, &tracks, &batch)) {
    }
    OK(batch.status);
    fixture_print(&batch, &to);
#define GPU "\"name\":\"GPU 0 marked calls in flight\",\"args\":{\"value\":"
    WRITTEN(
        &to,
        "{\"ph\":\"M\",\"pid\":1,\"tid\":77,\"name\":\"thread_name\","
        "\"args\":{\"name\":\"Time by phase\"}}\n"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":77,\"name\":\"thread_sort_index\","
        "\"args\":{\"sort_index\":5}}\n"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":77,\"ts\":1.100,\"dur\":0.020,"
        "\"name\":\"phase: forward\",\"cat\":\"phase\"}\n"
        "{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":1.010," GPU "1}}\n"
        "{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":1.020," GPU "0}}\n"
        "{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":1.000,"
        "\"name\":\"a \\\"b\\\": events lost\",\"args\":{\"value\":3}}\n");
}

RUN(TEST(rows_of_phases_and_counters))
