#include "check.h"

#include "events/readers/perfetto_args.h"

#include <locale.h>
#include <string.h>

static void
values(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
    } cases[] = {
        {"\x52\x01n\x10\x01", 5, "\"n\":true"},
        {"\x52\x01n\x20\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 14,
         "\"n\":-1"},
        {"\x52\x01n\x29\0\0\0\0\0\0\xF8\x3F", 12, "\"n\":1.5"},
        {"\x52\x01n\x29\0\0\0\0\0\0\xF0\x3F", 12, "\"n\":1.0"},
        {"\x52\x01n\x29\0\0\0\0\0\0\xF0\x7F", 12, "\"n\":null"},
        {"\x52\x01n\x32\x01\"", 6, "\"n\":\"\\\"\""},
        {"\x52\x01n\x38\x1F", 5, "\"n\":\"0x1f\""},
        {"\x52\x01n", 3, "\"n\":null"},
        {"\x08\x05\x10\x00", 4, "\"\":false"}, /* a name never said */
        {"\x52\x01n\x42\x02\x08\x01", 7, "\"n\":{}"},
        {"\x52\x01n\x5A\x05\x52\x01m\x18\x07\x5A\x03\x52\x01k", 15,
         "\"n\":{\"m\":7,\"k\":null}"},
        {"\x52\x01n\x4A\x05[1.0]", 10, "\"n\":[1.0]"},
        {"\x52\x01n\x4A\x05[1.0}", 10, "\"n\":\"[1.0}\""},
        {"\x52\x01n\x4A\x03NaN", 8, "\"n\":\"NaN\""},
        {"\x52\x01n\x4A\x2A[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]", 47,
         "\"n\":\"[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]\""},
        {"\x52\x01n\x4A\x07{\"a\":1}", 12, "\"n\":{\"a\":1}"},
        {"\x52\x01n\x62\x02\x20\x01\x62\x02\x20\x02", 11, "\"n\":[1,2]"},
    };
    CLEAN(fd_perfetto_tables_clear)
    fd_perfetto_tables tables = {.has_base = false};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer note = {.bytes = NULL};
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
        fd_proto_bytes(&note, FD_PB_EVENT_NOTE, cases[i].bytes, cases[i].size);
        OK(note.status);
        fd_perfetto_event event = {
            .tables = &tables,
            .has_notes = true,
            .message = {.bytes = note.bytes, .size = note.size},
            .batch = &batch};
        fd_span args = fd_perfetto_args(&event);
        OK(batch.status);
        CHECK(args.from[0] == '{' && args.to[-1] == '}');
        fd_buffer_bytes(&to, args.from + 1, fd_span_size(args) - 2);
        fd_buffer_bytes(&to, "", 1);
        OK(to.status);
        SAME(to.bytes, cases[i].text);
    }
}

static void
a_counter(void)
{
    CLEAN(fd_perfetto_tables_clear)
    fd_perfetto_tables tables = {.has_base = false};
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    fd_status status = FD_OK;
    fd_perfetto_track track = {.unit = 1024};
    track.name = fd_perfetto_keep_text(&tables, "GPU busy", 8, &status);
    OK(status);
    fd_perfetto_event event = {.tables = &tables,
                               .track = &track,
                               .type = FD_PB_TYPE_COUNTER,
                               .real = 3,
                               .batch = &batch};
    fd_span series;
    fd_span name = fd_perfetto_counter_name(&event, &series);
    CHECK(fd_span_is(name, "GPU") && fd_span_is(series, "busy"));
    fd_span args = fd_perfetto_args(&event);
    OK(batch.status);
    CHECK(fd_span_is(args, "{\"busy\":3072.0}"));
}

RUN(TEST(values), TEST(a_counter))
