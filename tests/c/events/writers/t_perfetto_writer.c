#include "natives.h"

#define AT "\"pid\":5,\"tid\":7,\"ts\":10"

TEST(every_kind_of_event)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input;
    OK(native_merged(
        "[{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":7,"
        "\"args\":{\"name\":\"main\"}},"
        "{\"ph\":\"X\"," AT ",\"dur\":5,\"cat\":\"c\",\"name\":\"x\","
        "\"bind_id\":6,\"flow_out\":true,"
        "\"args\":{\"n\":-3,\"l\":[1,{}]}},"
        "{\"ph\":\"i\"," AT ",\"name\":\"mark\"},"
        "{\"ph\":\"C\"," AT ",\"name\":\"count\",\"args\":{\"n\":2,"
        "\"t\":\"no\"}},"
        "{\"ph\":\"C\"," AT ",\"name\":\"plain\",\"args\":{\"value\":1}},"
        "{\"ph\":\"s\"," AT ",\"id\":3,\"cat\":\"f\",\"name\":\"f\"},"
        "{\"ph\":\"b\"," AT ",\"id2\":{\"local\":4},\"cat\":\"a\","
        "\"name\":\"n\"},"
        "{\"ph\":\"N\"," AT "}]",
        &input, &to));
    EQUAL(input.events, 8);
    EQUAL(input.native.skipped, 2); /* a text as a count; an object */
    SAME(to.bytes, "process 2 rank 0\n"
                   "thread 2 2000000000 main\n"
                   "track 3 count n\n"
                   "track 4 plain\n"
                   "B 1 10000 c/x n=-3 l=[1 {}] 8:6 13:2\n"
                   "I 1 10000 /mark\n"
                   "C 3 10000 / 2\n"
                   "C 4 10000 / 1\n"
                   "s 1 10000 f/f 6:3\n"
                   "b 1 10000 a/n 10:4\n"
                   "E 1 15000 /\n");
}

TEST(without_a_time)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_input input;
    OK(native_merged("[{\"ph\":\"X\",\"ts\":\"x\"},{\"ph\":\"X\",\"ts\":-1},"
                     "{\"ph\":\"X\",\"ts\":1}]",
                     &input, &to));
    FIELDS(&input, (lost, 1), (native.early, 1));
    HAS(to.bytes, "1000 /[No name]");
}
