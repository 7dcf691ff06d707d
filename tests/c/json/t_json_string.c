#include "check.h"

#include "json/json_string.h"

#include <string.h>

static void
says(const char *inside, const char *wanted, size_t size)
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
    says("", "", 0);
    says("plain \xC3\xA9", "plain \xC3\xA9", 8);
    says("a\\n\\\"\\\\\\/\\t", "a\n\"\\/\t", 6);
    says("\\u0041\\u00e9\\u20AC", "A\xC3\xA9\xE2\x82\xAC", 6);
    says("\\ud83d\\ude00", "\xF0\x9F\x98\x80", 4);
    says("x\\u0000y", "x\0y", 3);
}

static void
what_is_no_text(void)
{
    says("\\ud800", "\xEF\xBF\xBD", 3);
    says("\\ud800\\u0041",
         "\xEF\xBF\xBD"
         "A",
         4);
    says("\xFF"
         "a",
         "\xEF\xBF\xBD"
         "a",
         4);
    says("C:\\dir", "C:\\dir", 6);
    says("\\u12", "\\u12", 4);
    says("\\", "\\", 1);
}

RUN(TEST(escapes), TEST(what_is_no_text))
