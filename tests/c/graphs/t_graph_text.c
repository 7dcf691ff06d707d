#include "check.h"

#include "base/buffer.h"
#include "graphs/graph_text.h"

#include <string.h>

#define MORE "\xE2\x80\xA6"
#define UNKNOWN "\xEF\xBF\xBD"
#define WIDE "\xEF\xBC\xBC"

typedef void writer(fd_buffer *to, const char *text, size_t size,
                    size_t limit);

static const char *
written(fd_buffer *to, writer *write, const char *text, size_t limit)
{
    to->size = 0;
    write(to, text, strlen(text), limit);
    fd_buffer_bytes(to, "", 1);
    return to->status == FD_OK ? to->bytes : "";
}

static void
escapes(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    static const char text[] = "a\"b\\N\n<&>'{|}";
    const char *dot = written(&to, fd_text_dot, text, 99);
    OK(to.status);
    SAME(dot, "a\\\"b\\\\N\\n&lt;&amp;&gt;'{|}");
    const char *tooltip = written(&to, fd_text_tooltip, text, 99);
    OK(to.status);
    SAME(tooltip, "a\\\"b" WIDE "N\\n&lt;&amp;&gt;'{|}");
    const char *html = written(&to, fd_text_html, text, 99);
    OK(to.status);
    SAME(html, "a&quot;b" WIDE "N &lt;&amp;&gt;'{|}");
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
    const char *got = written(&to, fd_text_dot,
                              "a\tb\x1B"
                              "c\x7F\xFFz",
                              99);
    OK(to.status);
    SAME(got, "a" UNKNOWN "b" UNKNOWN "c" UNKNOWN UNKNOWN "z");
    got = written(&to, fd_text_html,
                  "\xEF\xBF\xBE|\xEF\xBF\xBF|\xEF\xBF\xBD"
                  "|\xED\xA0\x80",
                  99);
    OK(to.status);
    SAME(got, UNKNOWN "|" UNKNOWN "|" UNKNOWN "|" UNKNOWN UNKNOWN UNKNOWN);
    got = written(&to, fd_text_tooltip, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\xA5",
                  99);
    OK(to.status);
    SAME(got, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\xA5");
    got = written(&to, fd_text_dot, WIDE "\xEF\xBF\xBC", 99);
    OK(to.status);
    SAME(got, WIDE "\xEF\xBF\xBC");
    fd_text_dot(&to, "x\0y", 3, 99);
    OK(to.status);
    EQUAL(memcmp(to.bytes + to.size - 5, "x" UNKNOWN "y", 5), 0);
}

/* Characters count, not bytes and not what stands for them. */
static void
limits(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    const char *got = written(&to, fd_text_dot, "\xC3\xA9<\xC3\xA9", 3);
    OK(to.status);
    SAME(got, "\xC3\xA9&lt;\xC3\xA9");
    got = written(&to, fd_text_dot, "\xC3\xA9<\xC3\xA9!", 3);
    OK(to.status);
    SAME(got, "\xC3\xA9&lt;\xC3\xA9" MORE);
    got = written(&to, fd_text_html, "a", 0);
    OK(to.status);
    SAME(got, MORE);
}

static const char *
time_text(fd_buffer *to, uint64_t ns)
{
    to->size = 0;
    fd_text_time(to, ns);
    fd_buffer_bytes(to, "", 1);
    return to->status == FD_OK ? to->bytes : "";
}

static void
times(void)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } known[] = {{0, "0 ns"},
                 {999, "999 ns"},
                 {1000, "1.00 \xC2\xB5s"},
                 {9994, "9.99 \xC2\xB5s"},
                 {9996, "10.0 \xC2\xB5s"},
                 {99960, "100 \xC2\xB5s"},
                 {999499, "999 \xC2\xB5s"},
                 {999500, "1.00 ms"},
                 {80000000, "80.0 ms"},
                 {999500000, "1.00 s"},
                 {1240000000, "1.24 s"},
                 {3600000000000, "3600 s"}};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *got = time_text(&to, known[i].ns);
        OK(to.status);
        SAME(got, known[i].text);
    }
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

static void
percents(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    static const uint64_t known[][2] = {
        {0, 0},       {0, 9},        {1, 3},        {1, 2500}, {1, 1000},
        {1, 1000000}, {9994, 10000}, {9995, 10000}, {8, 8},    {3, 2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        fd_text_percent(&to, known[i][0], known[i][1]);
        fd_buffer_text(&to, "|");
    }
    WRITTEN(&to, "0 %|0 %|33.3 %|0.04 %|0.1 %|0.00 %|99.9 %|100 %|"
                 "100 %|150 %|");
}

RUN(TEST(escapes), TEST(xml), TEST(no_characters_of_xml), TEST(limits),
    TEST(times), TEST(counts), TEST(percents))
