#include "check.h"
#include "timelines.h"

#include "events/readers/chrome_scan.h"
#include "events/writers/chrome_writer.h"

#include <string.h>

static uint32_t spare_pid = 1U << 31;
static uint32_t spare_tid;

/* What becomes of an event of rank 1 (pid 1026), second of two inputs. */
static fd_status
rewrite_by(const char *text, fd_clock_map clock, fd_buffer *to)
{
    CLEAN(fd_buffer_clear) fd_buffer rest = {.bytes = NULL};
    fd_scan scan = {.forgets = true};
    fd_timeline_event event;
    spare_tid = FD_TIMELINE_FIRST_TID;
    fd_timeline_ids ids = {.rank = 1,
                           .input = 1,
                           .inputs = 2,
                           .spare_pid = &spare_pid,
                           .spare_tid = &spare_tid};
    fd_scan_begin(&scan, text, text + strlen(text));
    fd_scan_result result = fd_chrome_scan(&scan, &event, &rest);
    fd_status status = result == FD_SCAN_OK
                         ? fd_chrome_write(&event, &clock, &ids, to)
                     : result == FD_SCAN_ENOMEM ? FD_ENOMEM
                                                : FD_EINVAL;
    if (status == FD_OK) {
        fd_buffer_bytes(to, "", 1);
        status = to->status;
    }
    fd_timeline_ids_clear(&ids);
    return status;
}

static fd_status
rewrite(const char *text, int64_t shift_ns, fd_buffer *to)
{
    return rewrite_by(text, (fd_clock_map){.offset_ns = shift_ns}, to);
}

/* Begins and ends are mapped by themselves, so that slices nest as before. */
TEST(clocks_that_drift)
{
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    const fd_clock_map fast = {1000000, 5000, 100000000}; /* 100 ppm */
    OK(rewrite_by("{\"ts\":2001000.5,\"dur\":3000000,\"ph\":\"X\"}", fast,
                  &to));
    SAME(to.bytes, ",\n{\"ph\":\"X\",\"pid\":1026,\"ts\":2001205.500,"
                   "\"dur\":3000300.000}");
    to.size = 0;
    OK(rewrite_by("{\"dur\":\"7\",\"ts\":\"1000\"}", fast, &to));
    SAME(to.bytes, ",\n{\"pid\":1026,\"ts\":\"1005.000\",\"dur\":\"7.001\"}");
    to.size = 0;
    OK(rewrite_by("{\"dur\":7}", fast, &to));
    SAME(to.bytes, ",\n{\"pid\":1026,\"dur\":7}");
    to.size = 0;
    OK(rewrite_by("{\"dur\":\"x\",\"ts\":1}", fast, &to));
    SAME(to.bytes, ",\n{\"pid\":1026,\"ts\":5.900,\"dur\":\"x\"}");
}

TEST(rewritten_members)
{
    static const struct {
        const char *from;
        int64_t shift_ns;
        const char *to;
    } cases[] = {
        {"{ \"ph\" : \"X\", \"pid\" : 9, \"ts\":1, \"args\":{\"pid\":9}}", 0,
         ",\n{\"ph\":\"X\",\"pid\":1026,\"ts\":1,\"args\":{\"pid\":9}}"},
        {"{\"ts\":1.5,\"dur\":1.5,\"pid\":\"a\"}", 1,
         ",\n{\"pid\":1026,\"ts\":1.501,\"dur\":1.5}"},
        {"{\"ts\":1.00025,\"pid\":\"a\"}", 1,
         ",\n{\"pid\":1026,\"ts\":1.00125}"},
        {"{\"ph\":\"i\",\"ts\":\"2\",\"s\":\"g\",\"pid\":0}", 1000,
         ",\n{\"ph\":\"i\",\"pid\":1026,\"ts\":\"3.000\",\"s\":\"g\"}"},
        {"{\"ph\":\"M\",\"ts\":0,\"pid\":0}", -1000,
         ",\n{\"ph\":\"M\",\"pid\":1026,\"ts\":0}"},
        {"{}", 0, ",\n{\"pid\":1026}"},
        {"{\"a\":1}", 0, ",\n{\"pid\":1026,\"a\":1}"},
        {"{\"id\":4,\"ph\":\"s\",\"pid\":0}", 0,
         ",\n{\"ph\":\"s\",\"pid\":1026,\"id\":\"0x9\"}"},
        {"{\"id\":4,\"ph\":\"C\",\"pid\":0}", 0,
         ",\n{\"ph\":\"C\",\"pid\":1026,\"id\":4}"},
        {"{\"bind_id\":\"0x4\",\"ph\":\"X\",\"pid\":0,\"flow_in\":true}", 0,
         ",\n{\"ph\":\"X\",\"pid\":1026,\"bind_id\":\"0x9\","
         "\"flow_in\":true}"},
        {"{\"id2\":{\"local\":1, \"global\":2},\"ph\":\"b\",\"pid\":0}", 0,
         ",\n{\"ph\":\"b\",\"pid\":1026,"
         "\"id2\":{\"local\":\"0x3\",\"global\":\"0x5\"}}"},
        {"{\"id2\":{\"global\":2},\"ph\":\"e\",\"pid\":0}", 0,
         ",\n{\"ph\":\"e\",\"pid\":1026,\"id2\":{\"global\":\"0x5\"}}"},
        {"{\"pid\":1,\"tid\":\"T\"}", 0,
         ",\n{\"pid\":1026,\"tid\":3000000000}"},
        {"{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"c\",\"name\":\"n\"}", 0,
         ",\n{\"ph\":\"f\",\"pid\":1026,\"bp\":\"e\",\"name\":\"n\","
         "\"cat\":\"c\"}"},
        {"{\"args\":{\"y\":9007199254740993},\"pid\":1}", 0,
         ",\n{\"pid\":1026,\"args\":{\"y\":9007199254740993}}"},
        {"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1}", 0,
         ",\n{\"ph\":\"M\",\"pid\":1026,\"name\":\"process_labels\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        OK(rewrite(cases[i].from, cases[i].shift_ns, &to));
        SAME(to.bytes, cases[i].to);
    }
}

/* With the ids and times of the file. */
TEST(printed_as_read)
{
    static const char *const texts[] = {
        "{\"ph\":\"X\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":1.00025,"
        "\"dur\":\"2\",\"name\":\"n\",\"cat\":\"c\",\"args\":{\"a\":1}}",
        "{\"ph\":\"b\",\"tid\":4,\"id\":7}",
        "{\"name\":5}",
        "{}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_timeline_event event;
        OK(fixture_event(texts[i], &event));
        fd_chrome_print(&event, &to);
        WRITTEN(&to, texts[i]);
    }
}

TEST(an_invalid_time_loses_the_event)
{
    static const char *const texts[] = {
        "{\"pid\":1,\"ts\":null}", "{\"pid\":1,\"ts\":\"x\"}",
        "{\"pid\":1,\"ts\":[1]}", "{\"pid\":1,\"ts\":1e99}"};
    for (size_t i = 0; i < 4; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        STATUS(rewrite(texts[i], 1, &to), FD_EFORMAT);
        EQUAL(to.size, 0);
    }
}

static fd_status
take_row(fd_timeline_ids *ids, const char *text, fd_buffer *to)
{
    fd_timeline_event event;
    fd_status status = fixture_event(text, &event);
    return status == FD_OK
             ? fd_chrome_write(&event, &(fd_clock_map){0}, ids, to)
             : status;
}

TEST(rows_of_processes_are_replaced)
{
    CLEAN(fd_timeline_ids_clear)
    fd_timeline_ids ids = {.rank = 1,
                           .inputs = 1,
                           .spare_pid = &spare_pid,
                           .spare_tid = &spare_tid};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    OK(take_row(&ids,
                "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,"
                "\"args\":{\"name\":\"python\"}}",
                &to));
    OK(take_row(&ids,
                "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":5,"
                "\"args\":{\"sort_index\":-7}}",
                &to));
    EQUAL(to.size, 0);
    EQUAL(ids.processes.list[1].sort_index, -7000);
    SAME(fd_text_pool_get(&ids.names, ids.processes.list[1].name), "python");
}
