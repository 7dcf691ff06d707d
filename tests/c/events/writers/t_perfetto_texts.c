#include "check.h"
#include "spans.h"

#include "events/writers/perfetto_texts.h"

#include <string.h>

static bool
is(const fd_buffer *to, const char *bytes, size_t size)
{
    return to->size == size && memcmp(to->bytes, bytes, size) == 0;
}

#define TEXTS(texts, to) \
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL}; \
    CLEAN(fd_perfetto_texts_clear) \
    fd_perfetto_texts texts = {.arena = &arena}; \
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL}; \
    ENTER(&arena)

TEST(texts_once)
{
    TEXTS(texts, to);
    fd_perfetto_text(&texts, FD_PERFETTO_NAMES, span("\"a\""), 0, &to);
    fd_perfetto_text(&texts, FD_PERFETTO_NAMES, span("\"b\""), 0, &to);
    fd_perfetto_text(&texts, FD_PERFETTO_NAMES, span("a"), 0, &to);
    fd_perfetto_text(&texts, FD_PERFETTO_NAMES, span("\"\""), 0, &to);
    OK(to.status);
    CHECK(is(&to, "\x50\x01\x50\x02\x50\x01\xBA\x01\x00", 9));
    to.size = 0;
    fd_perfetto_text(&texts, FD_PERFETTO_NAMES, span("b"), 70, &to);
    fd_perfetto_text(&texts, FD_PERFETTO_NAMES, span("unread"), 70, &to);
    fd_perfetto_text(&texts, FD_PERFETTO_NAMES, span("c"), 69, &to);
    OK(to.status);
    CHECK(is(&to, "\x50\x02\x50\x02\x50\x03", 6));
    fd_span spelled = fd_perfetto_spell(&texts, span("\"x\\n\""));
    EQUAL(fd_span_size(spelled), 2);
    EQUAL(spelled.from[1], '\n');
}

/* {name_iid 1, value}, each a field 4 of an event. */
TEST(every_kind_of_value)
{
    TEXTS(texts, to);
    fd_perfetto_notes(&texts,
                      span("{\"a\":7,\"a\":true,\"a\":\"s\","
                           "\"a\":null,\"a\":{},\"a\":[1,[]]}"),
                      &to);
    OK(to.status);
    CHECK(is(&to,
             "\x22\x04\x08\x01\x20\x07"
             "\x22\x04\x08\x01\x10\x01"
             "\x22\x05\x08\x01\x32\x01s"
             "\x22\x02\x08\x01"
             "\x22\x06\x08\x01\x42\x02\x08\x01"
             "\x22\x0C\x08\x01\x62\x02\x20\x01\x62\x04\x42\x02\x08\x02",
             6 + 6 + 7 + 4 + 8 + 14));
}

TEST(numbers_are_exact)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    static const struct {
        const char *text;
        const char *bytes;
        size_t size;
        bool known;
    } cases[] = {
        {"-1", "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11, true},
        {"9223372036854775807", "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 10,
         true},
        {"1.5", "\x11\0\0\0\0\0\0\xF8\x3F", 9, true},
        {"1e0", "\x11\0\0\0\0\0\0\xF0\x3F", 9, true},
        {"9223372036854775808", "", 0, false},
        {"", "", 0, false},
        {"abce", "", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        to.size = 0;
        EQUAL(fd_perfetto_number(span(cases[i].text), 1, 2, &to),
              cases[i].known);
        OK(to.status);
        CHECK(to.size == cases[i].size
              && (to.size == 0
                  || memcmp(to.bytes, cases[i].bytes, to.size) == 0));
    }
}
