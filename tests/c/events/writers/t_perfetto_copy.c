#include "natives.h"

#include <string.h>

/* What comes back is the same whether packets were copied in between. */
static void
copies_say_the_same(void)
{
    static const char text[] =
        "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"args\":{"
        "\"name\":\"python\"}},"
        "{\"ph\":\"X\",\"pid\":5,\"tid\":7,\"ts\":10,\"dur\":5,\"name\":\"x\","
        "\"args\":{\"n\":1}},"
        "{\"ph\":\"X\",\"pid\":6,\"tid\":7,\"ts\":12,\"dur\":5,\"name\":\"y\"}"
        ",{\"ph\":\"s\",\"pid\":5,\"tid\":7,\"ts\":11,\"id\":3,\"name\":"
        "\"f\"},"
        "{\"ph\":\"C\",\"pid\":5,\"ts\":12,\"name\":\"c\",\"args\":{\"n\":1}}"
        "]";
    CLEAN(fd_buffer_clear) fd_buffer once = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer twice = {.bytes = NULL};
    fd_timeline_input input;
    OK(native_round(text, false, &input, &once));
    OK(native_round(text, true, &input, &twice));
    char *ranks = strstr(once.bytes, "\"ranks\"");
    char *again = strstr(twice.bytes, "\"ranks\"");
    CHECK(ranks != NULL && again != NULL);
    *ranks = *again = '\0';
    SAME(twice.bytes, once.bytes);
    CHECK(strstr(once.bytes, "\"name\":\"rank 0 | python\"") != NULL);
}

RUN(TEST(copies_say_the_same))
