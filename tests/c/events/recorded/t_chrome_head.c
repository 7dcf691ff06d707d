#include "check.h"
#include "timelines.h"

#include "events/recorded/chrome_head.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

#include <stdio.h>
#include <string.h>

static fd_status
add_fact(fd_trace *trace, const char *key, const char *json)
{
    fd_trace_meta fact;
    fd_status status =
        fd_text_pool_add(&trace->texts, key, strlen(key), &fact.key);
    if (status == FD_OK) {
        status =
            fd_text_pool_add(&trace->texts, json, strlen(json), &fact.json);
    }
    return status == FD_OK ? fd_vector_push(&trace->ranks.list[1].meta, fact)
                           : status;
}

static void
facts_and_clocks(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    uint32_t note;
    OK(fixture_timeline(&trace, true));
    OK(add_fact(trace, "host", "\"node7\""));
    OK(add_fact(trace, "coordinates", "{\"pipe\":1}"));
    OK(fd_text_pool_add(&trace->texts, "a \"note\"", 8, &note));
    OK(fd_vector_push(&trace->ranks.list[1].notes, note));
    fd_chrome_head(trace, &(fd_export_options){.rank = 1}, &to);
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    const fd_trace_rank *rank = &trace->ranks.list[1];
    char wanted[1024];
    snprintf(wanted, sizeof wanted,
             "{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":900000,"
             "\"distributedInfo\":{\"rank\":1,\"world_size\":2},\n"
             "\"host_name\":\"node7\",\n\"coordinates\":{\"pipe\":1},\n"
             "\"clock\":{\"boot_id\":\"%s\",\"boottime_ns\":5000},\n"
             "\"recordings\":[\n{\"rank\":1,\"world_size\":2,\"pid\":%u,"
             "\"id\":\"%s\",\"state\":\"%s\",\"boot_id\":\"%s\","
             "\"start\":{\"monotonic\":%llu,\"boottime\":6000,"
             "\"realtime\":902000},\n\"notes\":[\"a \\\"note\\\"\"],"
             "\"facts\":{\"host\":\"node7\",\"coordinates\":{\"pipe\":1}}}"
             "\n]",
             rank->boot_id, rank->pid, rank->id, fd_state_names[rank->state],
             rank->boot_id, (unsigned long long)rank->start.monotonic_ns);
    SAME(to.bytes, wanted);
}

static void
of_all_ranks(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    fd_chrome_head(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to);
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    CHECK(strstr(to.bytes, "\"rank\":0,\"world_size\":2},\n") != NULL);
    CHECK(strstr(to.bytes, "},\n{\"rank\":1,\"world_size\":2,\"pid\"")
          != NULL);
}

RUN(ABSORBS(facts_and_clocks), ABSORBS(of_all_ranks))
