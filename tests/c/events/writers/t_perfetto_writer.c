#include "natives.h"

#include <string.h>

#define AT "\"pid\":5,\"tid\":7,\"ts\":10"

static bool
has(const fd_buffer *text, const char *part)
{
    return strstr(text->bytes, part) != NULL;
}

static void
every_kind_of_event(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input;
    OK(native_round(
        "[{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":7,"
        "\"args\":{\"name\":\"main\"}},"
        "{\"ph\":\"X\"," AT ",\"dur\":5,\"cat\":\"c\",\"name\":\"x\","
        "\"args\":{\"n\":-3,\"l\":[1,{}]}},"
        "{\"ph\":\"i\"," AT ",\"name\":\"mark\"},"
        "{\"ph\":\"C\"," AT ",\"name\":\"count\",\"args\":{\"n\":2,"
        "\"t\":\"no\"}},"
        "{\"ph\":\"s\"," AT ",\"id\":3,\"cat\":\"f\",\"name\":\"f\"},"
        "{\"ph\":\"b\"," AT ",\"id2\":{\"local\":4},\"cat\":\"a\","
        "\"name\":\"n\"},"
        "{\"ph\":\"N\"," AT "}]",
        false, &input, &to));
    EQUAL(input.events, 7);
    EQUAL(input.native.skipped, 2); /* a text as a count; an object */
    CHECK(has(&to, "\"args\":{\"name\":\"main\"}"));
    CHECK(has(&to, "\"ts\":10.000,\"name\":\"x\",\"cat\":\"c\",\"args\":"
                   "{\"n\":-3,\"l\":[1,{}]}"));
    CHECK(has(&to, "\"ph\":\"E\",\"pid\":2,\"tid\":3000000000,\"ts\":15.000"));
    CHECK(has(&to, "\"s\":\"t\",\"name\":\"mark\""));
    CHECK(has(&to, "\"name\":\"count\",\"args\":{\"n\":2}"));
    CHECK(has(&to, "\"ph\":\"s\"") && has(&to, "\"id\":\"0x3\""));
    CHECK(has(&to, "\"id2\":{\"local\":\"0x4\"}"));
}

static void
without_a_time(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input;
    OK(native_round("[{\"ph\":\"X\",\"ts\":\"x\"},{\"ph\":\"X\",\"ts\":-1},"
                    "{\"ph\":\"X\",\"ts\":1}]",
                    false, &input, &to));
    EQUAL(input.lost, 1);
    EQUAL(input.native.early, 1);
    CHECK(has(&to, "\"ts\":1.000,\"name\":\"[No name]\""));
}

RUN(TEST(every_kind_of_event), TEST(without_a_time))
