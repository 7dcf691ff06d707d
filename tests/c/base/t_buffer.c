#include "check.h"

#include "base/buffer.h"

#include <string.h>

static bool
is(const fd_buffer *buffer, const char *text)
{
    return buffer->size == strlen(text)
        && memcmp(buffer->bytes, text, buffer->size) == 0;
}

TEST(formats_are_bounded)
{
    CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
    char text[3000];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fd_buffer_format(&b, "%s-%d", "a", 5);
    OK(b.status);
    CHECK(is(&b, "a-5"));
    fd_buffer_format(&b, "%s", text);
    OK(b.status);
    EQUAL(b.size, 3 + 1023);
}

TEST(json_strings)
{
    static const struct {
        const char *text;
        size_t size;
        const char *json;
    } cases[] = {
        {"", 0, "\"\""},
        {"a\"b\\c\n\t", 7, "\"a\\\"b\\\\c\\n\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9,
         "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"a\xFFz", 3, "\"a\xEF\xBF\xBDz\""},
        {"\xE2\x82", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"</script>", 9, "\"</script>\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
        fd_buffer_json(&b, cases[i].text, cases[i].size);
        OK(b.status);
        CHECK(is(&b, cases[i].json));
    }
}

static const char *
time_text(fd_buffer *to, uint64_t ns)
{
    to->size = 0;
    fd_buffer_time(to, ns);
    fd_buffer_bytes(to, "", 1);
    return to->status == FD_OK ? to->bytes : "";
}

TEST(times)
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

TEST(failure_is_remembered)
{
    CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
    b.status = FD_ENOMEM;
    fd_buffer_text(&b, "lost");
    EQUAL(b.size, 0);
}
