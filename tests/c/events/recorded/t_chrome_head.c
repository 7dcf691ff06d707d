#include "check.h"
#include "timelines.h"

#include "events/recorded/chrome_head.h"
#include "profile/totals.h"
#include "trace/trace_columns.h"

#include <stdio.h>

ABSORBS(facts_and_clocks)
{
    TIMELINE_TEXT(trace, to);
    uint32_t note;
    fd_trace_rank *rank = &trace->ranks.list[1];
    OK(fixture_fact(trace, rank, "host", "\"node7\""));
    OK(fixture_fact(trace, rank, "coordinates", "{\"pipe\":1}"));
    OK(fixture_text(trace, "a \"note\"", &note));
    OK(fd_vector_push(&rank->notes, note));
    fd_chrome_head(trace, &(fd_export_options){.rank = 1}, &to);
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
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

ABSORBS(of_all_ranks)
{
    TIMELINE_TEXT(trace, to);
    fd_chrome_head(trace, &(fd_export_options){.rank = FD_ALL_RANKS}, &to);
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    HAS(to.bytes, "\"rank\":0,\"world_size\":2},\n");
    HAS(to.bytes, "},\n{\"rank\":1,\"world_size\":2,\"pid\"");
}
