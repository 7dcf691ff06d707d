#include "check.h"

#include "et/tools/markup_text.h"

#include <string.h>

#define MORE "\xE2\x80\xA6"
#define UNKNOWN "\xEF\xBF\xBD"

static const char *
written(fd_buffer *to, const char *text, size_t limit)
{
    to->size = 0;
    fd_text_dot(to, text, strlen(text), limit);
    fd_buffer_bytes(to, "", 1);
    return to->status == FD_OK ? to->bytes : "";
}

static void
escapes(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    static const char text[] = "a\"b\\N\n<&>'{|}";
    const char *dot = written(&to, text, 99);
    OK(to.status);
    SAME(dot, "a\\\"b\\\\N\\n&lt;&amp;&gt;'{|}");
}

static void
xml(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    static const char text[] = "a\"\\<&>\x01";
    fd_text_xml(&to, text, sizeof text - 1);
    fd_buffer_bytes(&to, "", 1);
    OK(to.status);
    SAME(to.bytes, "a&quot;\\&lt;&amp;&gt;" UNKNOWN);
}

static void
no_characters_of_xml(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    const char *got = written(&to,
                              "a\tb\x1B"
                              "c\x7F\xFFz",
                              99);
    OK(to.status);
    SAME(got, "a" UNKNOWN "b" UNKNOWN "c" UNKNOWN UNKNOWN "z");
    got = written(&to,
                  "\xEF\xBF\xBE|\xEF\xBF\xBF|\xEF\xBF\xBD"
                  "|\xED\xA0\x80",
                  99);
    OK(to.status);
    SAME(got, UNKNOWN "|" UNKNOWN "|" UNKNOWN "|" UNKNOWN UNKNOWN UNKNOWN);
    got = written(&to, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\xA5", 99);
    OK(to.status);
    SAME(got, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\xA5");
    got = written(&to, "\xEF\xBC\xBC\xEF\xBF\xBC", 99);
    OK(to.status);
    SAME(got, "\xEF\xBC\xBC\xEF\xBF\xBC");
    fd_text_dot(&to, "x\0y", 3, 99);
    OK(to.status);
    EQUAL(memcmp(to.bytes + to.size - 5, "x" UNKNOWN "y", 5), 0);
}

/* Characters count, not bytes and not what stands for them. */
static void
limits(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    const char *got = written(&to, "\xC3\xA9<\xC3\xA9", 3);
    OK(to.status);
    SAME(got, "\xC3\xA9&lt;\xC3\xA9");
    got = written(&to, "\xC3\xA9<\xC3\xA9!", 3);
    OK(to.status);
    SAME(got, "\xC3\xA9&lt;\xC3\xA9" MORE);
    got = written(&to, "a", 0);
    OK(to.status);
    SAME(got, MORE);
}

static void
counts(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    static const uint64_t known[] = {0,      7,       999,       1000,
                                     123456, 1234567, UINT64_MAX};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        fd_text_count(&to, known[i]);
        fd_buffer_text(&to, "|");
    }
    WRITTEN(&to, "0|7|999|1 000|123 456|1 234 567|"
                 "18 446 744 073 709 551 615|");
}

RUN(TEST(escapes), TEST(xml), TEST(no_characters_of_xml), TEST(limits),
    TEST(counts))
