#include "check.h"

#include "json/json_string.h"

#include <string.h>

static void
decodes_to(const char *inside, const char *wanted, size_t size)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_json_string((fd_span){inside, inside + strlen(inside)}, &to);
    OK(to.status);
    EQUAL(to.size, size);
    CHECK(size == 0 || memcmp(to.bytes, wanted, size) == 0);
}

static void
escapes(void)
{
    decodes_to("", "", 0);
    decodes_to("plain \xC3\xA9", "plain \xC3\xA9", 8);
    decodes_to("a\\n\\\"\\\\\\/\\t", "a\n\"\\/\t", 6);
    decodes_to("\\u0041\\u00e9\\u20AC", "A\xC3\xA9\xE2\x82\xAC", 6);
    decodes_to("\\ud83d\\ude00", "\xF0\x9F\x98\x80", 4);
    decodes_to("x\\u0000y", "x\0y", 3);
}

static void
invalid_text(void)
{
    decodes_to("\\ud800", "\xEF\xBF\xBD", 3);
    decodes_to("\\ud800\\u0041",
               "\xEF\xBF\xBD"
               "A",
               4);
    decodes_to("\xFF"
               "a",
               "\xEF\xBF\xBD"
               "a",
               4);
    decodes_to("C:\\dir", "C:\\dir", 6);
    decodes_to("\\u12", "\\u12", 4);
    decodes_to("\\", "\\", 1);
}

RUN(TEST(escapes), TEST(invalid_text))
