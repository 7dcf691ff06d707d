#include "check.h"

#include "json/json_text.h"

static void
one_spelling(void)
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
        fd_buffer_bytes(&once, "", 1);
        OK(once.status);
        SAME(once.bytes, cases[i].to);
        fd_json_text(&twice, once.bytes);
        fd_buffer_bytes(&twice, "", 1);
        OK(twice.status);
        SAME(twice.bytes, once.bytes);
    }
}

RUN(TEST(one_spelling))
