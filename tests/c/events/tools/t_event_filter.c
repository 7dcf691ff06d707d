#include "check.h"
#include "timelines.h"

#include "events/readers/event_reader.h"
#include "events/tools/event_filter.h"

#define STEP(number, pid, from, dur) \
    "{\"ph\":\"X\",\"name\":\"ProfilerStep#" #number "\",\"pid\":" #pid \
    ",\"ts\":" #from ",\"dur\":" #dur "}"
#define EVENT(phase, name, pid, more) \
    "{\"ph\":\"" phase "\",\"name\":\"" name "\",\"pid\":" #pid "," more "}"

/* Names of what is kept of trace.json, one after another. */
static fd_status
kept(fd_timeline_request *request, fd_buffer *to)
{
    fd_timeline_reader reader;
    fd_timeline_windows windows = {.all = {.any = false}};
    fd_timeline_input input = {.path = "trace.json"};
    fd_timeline_filter filter = {
        .request = request, .input = &input, .origin_ns = 100000};
    fd_status status = FD_OK;
    if (request->has_steps) {
        status = fd_timeline_windows_find(&windows, &input, request, NULL);
        input.windows = &windows;
    }
    status =
        status == FD_OK ? fd_timeline_filter_begin(&filter, NULL) : status;
    if (status == FD_OK) {
        status = fd_timeline_reader_open(&reader, "trace.json", NULL);
        while (status == FD_OK
               && fd_timeline_reader_next(&reader) == FD_TIMELINE_EVENT) {
            if (fd_timeline_filter_keeps(&filter, &reader.event)) {
                fd_span name = fd_span_inside(reader.event.name);
                fd_buffer_bytes(to, name.from, fd_span_size(name));
                fd_buffer_text(to, " ");
            }
        }
        status = status == FD_OK ? reader.status : status;
        fd_timeline_reader_close(&reader);
    }
    fd_buffer_format(to, "-%u", (unsigned)filter.skipped);
    fd_buffer_bytes(to, "", 1);
    fd_timeline_filter_clear(&filter);
    fd_timeline_windows_clear(&windows);
    return status == FD_OK ? to->status : status;
}

static void
events_of_steps(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_request request = {
        .has_steps = true, .first_step = 1, .end_step = 3};
    OK(WRITE(
        "trace.json", "[", EVENT("M", "row", 1, "\"ts\":0"), STEP(0, 1, 0, 10),
        STEP(1, 1, 10, 10), STEP(2, 1, 20, 10), STEP(3, 1, 30, 10),
        STEP(1, 7, 15, 100), EVENT("X", "a", 1, "\"ts\":9.999,\"dur\":5"),
        EVENT("X", "b", 1, "\"ts\":10"), EVENT("i", "c", 1, "\"ts\":29.9"),
        EVENT("i", "d", 1, "\"ts\":30"),
        /* one process with steps, one without */
        EVENT("i", "e", 7, "\"ts\":14"), EVENT("i", "f", 7, "\"ts\":114"),
        EVENT("i", "g", 9, "\"ts\":12"), EVENT("i", "h", 9, "\"ts\":116"),
        EVENT("C", "i", 9, "\"x\":1") "]"));
    OK(kept(&request, &to));
    SAME(to.bytes, "row ProfilerStep#1 ProfilerStep#2 ProfilerStep#1 b c f g "
                   "i -6");
}

static bool
other_steps(void *context, const char *path, uint64_t first_step,
            uint64_t end_step, bool *any, int64_t times[2])
{
    *any = first_step == 1 && end_step == 3;
    times[0] = 10000;
    times[1] = 20000;
    return path != NULL && context == NULL;
}

static void
events_of_other_steps(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    int stops;
    fd_timeline_request request = {.has_steps = true,
                                   .first_step = 1,
                                   .end_step = 3,
                                   .find_steps = other_steps};
    OK(WRITE("trace.json", "[", EVENT("i", "a", 1, "\"ts\":9"),
             EVENT("i", "b", 1, "\"ts\":10"),
             EVENT("i", "c", 1, "\"ts\":20") "]"));
    OK(kept(&request, &to));
    SAME(to.bytes, "b -2");
    request.context = &stops;
    STATUS(kept(&request, &to), FD_EINVAL);
}

/* Of begins and ends both stay or neither. */
static void
ends_go_with_their_begins(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_request request = {
        .has_steps = true, .first_step = 1, .end_step = 2};
    OK(WRITE("trace.json", "[", STEP(1, 1, 10, 10),
             EVENT("B", "a", 1, "\"tid\":1,\"ts\":1"),
             EVENT("B", "b", 1, "\"tid\":1,\"ts\":11"),
             EVENT("B", "c", 1, "\"tid\":2,\"ts\":12"),
             EVENT("E", "b", 1, "\"tid\":1,\"ts\":15"),
             EVENT("E", "a", 1, "\"tid\":1,\"ts\":16"),
             EVENT("B", "d", 1, "\"tid\":2,\"ts\":25"),
             EVENT("E", "d", 1, "\"tid\":2,\"ts\":26"),
             EVENT("E", "c", 1, "\"tid\":2,\"ts\":27"),
             EVENT("b", "x", 1, "\"cat\":\"k\",\"id\":1,\"ts\":18"),
             EVENT("b", "y", 1, "\"cat\":\"k\",\"id\":2,\"ts\":5"),
             EVENT("e", "x", 1, "\"cat\":\"k\",\"id\":1,\"ts\":99"),
             EVENT("e", "y", 1, "\"cat\":\"k\",\"id\":2,\"ts\":15") "]"));
    OK(kept(&request, &to));
    SAME(to.bytes, "ProfilerStep#1 b c b c x x -6");
}

/* The step on the GPU has one of its kernels; the second step has no end. */
static void
work_goes_with_its_launch(void)
{
    static const struct {
        uint64_t first;
        const char *kept;
    } cases[] = {{1, "ProfilerStep#1 l1 ProfilerStep#1 k1 k2 f f -4"},
                 {2, "ProfilerStep#2 l3 ProfilerStep#1 k3 k4 -6"}};
    OK(WRITE("trace.json", "[", STEP(1, 1, 10, 10), STEP(2, 1, 20, 0),
             EVENT("X", "l1", 1,
                   "\"ts\":11,\"dur\":1,\"cat\":\"cuda_runtime\","
                   "\"args\":{\"correlation\":5}"),
             EVENT("X", "l3", 1,
                   "\"ts\":25,\"dur\":1,\"cat\":\"xpu_runtime\","
                   "\"args\":{\"correlation\":6}"),
             "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":"
             "\"ProfilerStep#1\",\"pid\":0,\"ts\":30,\"dur\":5}",
             EVENT("X", "k1", 0,
                   "\"ts\":30,\"dur\":5,\"cat\":\"kernel\",\"args\":{"
                   "\"correlation\":5}"),
             EVENT("X", "k2", 0,
                   "\"ts\":50,\"dur\":5,\"cat\":\"gpu_memcpy\",\"args\":{"
                   "\"correlation\":5}"),
             EVENT("X", "k3", 0,
                   "\"ts\":31,\"dur\":5,\"cat\":\"kernel\",\"args\":{"
                   "\"correlation\":6}"),
             EVENT("X", "k4", 1,
                   "\"ts\":70,\"dur\":5,\"cat\":\"kernel\",\"args\":{"
                   "\"correlation\":7}"),
             EVENT("s", "f", 1, "\"ts\":11,\"id\":5,\"cat\":\"ac2g\""),
             EVENT("f", "f", 0, "\"ts\":50,\"id\":5,\"cat\":\"ac2g\"") "]"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_timeline_request request = {.has_steps = true,
                                       .first_step = cases[i].first,
                                       .end_step = cases[i].first + 1};
        OK(kept(&request, &to));
        SAME(to.bytes, cases[i].kept);
    }
}

#define AT(phase, name, ts, more) \
    "{\"ph\":\"" phase "\",\"name\":\"" name "\",\"tid\":1,\"ts\":" #ts more \
    "}"

static const fd_timeline_request between = {
    .has_times = true, .begin_ns = 20000, .end_ns = 40000};

/* The timeline begins at 100 us. */
static void
events_that_overlap_times(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_request request = between;
    OK(WRITE("trace.json", "[", AT("M", "row", 0, ""),
             AT("X", "a", 100, ",\"dur\":20"),
             AT("X", "b", 100, ",\"dur\":20.001"),
             AT("X", "c", 120, ",\"dur\":0"), AT("X", "d", 139, ",\"dur\":99"),
             AT("X", "e", 140, ",\"dur\":1"), AT("i", "f", 140, ""),
             AT("i", "g", 125, ""), AT("C", "h", 120, "") "]"));
    OK(kept(&request, &to));
    SAME(to.bytes, "row b c d g h -3");
}

static void
pairs_stay_complete(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_request request = between;
    OK(WRITE("trace.json", "[", AT("B", "a", 100, ""), AT("B", "b", 105, ""),
             AT("E", "b", 110, ""), AT("b", "c", 100, ",\"id\":1"),
             AT("b", "d", 101, ",\"id\":2"), AT("E", "a", 150, ""),
             AT("e", "c", 119, ",\"id\":1"), AT("e", "d", 121, ",\"id\":2"),
             AT("E", "none", 130, ""), AT("S", "s", 130, ",\"id\":3"),
             AT("F", "s", 160, ",\"id\":3"), AT("B", "open", 135, ""),
             AT("B", "late", 145, "") "]"));
    OK(kept(&request, &to));
    SAME(to.bytes, "a d a d s s open -6");
}

static void
flows_stay_complete(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_request request = between;
    OK(WRITE("trace.json", "[", AT("s", "a", 125, ",\"id\":1"),
             AT("f", "a", 135, ",\"id\":1"), AT("f", "b", 131, ",\"id\":2"),
             AT("s", "b", 110, ",\"id\":2"), AT("s", "c", 120, ",\"id\":3"),
             AT("f", "c", 122, ",\"id\":3") "]"));
    OK(kept(&request, &to));
    SAME(to.bytes, "a a -4");
}

RUN(TEST(work_goes_with_its_launch), TEST(events_of_steps),
    TEST(events_of_other_steps), TEST(ends_go_with_their_begins),
    TEST(events_that_overlap_times), TEST(pairs_stay_complete),
    TEST(flows_stay_complete))
