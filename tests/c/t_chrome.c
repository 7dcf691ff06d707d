#include "check.h"
#include "timelines.h"

#include "analysis/totals.h"
#include "export/chrome.h"

#include <string.h>

static fd_status
export_as(const fd_trace *trace, const fd_export_options *options,
          fd_buffer *to, fd_error *error)
{
    fd_status status = fd_exporter_find("chrome")->write(trace, options, to,
                                                         error);
    fd_buffer_bytes(to, "", 1);
    return status != FD_OK ? status : to->status;
}

static void
the_whole_file_of_one_rank(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    OK(export_as(trace, &(fd_export_options){.rank = 1}, &to, NULL));
#define ROW "\"pid\":2,\"tid\":200001,"
#define WORK ROW "\"id2\":{\"local\":\"0x"
    char *head_end = strstr(to.bytes, "\"traceEvents\"");
    CHECK(head_end != NULL);
    SAME(head_end,
         "\"traceEvents\":[\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":0,\"name\":\"process_name\","
         "\"args\":{\"name\":\"rank 1\"}},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":0,\"name\":\"process_sort_index\","
         "\"args\":{\"sort_index\":1}},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":200000,\"name\":\"thread_name\","
         "\"args\":{\"name\":\"Steps\"}},\n"
         "{\"ph\":\"M\",\"pid\":2,\"tid\":200000,"
         "\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":200000}},\n"
         "{\"ph\":\"X\",\"pid\":2,\"tid\":200000,\"ts\":1.000,\"dur\":0.090,"
         "\"name\":\"step 0\",\"cat\":\"step\"},\n"
         "{\"ph\":\"b\"," WORK "0\"},\"ts\":1.005,\"name\":\"gloo\","
         "\"cat\":\"async\"},\n"
         "{\"ph\":\"e\"," WORK "0\"},\"ts\":1.025,\"name\":\"gloo\","
         "\"cat\":\"async\"},\n"
         "{\"ph\":\"b\"," WORK "3\"},\"ts\":1.015,\"name\":\"gloo\","
         "\"cat\":\"async\"},\n"
         "{\"ph\":\"e\"," WORK "3\"},\"ts\":1.050,\"name\":\"gloo\","
         "\"cat\":\"async\"},\n"
         "{\"ph\":\"M\"," ROW "\"name\":\"thread_name\","
         "\"args\":{\"name\":\"main\"}},\n"
         "{\"ph\":\"M\"," ROW "\"name\":\"thread_sort_index\","
         "\"args\":{\"sort_index\":200001}},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.000,\"dur\":0.100,\"name\":\"train\","
         "\"cat\":\"train.py\",\"args\":{\"open\":true}},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.010,\"dur\":0.030,"
         "\"name\":\"forward\",\"cat\":\"train.py\"},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.020,\"dur\":0.010,"
         "\"name\":\"aten::mm\",\"cat\":\"op\"},\n"
         "{\"ph\":\"X\"," ROW "\"ts\":1.060,\"dur\":0.040,"
         "\"name\":\"\\\"open\\\"\",\"cat\":\"train.py\","
         "\"args\":{\"open\":true}}\n"
         "]}\n");
}

static void
numbers_of_torch_profiler(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    OK(fd_vector_push(&trace->ranks.list[1].record_ids,
                      (fd_trace_record){1, UINT64_C(1) << 40}));
    OK(export_as(trace, &(fd_export_options){.rank = 1}, &to, NULL));
    CHECK(strstr(to.bytes,
                 "\"name\":\"aten::mm\",\"cat\":\"op\","
                 "\"args\":{\"Record function id\":1099511627776}}")
          != NULL);
}

static void
durations_in_names(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    OK(export_as(trace,
                 &(fd_export_options){.rank = FD_ALL_RANKS,
                                      .named_durations = true},
                 &to, NULL));
    CHECK(strstr(to.bytes, "\"name\":\"aten::mm (10 ns)\"") != NULL);
    CHECK(strstr(to.bytes, "\"name\":\"step 0 (90 ns)\"") != NULL);
}

/* Across hosts by the wall clock, which is 2000 ns later there. */
static void
ranks_of_other_hosts(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, false));
    OK(export_as(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to,
                 NULL));
    CHECK(strstr(to.bytes, "\"pid\":2,\"tid\":200000,\"ts\":2.000") != NULL);
    CHECK(strstr(to.bytes, "\"pid\":1,\"tid\":100000,\"ts\":0.000") != NULL);
}

/* Nothing is before 0, whoever was first. */
static void
a_later_rank_that_started_first(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    trace->ranks.list[1].start.boottime_ns = 4200;
    OK(export_as(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to,
                 NULL));
    CHECK(strstr(to.bytes, "\"pid\":2,\"tid\":200000,\"ts\":0.000") != NULL);
    CHECK(strstr(to.bytes, "\"pid\":1,\"tid\":100000,\"ts\":0.800") != NULL);
    CHECK(strstr(to.bytes, "\"baseTimeNanoseconds\":899200,") != NULL);
}

static void
losses_are_in_the_picture(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    trace->ranks.list[0].threads.list[0].events_lost = 17;
    OK(export_as(trace, &(fd_export_options){.rank = 0}, &to, NULL));
    CHECK(strstr(to.bytes, "\"name\":\"17 calls found no room in the "
                           "timeline\",\"ts\":0.100}") != NULL);
}

static void
losses_of_a_thread_that_kept_nothing(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    fd_trace_thread more = trace->ranks.list[0].threads.list[0];
    more.events_lost = 18;
    OK(fd_vector_push(&trace->ranks.list[0].threads, more));
    OK(export_as(trace, &(fd_export_options){.rank = 0}, &to, NULL));
    CHECK(strstr(to.bytes, "\"tid\":100002,\"name\":\"18 calls found no room "
                           "in the timeline\",\"ts\":0.000}\n]") != NULL);
}

/* The first piece needs no timeline. */
static void
piece_by_piece(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer whole = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer pieces = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer first = {.bytes = NULL};
    fd_export_options options = {.rank = FD_ALL_RANKS};
    fd_status status;
    size_t before;
    int count = 0;
    OK(fixture_timeline(&trace, true));
    OK(fd_export_chrome(trace, &options, &whole, NULL));
    fd_chrome *chrome = fd_chrome_open(trace, &options, &status);
    do {
        before = pieces.size;
        count++;
    } while (status == FD_OK
             && (status = fd_chrome_next(chrome, &pieces)) == FD_OK
             && pieces.size > before);
    fd_chrome_close(chrome);
    OK(status);
    CHECK(count > 5);
    EQUAL(pieces.size, whole.size);
    CHECK(memcmp(pieces.bytes, whole.bytes, whole.size) == 0);
    trace->ranks.list[0].events.count = 0;
    chrome = fd_chrome_open(trace, &options, &status);
    status = status == FD_OK ? fd_chrome_next(chrome, &first) : status;
    fd_chrome_close(chrome);
    OK(status);
    CHECK(first.size > 0 && memcmp(first.bytes, whole.bytes, first.size) == 0);
}

static void
no_timeline(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_error error = {""};
    OK(fixture_trace(&trace, 0, NULL));
    STATUS(export_as(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to,
                     &error),
           FD_EINVAL);
    CHECK(strstr(error.text, "no timeline") != NULL);
}

RUN(ABSORBS(the_whole_file_of_one_rank), ABSORBS(durations_in_names),
    ABSORBS(numbers_of_torch_profiler),
    ABSORBS(ranks_of_other_hosts),
    ABSORBS(a_later_rank_that_started_first), ABSORBS(losses_are_in_the_picture),
    ABSORBS(losses_of_a_thread_that_kept_nothing), ABSORBS(piece_by_piece),
    ABSORBS(no_timeline))
