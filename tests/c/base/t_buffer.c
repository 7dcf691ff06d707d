#include "check.h"

#include "base/buffer.h"

#include <string.h>

static bool
is(const fd_buffer *buffer, const char *text)
{
    return buffer->size == strlen(text)
        && memcmp(buffer->bytes, text, buffer->size) == 0;
}

static void
formats_are_bounded(void)
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

static void
json_strings(void)
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

static void
failure_is_remembered(void)
{
    CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
    b.status = FD_ENOMEM;
    fd_buffer_text(&b, "lost");
    EQUAL(b.size, 0);
}

RUN(TEST(formats_are_bounded), TEST(json_strings), TEST(failure_is_remembered))
