#include "check.h"
#include "fixtures.h"

#include "events/readers/event_reader.h"

#include <string.h>

/* The items of a text: "m:<key>" and the phases of events; then the lost places
 * and bytes, and the reason. */
static fd_status
read_text(const char *text, size_t size, fd_buffer *to)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    fd_status status = fixture_write("trace.json", text, size);
    if (status != FD_OK) {
        return status;
    }
    status = fd_timeline_reader_open(&reader, "trace.json", NULL);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        if (item == FD_TIMELINE_MEMBER) {
            fd_buffer_text(to, "m:");
            fd_buffer_bytes(to, reader.key.from, fd_span_size(reader.key));
            fd_buffer_text(to, " ");
        }
        else {
            fd_buffer_bytes(to, &reader.event.phase, reader.event.phase != 0);
        }
    }
    fd_buffer_format(to, "|%s", reader.is_trace ? "" : "no trace");
    if (reader.lost > 0) {
        fd_buffer_format(to, "%u places, %u bytes, %s", (unsigned)reader.lost,
                         (unsigned)reader.lost_bytes, reader.trouble);
    }
    fd_buffer_bytes(to, "", 1);
    status = status != FD_OK        ? status
           : reader.status != FD_OK ? reader.status
                                    : to->status;
    fd_timeline_reader_close(&reader);
    return status;
}

typedef struct reading {
    const char *text;
    const char *result;
} reading;

static void
all_read(const reading *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        OK(read_text(cases[i].text, strlen(cases[i].text), &to));
        SAME(to.bytes, cases[i].result);
    }
}

#define ALL_READ(cases) all_read(cases, sizeof cases / sizeof *cases)

TEST(whole_files)
{
    static const reading cases[] = {
        {"{\"traceEvents\":[]}", "|"},
        {"[{\"ph\":\"X\"}]", "X|"},
        {"\xEF\xBB\xBF {\"a\":[1],\"traceEvents\" : [ {\"ph\":\"X\"},\r\n "
         "{\"ph\":\"i\"} ] , \"b\":{}}\n",
         "m:a Xim:b |"},
        {"{\"traceEvents\":[{\"ph\":\"X\"}],\"traceEvents\":[{\"ph\":\"C\"}]}",
         "XC|"},
        {"{\"traceEvents\":\"text\"}", "m:traceEvents |no trace"},
        {"{}", "|no trace"},
        {"[]", "|no trace"},
        {"[{\"a\":1}]", "|no trace"},
    };
    ALL_READ(cases);
}

/* The format says that a bare array needs no end; appending programs leave a
 * comma. */
TEST(permitted_open_ends)
{
    static const reading cases[] = {
        {"[{\"ph\":\"X\"},{\"ph\":\"C\"}", "XC|"},
        {"[{\"ph\":\"X\"},\n", "X|"},
        {"[{\"ph\":\"X\"},]", "X|"},
        {"{\"traceEvents\":[{\"ph\":\"X\"},],\"a\":1}", "Xm:a |"},
    };
    ALL_READ(cases);
}

TEST(cut_files)
{
    static const reading cases[] = {
        {"", "|no trace1 places, 0 bytes, empty"},
        {" \n", "|no trace1 places, 2 bytes, cut short at byte 2"},
        {"{\"traceEvents\":[{\"ph\":\"X\"},{\"ph\":\"i\",\"na",
         "X|1 places, 14 bytes, cut short at byte 40"},
        {"{\"traceEvents\":[{\"ph\":\"X\"}",
         "X|1 places, 0 bytes, cut short at byte 26"},
        {"{\"traceEvents\":[{\"ph\":\"X\"}]",
         "X|1 places, 0 bytes, cut short at byte 27"},
        {"{\"traceEvents\":[],\"a\":",
         "|1 places, 5 bytes, cut short at byte 22"},
        {"[{\"ph\":\"X\"},{\"p", "X|1 places, 4 bytes, cut short at byte 15"},
    };
    ALL_READ(cases);
}

TEST(damage_in_the_middle)
{
    static const reading cases[] = {
        {"[{\"ph\":\"X\"},{\"ph\" \"i\"},{\"ph\":\"C\"}]",
         "XC|1 places, 12 bytes, not JSON at byte 18"},
        {"[{\"ph\":\"X\"} {\"ph\":\"i\"},{\"ph\":\"C\"}]",
         "XC|1 places, 12 bytes, not JSON at byte 12"},
        {"[7,{\"ph\":\"X\"},{\"ph\":\"C\"}]",
         "XC|1 places, 1 bytes, no event at byte 1"},
        /* objects within the damaged event are not events */
        {"[{\"ph\":\"X\"},{\"args\":[! {\"a\":1},{\"a\":2}]},{\"ph\":\"C\"}]",
         "XC|1 places, 30 bytes, not JSON at byte 21"},
        {"[{\"ph\" 1},{\"ph\":\"X\"},{\"ph\" 2},{\"ph\":\"C\"}]",
         "XC|2 places, 19 bytes, not JSON at byte 7"},
        {"[{\"ph\":\"X\"},{\"ph\" 2},{\"ph\" 2},{\"ph\":\"C\"}]",
         "XC|1 places, 19 bytes, not JSON at byte 18"},
        {"[{\"ph\":\"X\"},{\"ph\" 2}]",
         "X|1 places, 10 bytes, not JSON at byte 18"},
        {"{\"traceEvents\":[{\"ph\":\"X\"}]} {\"more\":1}",
         "X|1 places, 10 bytes, not JSON at byte 29"},
        {"{\"a\" 1}", "|no trace1 places, 6 bytes, not JSON at byte 5"},
        {"hello", "|no trace1 places, 5 bytes, not JSON at byte 0"},
        {"null", "|no trace1 places, 4 bytes, one value, no events"},
        {" 12", "|no trace1 places, 3 bytes, one value, no events"},
    };
    ALL_READ(cases);
}

TEST(deep_nesting)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_buffer_text(&text, "[{\"ph\":\"X\"},{\"a\":");
    for (int i = 0; i < 100000; i++) {
        fd_buffer_text(&text, i < 50000 ? "[" : "]");
    }
    fd_buffer_text(&text, "},{\"ph\":\"C\"}]");
    OK(text.status);
    OK(read_text(text.bytes, text.size, &to));
    SAME(to.bytes,
         "XC|1 places, 100008 bytes, nested deeper than 512 levels at byte "
         "529");
}

/* Events that lie across the end of a window, and one that is larger. */
TEST(across_windows)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    size_t count = 0;
    fd_buffer_text(&text, "[");
    for (; text.size < 1 << 20 && text.status == FD_OK; count++) {
        fd_buffer_text(&text, "{\"ph\":\"X\",\"name\":\"\xC3\xA9 \\u00e9\"},");
    }
    fd_buffer_text(&text, "{\"ph\":\"C\",\"name\":\"");
    for (size_t i = 0; i < 1 << 20; i++) {
        fd_buffer_text(&text, "n");
    }
    fd_buffer_text(&text, "\"}, 1, {\"ph\":\"i\"}]");
    OK(text.status);
    OK(read_text(text.bytes, text.size, &to));
    EQUAL(strspn(to.bytes, "X"), count);
    SAME(to.bytes + count, "Ci|1 places, 1 bytes, no event at byte 2097189");
}
