#include "check.h"
#include "timelines.h"

#include "events/tools/timeline_merge.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE(ns) "{\"baseTimeNanoseconds\":" #ns ","
#define EVENT(ts) "{\"ph\":\"X\",\"pid\":9,\"tid\":1,\"ts\":" #ts ",\"dur\":1}"
#define ROWS(rank, pid, place, tid) \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" #pid \
    ",\"tid\":0,\"args\":{\"name\":\"rank " #rank "\"}},\n" \
    "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":" #pid \
    ",\"tid\":0,\"args\":{\"sort_index\":" #place "}},\n" \
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" #pid ",\"tid\":" #tid \
    ",\"args\":{\"name\":\"tid 1\"}}"
#define RANK(file, rank, align, offset, error) \
    "{\"file\":\"" file "\",\"rank\":" #rank \
    ",\"program\":\"\",\"events\":1,\"arrows\":0,\"filtered\":0,\"lost\":0," \
    "\"lost_bytes\":0,\"repaired\":0,\"trouble\":\"\",\"align\":\"" align \
    "\",\"offset_ns\":" #offset ",\"at_ns\":0,\"drift_ppb\":0.000," \
    "\"uncertainty_ns\":" error ",\"residual_ns\":null,\"violations\":0}"

/* Merge and read what came of it. */
static fd_status
merge(fd_timeline_request request, fd_timeline_input *inputs, uint32_t count,
      fd_buffer *to, fd_error *error)
{
    request.output = "merged.json";
    fd_status status = fd_timeline_merge(&request, inputs, count, error);
    if (status == FD_OK) {
        status = fixture_read("merged.json", to);
    }
    fd_buffer_bytes(to, "", 1);
    return status == FD_OK ? to->status : status;
}

static fd_status
two_ranks(const fd_rank_clock *first, fd_buffer *to)
{
    fd_timeline_input inputs[2] = {FILE_INPUT("a.json", 0),
                                   FILE_INPUT("b.json", 1)};
    fd_timeline_request request = {.has_base = true, .base_ns = 1000};
    inputs[0].clock = *first;
    fd_status status = fixture_write_text(
        "a.json",
        BASE(2000) "\"displayTimeUnit\":\"ns\",\"traceEvents\":[" EVENT(
            1) "]}");
    if (status == FD_OK) {
        status = fixture_write_text(
            "b.json",
            BASE(1000) "\"traceEvents\":[" EVENT(5) "],\"x\":[1.50]}");
    }
    return status == FD_OK ? merge(request, inputs, 2, to, NULL) : status;
}

TEST(byte_for_byte)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    const fd_rank_clock clock = {
        .map = {.offset_ns = 1000}, .method = "wall", .uncertainty_ns = 7};
    OK(two_ranks(&clock, &to));
    CLEAN(fd_buffer_clear) fd_buffer wanted = {.bytes = NULL};
    OK(JOIN(&wanted, "",
            "{\"mergedFiles\":2,\"traceEvents\":[ \n"
            "{\"ph\":\"X\",\"pid\":2,\"tid\":3000000000,\"ts\":2.000,"
            "\"dur\":1},\n",
            ROWS(0, 2, 0, 3000000000),
            ",\n{\"ph\":\"X\",\"pid\":1026,\"tid\":3000000001,\"ts\":5,"
            "\"dur\":1},\n",
            ROWS(1, 1026, 1024, 3000000001),
            "\n],\n\"displayTimeUnit\":\"ns\",\n"
            "\"baseTimeNanoseconds\":1000,\n\"ranks\":[\n",
            RANK("a.json", 0, "wall", 1000, "7"), ",\n",
            RANK("b.json", 1, "none", 0, "null"),
            "\n],\n\"metadata\":{\"0\":{\"baseTimeNanoseconds\":2000,\n"
            "\"displayTimeUnit\":\"ns\"},\n"
            "\"1\":{\"baseTimeNanoseconds\":1000,\n\"x\":[1.50]}}}\n"));
    SAME(to.bytes, wanted.bytes);
}

/* Events without their bit are skipped. */
TEST(kept_events)
{
    static const char bits[] = {5};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input = FILE_INPUT("a.json", 0);
    input.kept = bits;
    input.kept_bytes = sizeof bits;
    OK(WRITE("a.json", "[", EVENT(1), EVENT(2), EVENT(3) "]"));
    OK(merge((fd_timeline_request){.sorted = false}, &input, 1, &to, NULL));
    FIELDS(&input, (events, 2), (filtered, 1));
    HAS(to.bytes, "\"ts\":1,");
    HAS(to.bytes, "\"ts\":3,");
    CHECK(strstr(to.bytes, "\"ts\":2,") == NULL);
}

TEST(no_events)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input = FILE_INPUT("a.json", 0);
    fd_error error;
    unlink("merged.json");
    OK(fixture_write_text("a.json", "{\"traceEvents\":[{\"ph\""));
    STATUS(
        merge((fd_timeline_request){.sorted = false}, &input, 1, &to, &error),
        FD_EFORMAT);
    SAME(error.text, "a.json: cut short at byte 21");
    CHECK(access("merged.json", F_OK) != 0);
}

/* One bad file does not spoil the others, and is described. */
TEST(damaged_inputs)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input inputs[2] = {FILE_INPUT("b.json", 1),
                                   FILE_INPUT("c.json", 2)};
    OK(WRITE("b.json", "{\"traceEvents\":[", EVENT(1), EVENT(x),
             "{\"pid\":9,\"args\":{\"a\":NaN}}"));
    OK(fixture_write_text(
        "c.json", BASE(5) "\"traceEvents\":[" EVENT("x") "," EVENT(2) "]}"));
    inputs[1].clock.map.offset_ns = 5;
    OK(merge((fd_timeline_request){.sorted = false}, inputs, 2, &to, NULL));
    FIELDS(&inputs[0], (events, 1), (lost, 1));
    SAME(inputs[0].trouble, "not JSON at byte 89");
    FIELDS(&inputs[1], (events, 1), (lost, 1));
    SAME(inputs[1].trouble, "an event with a ts that is not a number");
}

static bool
count_call(void *context, uint64_t done, uint64_t total)
{
    int *calls = context;
    (*calls)++;
    return done <= total && *calls < 2;
}

ONCE(progress_can_stop_it)
{
    fd_timeline_input inputs[1] = {FILE_INPUT("long.json", 0)};
    int calls = 0;
    fd_timeline_request request = {.output = "stopped.json",
                                   .total = UINT64_MAX,
                                   .progress = count_call,
                                   .context = &calls};
    FILE *file = fopen("long.json", "wb");
    CHECK(file != NULL);
    fputs("[", file);
    for (long size = 0; size < 20L << 20; size += (long)sizeof EVENT(1)) {
        fputs(EVENT(1) ",", file);
    }
    CHECK(fclose(file) == 0);
    STATUS(fd_timeline_merge(&request, inputs, 1, NULL), FD_EINVAL);
    EQUAL(calls, 2);
    CHECK(access("stopped.json", F_OK) != 0);
}

/* Of a merge, the names of processes and the rows of ranks are kept. */
TEST(part_of_a_merge)
{
    static const char text[] =
        "{\"mergedFiles\":2,\"traceEvents\":["
        "{\"ph\":\"M\",\"pid\":9,\"name\":\"process_name\",\"args\":{"
        "\"name\":\"rank 1 | a\"}},"
        "{\"ph\":\"X\",\"pid\":9,\"ts\":5,\"dur\":1,\"name\":\"a\"},"
        "{\"ph\":\"X\",\"pid\":9,\"ts\":8,\"dur\":4,\"name\":\"b\"}],"
        "\"ranks\":[ {\"rank\":1,\"lost\":3}]}";
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input = FILE_INPUT("a.json", 0);
    input.label = "";
    input.merged = 2;
    OK(fixture_write_text("a.json", text));
    OK(merge((fd_timeline_request){.sorted = false}, &input, 1, &to, NULL));
    HAS(to.bytes, "\"mergedFiles\":2");
    HAS(to.bytes, "\"name\":\"rank 1 | a\"");
    HAS(to.bytes, "\"ranks\":[ {\"rank\":1,\"lost\":3}\n]");
}
