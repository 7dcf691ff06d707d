#include "check.h"
#include "timelines.h"

#include "events/recorded/timeline_exports.h"
#include "profile/totals.h"

#include <string.h>

static fd_status
export_as(const fd_trace *trace, const fd_export_options *options,
          fd_buffer *to, fd_error *error)
{
    fd_status status = fd_export_chrome(trace, options, to, error);
    fd_buffer_bytes(to, "", 1);
    return status != FD_OK ? status : to->status;
}

ABSORBS(the_whole_file_of_one_rank)
{
    TIMELINE_TEXT(trace, to);
    OK(export_as(trace, &(fd_export_options){.rank = 1}, &to, NULL));
#define ROW "\"pid\":2,\"tid\":200001,"
#define GLOO "\"name\":\"gloo\",\"cat\":\"async\"},\n"
    char *head_end = strstr(to.bytes, "\"traceEvents\"");
    CHECK(head_end != NULL);
    SAME(head_end,
         "\"traceEvents\":[\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":0,\"name\":\"process_name\","
         "\"args\":{\"name\":\"rank 1\"}},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":0,\"name\":\"process_sort_index\","
         "\"args\":{\"sort_index\":1}},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":279999,\"name\":\"thread_name\","
         "\"args\":{\"name\":\"Time by phase\"}},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":279999,"
         "\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":200000}},\n"
         "{\"ph\":\"X\",\"pid\":2,\"tid\":279999,\"ts\":1.000,\"dur\":0.030,"
         "\"name\":\"phase: forward\",\"cat\":\"phase\"},\n"
         "{\"ph\":\"X\",\"pid\":2,\"tid\":279999,\"ts\":1.030,\"dur\":0.060,"
         "\"name\":\"phase: other\",\"cat\":\"phase\"},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":200000,\"name\":\"thread_name\","
         "\"args\":{\"name\":\"Steps\"}},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":200000,"
         "\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":200000}},\n"
         "{\"ph\":\"X\",\"pid\":2,\"tid\":200000,\"ts\":1.000,\"dur\":0.090,"
         "\"name\":\"step 0\",\"cat\":\"step\"},\n"
         "{\"ph\":\"b\"," ROW "\"ts\":1.005,\"id2\":{\"local\":\"0x0\"}," GLOO
         "{\"ph\":\"e\"," ROW "\"ts\":1.025,\"id2\":{\"local\":\"0x0\"}," GLOO
         "{\"ph\":\"b\"," ROW "\"ts\":1.015,\"id2\":{\"local\":\"0x3\"}," GLOO
         "{\"ph\":\"e\"," ROW "\"ts\":1.050,\"id2\":{\"local\":\"0x3\"}," GLOO
         "{\"ph\":\"M\"," ROW "\"name\":\"thread_name\","
         "\"args\":{\"name\":\"main\"}},\n"
         "{\"ph\":\"M\"," ROW "\"name\":\"thread_sort_index\","
         "\"args\":{\"sort_index\":200001}},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.000,\"dur\":0.100,"
         "\"name\":\"train\",\"cat\":\"train.py\",\"args\":{\"open\":true}},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.010,\"dur\":0.030,"
         "\"name\":\"forward\",\"cat\":\"train.py\"},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.020,\"dur\":0.010,"
         "\"name\":\"aten::mm\",\"cat\":\"op\"},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.060,\"dur\":0.040,"
         "\"name\":\"\\\"open\\\"\",\"cat\":\"train.py\","
         "\"args\":{\"open\":true}}\n"
         "]}\n");
}

ABSORBS(numbers_of_torch_profiler)
{
    TIMELINE_TEXT(trace, to);
    OK(fd_vector_push(&trace->ranks.list[1].record_ids,
                      (fd_trace_record){1, UINT64_C(1) << 40}));
    OK(export_as(trace, &(fd_export_options){.rank = 1}, &to, NULL));
    HAS(to.bytes, "\"name\":\"aten::mm\",\"cat\":\"op\","
                  "\"args\":{\"Record function id\":1099511627776}}");
}

ABSORBS(durations_in_names)
{
    TIMELINE_TEXT(trace, to);
    OK(export_as(trace,
                 &(fd_export_options){.rank = FD_ALL_RANKS,
                                      .durations = FD_DURATIONS_NAME},
                 &to, NULL));
    HAS(to.bytes, "\"name\":\"aten::mm (10 ns)\"");
    HAS(to.bytes, "\"name\":\"step 0 (90 ns)\"");
}

/* Across hosts by the wall clock, which is 2000 ns later there. */
ABSORBS(ranks_of_other_hosts)
{
    TIMELINE_TRACE(trace, false);
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(export_as(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to,
                 NULL));
    HAS(to.bytes, "\"pid\":2,\"tid\":200000,\"ts\":2.000");
    HAS(to.bytes, "\"pid\":1,\"tid\":100000,\"ts\":0.000");
}

/* No event is before 0, whichever rank is first. */
ABSORBS(a_later_rank_that_started_first)
{
    TIMELINE_TEXT(trace, to);
    trace->ranks.list[1].start.boottime_ns = 4200;
    OK(export_as(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to,
                 NULL));
    HAS(to.bytes, "\"pid\":2,\"tid\":200000,\"ts\":0.000");
    HAS(to.bytes, "\"pid\":1,\"tid\":100000,\"ts\":0.800");
    HAS(to.bytes, "\"baseTimeNanoseconds\":899200,");
}

static fd_status
add_job_and_interval(const fd_trace *trace, fd_trace_rank *rank)
{
    uint32_t forward = fixture_find(trace, "forward");
    uint32_t mm = fixture_find(trace, "aten::mm");
    uint32_t job = 0;
    uint32_t call = 0;
    for (uint32_t i = 0; i < rank->events.count; i++) {
        const fd_trace_event *event = &rank->events.list[i];
        job = event->kind == FD_EVENT_CALL && event->context == forward ? i
                                                                        : job;
        call = event->kind == FD_EVENT_CALL && event->context == mm ? i : call;
    }
    fd_status status = fd_vector_push(
        &rank->jobs, ((fd_trace_job){.context = forward, .duration = 30}));
    if (status == FD_OK) {
        rank->events.list[job].kind = FD_EVENT_JOB;
        rank->events.list[job].context = 0;
        status = fd_vector_push(&rank->flows,
                                ((fd_trace_flow){.from = call, .to = job}));
    }
    return status != FD_OK
             ? status
             : fd_vector_push(&rank->gpu_events,
                              ((fd_trace_gpu_event){.host = 25,
                                                    .start = 40,
                                                    .duration = 10,
                                                    .context = mm,
                                                    .launcher = mm}));
}

/* Its clock is 5 us behind and loses a third. */
ABSORBS(all_events_are_aligned)
{
    TIMELINE_TEXT(trace, to);
    const fd_rank_clock clocks[] = {
        {.method = "reference"},
        {.method = "pingpong",
         .map = {.offset_ns = 5000, .drift_ppt = 500000000000}}};
    OK(add_job_and_interval(trace, &trace->ranks.list[1]));
    OK(export_as(trace, &(fd_export_options){.rank = 1, .clocks = clocks}, &to,
                 NULL));
    HAS(to.bytes, ROW "\"ts\":5.015,\"dur\":0.045,");
    HAS(to.bytes, ROW "\"ts\":5.030,\"dur\":0.015,");
    HAS(to.bytes, "\"tid\":280000,\"ts\":5.060,\"dur\":0.015,");
    const char *const ends[] = {
        "\"s\"," ROW "\"ts\":5.030,\"id\":4294967297,\"name\":\"fwdbwd\","
        "\"cat\":\"fwdbwd\"}",
        "\"f\"," ROW "\"ts\":5.015,\"id\":4294967297,\"bp\":\"e\","
        "\"name\":\"fwdbwd\",\"cat\":\"fwdbwd\"}",
        ROW "\"ts\":5.030,\"dur\":0.015,\"bind_id\":\"0x180000001\","
            "\"flow_out\":true,",
        "\"tid\":280000,\"ts\":5.060,\"dur\":0.015,\"bind_id\":"
        "\"0x180000001\",\"flow_in\":true,"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        HAS(to.bytes, ends[i]);
    }
}

ABSORBS(losses_are_in_the_picture)
{
    TIMELINE_TEXT(trace, to);
    trace->ranks.list[0].threads.list[0].events_lost = 17;
    OK(export_as(trace, &(fd_export_options){.rank = 0}, &to, NULL));
    HAS(to.bytes, "\"ts\":0.100,\"s\":\"t\",\"name\":\"17 events "
                  "found no room in the timeline\"}");
    CHECK(strstr(to.bytes, "GPU intervals") == NULL);
    to.size = 0;
    trace->ranks.list[0].counters[FD_COUNT_GPU_EVENTS_LOST] = 19;
    OK(export_as(trace, &(fd_export_options){.rank = 0}, &to, NULL));
    HAS(to.bytes, "\"s\":\"p\",\"name\":\"19 GPU intervals "
                  "found no room in the timeline\"}");
}

ABSORBS(losses_of_a_thread_that_kept_nothing)
{
    TIMELINE_TEXT(trace, to);
    fd_trace_thread more = trace->ranks.list[0].threads.list[0];
    more.events_lost = 18;
    OK(fd_vector_push(&trace->ranks.list[0].threads, more));
    OK(export_as(trace, &(fd_export_options){.rank = 0}, &to, NULL));
    HAS(to.bytes, "\"tid\":100002,\"ts\":0.000,\"s\":\"t\","
                  "\"name\":\"18 events found no room in the "
                  "timeline\"}\n]");
}

ABSORBS(no_timeline)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_error error = {""};
    STATUS(export_as(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to,
                     &error),
           FD_EINVAL);
    HAS(error.text, "no timeline");
}
