#include "check.h"
#include "timelines.h"

#include "trace/rank_facts.h"

static void
labels_and_offsets_of_ranks(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer label = {.bytes = NULL};
    OK(fixture_timeline(&trace, true));
    EQUAL(fd_rank_offset(trace, &trace->ranks.list[0]), 0);
    EQUAL(fd_rank_offset(trace, &trace->ranks.list[1]), 1000);
    EQUAL(fd_first_offset(trace), 0);
    trace->ranks.list[1].start.boottime_ns = 4200;
    EQUAL(fd_first_offset(trace), -800);
    fd_trace_meta host = {.key = 0};
    fd_trace_meta place = {.key = 0};
    OK(fd_text_pool_add(&trace->texts, "host", 4, &host.key));
    OK(fd_text_pool_add(&trace->texts, "\"node7\"", 7, &host.json));
    OK(fd_vector_push(&trace->ranks.list[1].meta, host));
    OK(fd_text_pool_add(&trace->texts, "coordinates", 11, &place.key));
    OK(fd_text_pool_add(&trace->texts, "{\"pipe\":1,\"data\":0}", 19,
                        &place.json));
    OK(fd_vector_push(&trace->ranks.list[1].meta, place));
    fd_rank_label(trace, &trace->ranks.list[1], &label);
    fd_buffer_bytes(&label, "", 1);
    OK(label.status);
    SAME(label.bytes, "rank 1 | node7 | pipe 1, data 0");
}

RUN(ABSORBS(labels_and_offsets_of_ranks))
