#include "check.h"

#include "events/writers/native_fields.h"

#include <string.h>

/* Interned: name 3 is "N", text 5 is "T", source 7 is line 9 of "f". */
static const char INTERNED[] = "\x50\x01\x62\x18"
                               "\x1A\x05\x08\x03\x12\x01N"
                               "\xEA\x01\x05\x08\x05\x12\x01T"
                               "\x22\x07\x08\x07\x12\x01"
                               "f\x20\x09";

static bool
is(const fd_buffer *to, const char *bytes, size_t size)
{
    return to->size == size && memcmp(to->bytes, bytes, size) == 0;
}

static void
ids_are_replaced(void)
{
    /* {name_iid 3, string_value_iid 5}, {name "M", entry {name_iid 3, int 1}},
     * track 2, source_location_iid 7, correlation_id 4 */
    static const char fields[] = "\x22\x05\x08\x03\x88\x01\x05"
                                 "\x22\x09\x52\x01M\x5A\x04\x08\x03\x20\x01"
                                 "\x58\x02\x90\x02\x07\xA0\x03\x04";
    static const char copied[] = "\x22\x05\x08\x01\x32\x01T"
                                 "\x22\x09\x52\x01M\x5A\x04\x08\x01\x20\x01"
                                 "\x90\x02\x01\xA0\x03\x04";
    CLEAN(fd_perfetto_tables_clear)
    fd_perfetto_tables tables = {.has_base = false};
    CLEAN(fd_perfetto_texts_clear)
    fd_perfetto_texts texts = {.scratch = {NULL, 0, 0, FD_OK}};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_perfetto_packet packet;
    OK(fd_perfetto_tables_take(&tables, INTERNED, sizeof INTERNED - 1,
                               &packet));
    fd_perfetto_event event = {
        .tables = &tables,
        .from = packet.from,
        .has_more = true,
        .message = {.bytes = fields, .size = sizeof fields - 1}};
    OK(fd_native_fields(&texts, &event, &to));
    CHECK(is(&to, copied, sizeof copied - 1));
    SAME(fd_text_pool_get(&texts.notes.texts, 1), "N");
    SAME(fd_text_pool_get(&texts.sources.texts, 1), "\x12\x01"
                                                    "f\x20\x09");
}

static void
values_of_counters(void)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_perfetto_event event = {.value = 5, .real = 1.5};
    fd_native_value(&event, &to);
    OK(to.status);
    CHECK(is(&to, "\xF0\x01\x05", 3));
    to.size = 0;
    event.is_real = true;
    fd_native_value(&event, &to);
    OK(to.status);
    CHECK(is(&to, "\xE1\x02\0\0\0\0\0\0\xF8\x3F", 10));
}

RUN(TEST(ids_are_replaced), TEST(values_of_counters))
