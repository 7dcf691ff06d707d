#include "check.h"
#include "timelines.h"

#include "events/readers/perfetto_event.h"

#include <string.h>

static fd_status
text_of(fd_perfetto_tables *tables, const char *bytes, size_t size,
        fd_buffer *to)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    uint64_t uuid = 9;
    fd_perfetto_event event = {.tables = tables,
                               .time = 1234567,
                               .message = {.bytes = bytes, .size = size},
                               .batch = &batch};
    fd_status status = fd_perfetto_event_read(&event, &uuid);
    event.track =
        status == FD_OK ? fd_perfetto_track_of(tables, uuid, &status) : NULL;
    status = status == FD_OK ? fd_perfetto_event_put(&event) : status;
    fixture_print(&batch, to);
    fd_buffer_bytes(to, "", 1);
    status = status == FD_OK ? batch.status : status;
    return status == FD_OK ? to->status : status;
}

static void
on_and_beside_threads(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        fd_perfetto_track_kind kind;
        const char *text;
    } cases[] = {
        {"\x48\x01\xBA\x01\x01"
         "a",
         6, FD_PERFETTO_THREAD,
         "{\"ph\":\"B\",\"pid\":3,\"tid\":4,\"ts\":1234.567,"
         "\"name\":\"a\"}\n"},
        {"\x48\x01\xBA\x01\x01"
         "a",
         6, FD_PERFETTO_OTHER,
         "{\"ph\":\"b\",\"pid\":3,\"ts\":1234.567,"
         "\"id2\":{\"local\":\"0x9\"},\"name\":\"a\",\"cat\":\"lane x\"}\n"},
        {"\x48\x02", 2, FD_PERFETTO_OTHER,
         "{\"ph\":\"e\",\"pid\":3,\"ts\":1234.567,"
         "\"id2\":{\"local\":\"0x9\"},\"name\":\"a\",\"cat\":\"lane x\"}\n"},
        {"\x48\x02", 2, FD_PERFETTO_OTHER, ""},
        {"\x48\x01\x32\x04\x40\x05\x68\x03", 8, FD_PERFETTO_THREAD,
         "{\"ph\":\"B\",\"pid\":3,\"tid\":4,\"ts\":1234.567,"
         "\"bind_id\":\"0x5\",\"flow_in\":true,\"flow_out\":true}\n"},
        {"\x48\x03", 2, FD_PERFETTO_PROCESS,
         "{\"ph\":\"i\",\"pid\":3,\"ts\":1234.567,\"s\":\"p\"}\n"},
        {"\x48\x04\xF0\x01\x05", 5, FD_PERFETTO_COUNTS,
         "{\"ph\":\"C\",\"pid\":3,\"ts\":1234.567,\"name\":\"lane\","
         "\"args\":{\"x\":5}}\n"},
        {"\x32\x04\x10\x73\x30\x11", 6, FD_PERFETTO_THREAD,
         "{\"ph\":\"s\",\"pid\":3,\"tid\":4,\"ts\":1234.567,"
         "\"id\":\"0x11\"}\n"},
    };
    CLEAN(fd_perfetto_tables_clear) fd_perfetto_tables t = {.has_base = false};
    fd_status status = FD_OK;
    fd_perfetto_track *track = fd_perfetto_track_of(&t, 9, &status);
    OK(status);
    track->has_pid = true;
    track->pid = 3;
    track->tid = 4;
    uint32_t name = fd_perfetto_keep_text(&t, "lane x", 6, &status);
    OK(status);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        t.tracks.list[0].kind = cases[i].kind;
        t.tracks.list[0].pid_text = (fd_span){NULL, NULL};
        t.tracks.list[0].name = cases[i].kind == FD_PERFETTO_THREAD ? 0 : name;
        OK(text_of(&t, cases[i].bytes, cases[i].size, &to));
        SAME(to.bytes, cases[i].text);
    }
}

RUN(TEST(on_and_beside_threads))
