#include "check.h"

#include "json/json_text.h"

#include <string.h>

TEST(one_spelling)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {" [1, 2.50, {\"a\" : null}] ", "[1,2.5,{\"a\":null}]"},
        {"\"\\u00e9\\/\"", "\"\xC3\xA9/\""},
        {"true", "true"},
        {"{\"half", "\"{\\\"half\""},
        {"", "\"\""},
        {"1e999", "null"},
        {"\x7f", "\"\x7f\""},
        {"1795288644341471461", "1795288644341471461"},
        {"[0.1, -1.50E+02, 1e20, 0.30000000000000004]",
         "[0.1,-150,1e+20,0.30000000000000004]"},
        {"\"\\u0007\\b\\n\x7f\x01\"", "\"\\u0007\\b\\n\x7f\\u0001\""},
        {"\"\\ud800\"", "\"\xEF\xBF\xBD\""},
        {"[NaN]", "\"[NaN]\""},
        {"\"C:\\dir\"", "\"\\\"C:\\\\dir\\\"\""},
        {"{} {}", "\"{} {}\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer once = {.bytes = NULL};
        CLEAN(fd_buffer_clear) fd_buffer twice = {.bytes = NULL};
        fd_json_text(&once, cases[i].from);
        WRITTEN(&once, cases[i].to);
        fd_json_text(&twice, once.bytes);
        WRITTEN(&twice, once.bytes);
    }
}

static void
decodes_to(const char *inside, const char *wanted, size_t size)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_json_string((fd_span){inside, inside + strlen(inside)}, &to);
    OK(to.status);
    EQUAL(to.size, size);
    CHECK(size == 0 || memcmp(to.bytes, wanted, size) == 0);
}

TEST(escapes)
{
    decodes_to("", "", 0);
    decodes_to("plain \xC3\xA9", "plain \xC3\xA9", 8);
    decodes_to("a\\n\\\"\\\\\\/\\t", "a\n\"\\/\t", 6);
    decodes_to("\\u0041\\u00e9\\u20AC", "A\xC3\xA9\xE2\x82\xAC", 6);
    decodes_to("\\ud83d\\ude00", "\xF0\x9F\x98\x80", 4);
    decodes_to("x\\u0000y", "x\0y", 3);
}

TEST(invalid_text)
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

static void
becomes_plain(const char *from, const char *wanted)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_buffer_text(&text, from);
    if (text.status == FD_OK) {
        fd_json_plain(&text);
    }
    WRITTEN(&text, wanted);
}

TEST(plain_escapes)
{
    becomes_plain("\\u0041\\u003cx\\u003E\\/", "A<x>/");
    becomes_plain("\\\\u0041 \\\" \\n", "\\\\u0041 \\\" \\n");
    becomes_plain("\\u0022\\u005c\\u001f\\u007f\\u00e9",
                  "\\u0022\\u005c\\u001f\\u007f\\u00e9");
    becomes_plain("\\u00", "\\u00");
    becomes_plain("\\", "\\");
}
