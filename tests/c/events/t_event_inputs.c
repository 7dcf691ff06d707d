#include "check.h"
#include "timelines.h"

#include "events/tools/timeline_merge.h"

static fd_status
merged(fd_timeline_input *inputs, uint32_t count, fd_buffer *to)
{
    fd_timeline_request request = {.output = "merged.json",
                                   .align = fixture_align};
    fd_status status = fd_timeline_merge(&request, inputs, count, NULL);
    if (status == FD_OK) {
        status = fixture_read("merged.json", to);
    }
    fd_buffer_bytes(to, "", 1);
    return status != FD_OK ? status : to->status;
}

/* A recording and another program's trace of the same rank. */
static void
two_of_one_rank(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input inputs[] = {{.path = "torch.json"},
                                  {.path = "rank00001.fd"}};
    OK(fixture_timeline_file("rank00001.fd", 1));
    OK(fixture_write_text(
        "torch.json",
        "{\"deviceProperties\":[],\"host_name\":\"a\\u00e9\","
        "\"distributedInfo\":{\"rank\":1,\"coordinates\":"
        "{\"pipe\":1}},\"baseTimeNanoseconds\":900000,"
        "\"traceEvents\":[{\"ph\":\"X\",\"name\":\"op\",\"pid\":7,"
        "\"ts\":2,\"dur\":1}]}"));
    OK(merged(inputs, 2, &to));
    HAS(to.bytes, "\"pid\":1026,\"tid\":0,\"args\":{\"name\":"
                  "\"rank 1 | fastdispatch\"}");
    HAS(to.bytes, "\"pid\":1028,\"tid\":0,\"args\":{\"name\":"
                  "\"rank 1 | pipe 1 | torch.profiler\"}");
    HAS(to.bytes, "\"sort_index\":1024}");
    HAS(to.bytes, "\"sort_index\":1026}");
    HAS(to.bytes, "\"1 fastdispatch\":{");
    HAS(to.bytes, "\"1 torch.profiler\":{");
    /* 902000 is time 0 of the recording. */
    HAS(to.bytes, "\"pid\":1028,\"ts\":2,");
    HAS(to.bytes, "\"ts\":2.010,\"dur\":0.030,\"name\":\"forward\"");
}

/* The second recording of a rank in a run directory is skipped. */
static void
two_recordings_of_one_rank(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input inputs[] = {{.path = "rank00001.17.fd"},
                                  {.path = "rank00001.fd"}};
    OK(fixture_timeline_file("rank00001.fd", 1));
    OK(fixture_timeline_file("rank00001.17.fd", 1));
    OK(merged(inputs, 2, &to));
    CHECK(inputs[1].used && !inputs[0].used);
    SAME(inputs[0].trouble, "rank 1 is in another input");
    inputs[0] = (fd_timeline_input){.path = "./rank00001.17.fd"};
    inputs[1] = (fd_timeline_input){.path = "rank00001.fd"};
    STATUS(merged(inputs, 2, &to), FD_ECONFLICT);
}

/* The caller has converted the first file and lost a part of it; nothing of the
 * second. */
static void
converted_files(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input inputs[] = {{.path = "a.log",
                                   .content = "a.json",
                                   .damaged = 3,
                                   .damage = "3 bad lines"},
                                  {.path = "b.log",
                                   .rank = 1,
                                   .content = "b.json",
                                   .damage = "no line"}};
    OK(fixture_write_text(
        "a.json",
        "{\"paddle\":{},\"traceEvents\":[{\"ph\":\"X\",\"name\":\"op\","
        "\"pid\":7,\"ts\":2,\"dur\":1}]}"));
    OK(fixture_write_text("b.json", "{}"));
    OK(merged(inputs, 2, &to));
    CHECK(inputs[0].used && !inputs[1].used);
    SAME(inputs[1].trouble, "no line");
    HAS(to.bytes, "{\"file\":\"a.log\",\"rank\":0,\"program\":\"Paddle\"");
    HAS(to.bytes, "\"lost\":3,\"lost_bytes\":0,\"repaired\":0,\"trouble\":"
                  "\"3 bad lines\"");
}

RUN(ABSORBS(converted_files), ABSORBS(two_of_one_rank),
    ABSORBS(two_recordings_of_one_rank))
