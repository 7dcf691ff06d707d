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

/* Set the clock of the first input. */
static bool
set_clock(void *context, fd_timeline_input *const *inputs, uint32_t count,
          fd_timeline_clock *clock)
{
    const fd_rank_clock *first = context;
    *clock = (fd_timeline_clock){count == 2, 1000};
    inputs[0]->clock = *first;
    return first->method[0] != '\0';
}

/* The input given first is rank 1. */
static fd_status
two_ranks(const fd_rank_clock *first, fd_buffer *to)
{
    fd_rank_clock set;
    fd_timeline_input inputs[2] = {{.path = "b.json", .rank = 1},
                                   {.path = "a.json", .rank = 0}};
    fd_timeline_request request = {.context = &set};
    if (first != NULL) {
        set = *first;
        request.align = set_clock;
    }
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

static void
byte_for_byte(void)
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

static void
clocks(void)
{
    CLEAN(fd_buffer_clear) fd_buffer none = {.bytes = NULL};
    const fd_rank_clock invalid = {.method = ""};
    OK(two_ranks(NULL, &none));
    HAS(none.bytes, "\"ts\":1,");
    HAS(none.bytes, "\"ts\":5,");
    HAS(none.bytes, RANK("b.json", 1, "none", 0, "null"));
    STATUS(two_ranks(&invalid, &none), FD_EINVAL);
}

static void
selected_ranks(void)
{
    static const uint32_t wanted[] = {1};
    static const uint32_t absent[] = {7};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_error error;
    fd_timeline_input inputs[2] = {{.path = "a.json", .rank = 0},
                                   {.path = "b.json", .rank = 1}};
    OK(fixture_write_text("a.json", "[" EVENT(1) "]"));
    OK(fixture_write_text("b.json", "[" EVENT(2) "]"));
    OK(merge((fd_timeline_request){.ranks = wanted, .rank_count = 1}, inputs,
             2, &to, NULL));
    CHECK(inputs[0].left_out && inputs[1].used && inputs[1].events == 1);
    CHECK(strstr(to.bytes, "\"ts\":1") == NULL);
    STATUS(merge((fd_timeline_request){.ranks = absent, .rank_count = 1},
                 inputs, 2, &to, &error),
           FD_EINVAL);
    SAME(error.text, "no trace of these ranks");
}

static void
invalid_requests(void)
{
    static const struct {
        const char *first;
        const char *second;
        fd_status status;
        const char *message;
    } cases[] = {
        {"[" EVENT(1) "]", "[" EVENT(1) "]", FD_ECONFLICT,
         "rank 0 is in two inputs: a.json and b.json"},
        {"", "{}", FD_EFORMAT, "a.json: empty"},
        {"{}", "", FD_EFORMAT, "a.json: no traceEvents in it"},
        {"{\"traceEvents\":[{\"ph\"", "", FD_EFORMAT,
         "a.json: cut short at byte 21"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_timeline_input inputs[2] = {{.path = "a.json"}, {.path = "b.json"}};
        fd_error error;
        unlink("merged.json");
        OK(fixture_write_text("a.json", cases[i].first));
        OK(fixture_write_text("b.json", cases[i].second));
        STATUS(merge((fd_timeline_request){.ranks = NULL}, inputs, 2, &to,
                     &error),
               cases[i].status);
        SAME(error.text, cases[i].message);
        CHECK(access("merged.json", F_OK) != 0);
    }
}

/* One bad file does not spoil the others, and is described. */
static void
damaged_inputs(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input inputs[3] = {{.path = "a.json", .rank = 0},
                                   {.path = "b.json", .rank = 1},
                                   {.path = "c.json", .rank = 2}};
    OK(fixture_write_text("a.json", ""));
    OK(WRITE("b.json", "{\"traceEvents\":[", EVENT(1), EVENT(x),
             "{\"pid\":9,\"args\":{\"a\":NaN}}"));
    OK(fixture_write_text(
        "c.json", BASE(5) "\"traceEvents\":[" EVENT("x") "," EVENT(2) "]}"));
    fd_timeline_request request = {.align = fixture_align};
    OK(merge(request, inputs, 3, &to, NULL));
    CHECK(!inputs[0].used && strcmp(inputs[0].trouble, "empty") == 0);
    EQUAL(inputs[1].events, 1);
    EQUAL(inputs[1].lost, 1);
    SAME(inputs[1].trouble, "not JSON at byte 89");
    EQUAL(inputs[2].events, 1);
    EQUAL(inputs[2].lost, 1);
    SAME(inputs[2].trouble, "an event with a ts that is not a number");
}

static bool
count_call(void *context, uint64_t done, uint64_t total)
{
    int *calls = context;
    (*calls)++;
    return done <= total && *calls < 2;
}

static void
progress_can_stop_it(void)
{
    fd_timeline_input inputs[1] = {{.path = "long.json"}};
    int calls = 0;
    fd_timeline_request request = {
        .output = "stopped.json", .progress = count_call, .context = &calls};
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
static void
part_of_a_merge(void)
{
    static const char text[] =
        "{\"mergedFiles\":2,\"traceEvents\":["
        "{\"ph\":\"M\",\"pid\":9,\"name\":\"process_name\",\"args\":{"
        "\"name\":\"rank 1 | a\"}},"
        "{\"ph\":\"X\",\"pid\":9,\"ts\":5,\"dur\":1,\"name\":\"a\"},"
        "{\"ph\":\"X\",\"pid\":9,\"ts\":8,\"dur\":4,\"name\":\"b\"}],"
        "\"ranks\":[ {\"rank\":1,\"lost\":3}]}";
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_error error = {""};
    fd_timeline_input input = {.path = "a.json"};
    fd_timeline_request request = {
        .has_times = true, .begin_ns = 2000, .end_ns = INT64_MAX};
    OK(fixture_write_text("a.json", text));
    OK(merge(request, &input, 1, &to, NULL));
    EQUAL(input.filtered, 1);
    HAS(to.bytes, "\"mergedFiles\":2");
    HAS(to.bytes, "\"name\":\"rank 1 | a\"");
    HAS(to.bytes, "\"ranks\":[ {\"rank\":1,\"lost\":3}\n]");
    CHECK(strstr(to.bytes, "\"name\":\"a\"") == NULL);
    request.begin_ns = 20000;
    input = (fd_timeline_input){.path = "a.json"};
    STATUS(merge(request, &input, 1, &to, &error), FD_EINVAL);
    SAME(error.text, "no event in these times in any input");
}

RUN(TEST(byte_for_byte), TEST(clocks), TEST(selected_ranks),
    TEST(invalid_requests), TEST(damaged_inputs), ONCE(progress_can_stop_it),
    TEST(part_of_a_merge))
