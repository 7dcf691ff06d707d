#include "check.h"
#include "fixtures.h"

#include "events/tools/timeline_cut.h"

#include <string.h>
#include <unistd.h>

static fd_status
cut_text(const char *text, fd_cut_request request, fd_cut_result *cut,
         fd_buffer *to, fd_error *error)
{
    request.path = "in.json";
    request.output = "out.json";
    unlink("out.json");
    to->size = 0;
    fd_status status = fixture_write_text("in.json", text);
    if (status == FD_OK) {
        status = fd_timeline_cut(&request, cut, error);
    }
    if (status == FD_OK) {
        status = fixture_read("out.json", to);
    }
    fd_buffer_bytes(to, "", 1);
    return status == FD_OK ? to->status : status;
}

#define X(ts, dur) "{\"ph\":\"X\",\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "}"
#define P(ph, ts, rest) "{\"ph\":\"" ph "\",\"tid\":1,\"ts\":" #ts rest "}"
#define ROW "{\"ph\":\"M\",\"ts\":0,\"name\":\"process_name\"}"

static const fd_cut_request window = {.from = 20000, .to = 40000};

/* The file begins at 100 us. */
static void
byte_for_byte(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_cut_result cut;
    OK(cut_text(
        "{ \"a\" : [1.50] ,\"traceEvents\":[" ROW
        "," X(100, 20) "," X(100, 20.001) "," X(120, 0) " ,\n" X(
            139, 99) "," X(140, 1) "," P("i", 140, "") "," P("i", 125,
                                                             "") "],\"b\":{}}",
        window, &cut, &to, NULL));
    SAME(to.bytes, "{\n\"a\":[1.50],\n\"traceEvents\":[\n" ROW
                   ",\n" X(100, 20.001) ",\n" X(120, 0) ",\n" X(
                       139, 99) ",\n" P("i", 125, "") "\n],\n\"b\":{}\n}\n");
    EQUAL(cut.events, 8);
    EQUAL(cut.kept, 4);
    EQUAL(cut.rows, 1);
    EQUAL(cut.from_ns, 120000);
    EQUAL(cut.to_ns, 140000);
}

static void
pairs_stay_complete(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_cut_result cut;
    OK(cut_text(
        "[" P("B", 100, "") "," P("B", 105, "") "," P("E", 110, "") "," P("b", 100, ",\"id\":1") "," P(
            "b", 101,
            ",\"id\":2") "," P("E", 150,
                               "") "," P("e", 119,
                                         ",\"id\":1") "," P("e", 121,
                                                            ",\"id\":2") "," P("E",
                                                                               130,
                                                                               "") "," P("E",
                                                                                         160,
                                                                                         "") "," P("B",
                                                                                                   135,
                                                                                                   ",\"x\":1") "]",
        window, &cut, &to, NULL));
    SAME(to.bytes,
         "[\n" P("B", 100, "") ",\n" P("b", 101, ",\"id\":2") ",\n" P(
             "E", 150,
             "") ",\n" P("e", 121,
                         ",\"id\":2") ",\n" P("E", 130,
                                              "") ",\n" P("B", 135,
                                                          ",\"x\":1") "\n]\n");
}

static void
flows_stay_complete(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_cut_result cut;
    OK(cut_text(
        "[" X(100, 100) "," P("s", 125, ",\"id\":1") "," P("f", 135, ",\"id\":1") "," P(
            "f", 131,
            ",\"id\":2") "," P("s", 110,
                               ",\"id\":2") "," P("s", 120,
                                                  ",\"id\":3") "," P("f", 122,
                                                                     ",\"id\":"
                                                                     "3") "]",
        window, &cut, &to, NULL));
    SAME(to.bytes, "[\n" X(100, 100) ",\n" P("s", 125, ",\"id\":1") ",\n" P(
                       "f", 135, ",\"id\":1") "\n]\n");
    EQUAL(cut.flows_left, 3);
}

#define STEP(n, ts) \
    "{\"ph\":\"X\",\"ts\":" #ts ",\"dur\":10,\"name\":\"ProfilerStep#" #n "\"}"

static void
steps(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_cut_result cut;
    fd_error error;
    static const char text[] = "[" STEP(3, 100) "," STEP(4, 110) "," STEP(
        5, 120) "," X(105, 1) "," X(115, 1) "]";
    OK(cut_text(text, (fd_cut_request){.steps = true, .from = 4, .to = 5},
                &cut, &to, NULL));
    SAME(to.bytes, "[\n" STEP(4, 110) ",\n" X(115, 1) "\n]\n");
    OK(cut_text(
        text,
        (fd_cut_request){.steps = true, .from = FD_CUT_FROM_START, .to = 5},
        &cut, &to, NULL));
    EQUAL(cut.kept, 4);
    STATUS(cut_text(text, (fd_cut_request){.steps = true, .from = 6, .to = 9},
                    &cut, &to, &error),
           FD_EINVAL);
    SAME(error.text, "in.json: no such steps: the trace has 3 to 5");
    STATUS(cut_text("[" X(1, 1) "]",
                    (fd_cut_request){.steps = true, .from = 6, .to = 9}, &cut,
                    &to, &error),
           FD_EINVAL);
    CHECK(strstr(error.text, "no steps (ProfilerStep") != NULL);
}

/* To the native form, and from there to JSON. */
static void
native(void)
{
    static const char text[] =
        "{\"mergedFiles\":2,\"otherPackets\":3,\"traceEvents\":["
        "{\"ph\":\"M\",\"pid\":9,\"name\":\"process_name\",\"args\":{"
        "\"name\":\"rank 1\"}},"
        "{\"ph\":\"X\",\"pid\":9,\"ts\":5,\"dur\":1,\"name\":\"a\"},"
        "{\"ph\":\"X\",\"pid\":9,\"ts\":8,\"dur\":4,\"name\":\"b\"},"
        "{\"ph\":\"b\",\"pid\":9,\"ts\":8,\"name\":\"c\"},"
        "{\"ph\":\"E\",\"pid\":9,\"tid\":4,\"ts\":9,\"name\":\"d\"}]}";
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_cut_result cut;
    fd_cut_request request = {.path = "in.json",
                              .output = "out.pftrace",
                              .from = 2000,
                              .to = FD_CUT_TO_END};
    OK(fixture_write("in.json", text, sizeof text - 1));
    OK(fd_timeline_cut(&request, &cut, NULL));
    EQUAL(cut.events, 5);
    EQUAL(cut.rows, 1);
    EQUAL(cut.native.alone, 1);
    EQUAL(cut.native.others, 3);
    request.path = "out.pftrace";
    request.output = "out.json";
    request.from = FD_CUT_FROM_START;
    OK(fd_timeline_cut(&request, &cut, NULL));
    OK(fixture_read("out.json", &to));
    fd_buffer_bytes(&to, "", 1);
    CHECK(strstr(to.bytes, "\"mergedFiles\":2") != NULL);
    CHECK(strstr(to.bytes, "\"name\":\"rank 1\"") != NULL);
    CHECK(strstr(to.bytes, "\"name\":\"b\"") != NULL);
    CHECK(strstr(to.bytes, "\"name\":\"a\"") == NULL);
}

static void
invalid_requests(void)
{
    static const struct {
        const char *text;
        fd_status status;
        const char *message;
    } cases[] = {
        {"", FD_EFORMAT, "in.json: empty"},
        {"{}", FD_EFORMAT, "in.json: no traceEvents in it"},
        {"[" ROW "]", FD_EINVAL, "in.json: no event with a time"},
        {"[" X(1, 1) ",{\"ts\":125,\"dur\":1}]", FD_EINVAL,
         "in.json: no event in this window: the trace lasts 0 s"},
        {"[" X(1, 1) "]", FD_EINVAL,
         "in.json: no event in this window: the trace lasts 0 s"},
        {"{\"traceEvents\":[" X(1, 25) "],\"a\":1,\"traceEvents\":[" X(
             1, 25) "]}",
         FD_EFORMAT,
         "in.json: two arrays of events: `timeline merge` joins them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_cut_result cut;
        fd_error error = {""};
        STATUS(cut_text(cases[i].text, window, &cut, &to, &error),
               cases[i].status);
        SAME(error.text, cases[i].message);
        CHECK(access("out.json", F_OK) != 0);
    }
}

/* Intact events are kept; invalid values are written as JSON. */
static void
damaged(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_cut_result cut;
    OK(cut_text("[" X(100, 1) ",{\"ph\":\"X\",\"ts\":125,\"dur\":NaN},"
                              "{\"ph\":\"X\"},{\"ph\":\"X\",\"ts\":12",
                window, &cut, &to, NULL));
    SAME(to.bytes, "[\n{\"ph\":\"X\",\"ts\":125,\"dur\":null}\n]\n");
    EQUAL(cut.lost, 1);
    EQUAL(cut.repaired, 1);
    EQUAL(cut.timeless, 1);
}

RUN(TEST(byte_for_byte), TEST(pairs_stay_complete), TEST(flows_stay_complete),
    TEST(steps), TEST(native), TEST(invalid_requests), TEST(damaged))
