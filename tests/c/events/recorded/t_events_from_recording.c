#include "check.h"
#include "timelines.h"

#include "events/recorded/timeline_exports.h"
#include "trace/reader/recording_reader.h"

#include <string.h>

/* Read as a recording it is what the export of it says, event by event. */
ABSORBS(as_its_export)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer ours = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer exported = {.bytes = NULL};
    CLEAN(fd_timeline_reader_close) fd_timeline_reader reader;
    CLEAN(fd_timeline_reader_close) fd_timeline_reader again;
    fd_export_options options = {.rank = 0};
    again = reader = (fd_timeline_reader){.in = {.fd = -1}};
    OK(fixture_timeline_file("rank00001.fd", 1));
    OK(fd_reader_read(&trace, "rank00001.fd", true, NULL));
    OK(fd_export_chrome(trace, &options, &text, NULL));
    OK(fixture_write("export.json", text.bytes, text.size));
    OK(fixture_items("export.json", &exported, &again));
    OK(fixture_items("rank00001.fd", &ours, &reader));
    SAME(reader.source->name, "recording");
    FIELDS(&reader, (lost, 0), (in.read, reader.in.size));
    EQUAL(ours.size, exported.size);
    CHECK(ours.size > 1000);
    CHECK(memcmp(ours.bytes, exported.bytes, ours.size) == 0);
}

ABSORBS(losses_are_reported)
{
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer ours = {.bytes = NULL};
    CLEAN(fd_timeline_reader_close) fd_timeline_reader reader;
    reader = (fd_timeline_reader){.in = {.fd = -1}};
    OK(fixture_timeline_file("rank00001.fd", 1));
    OK(fixture_read("rank00001.fd", &file));
    for (size_t at = FD_PAGE; at + sizeof(fd_chunk) < file.size;
         at += FD_PAGE) {
        fd_chunk *chunk = (fd_chunk *)(void *)(file.bytes + at);
        if (chunk->magic == FD_CHUNK_MAGIC
            && chunk->kind == FD_CHUNK_THREADS) {
            fd_thread_record *thread = (fd_thread_record *)(chunk + 1);
            thread->events_lost = 17;
        }
    }
    OK(fixture_write("rank00001.fd", file.bytes, file.size));
    OK(fixture_items("rank00001.fd", &ours, &reader));
    EQUAL(reader.lost, 17);
    SAME(reader.trouble, "17 events found no room in the timeline");
    fd_buffer_bytes(&ours, "", 1);
    OK(ours.status);
    HAS(ours.bytes, "\"17 events found no room in the timeline\"");
}

ABSORBS(without_a_timeline)
{
    CLEAN(fd_timeline_reader_close) fd_timeline_reader reader;
    fd_error error = {""};
    OK(fixture_recorded("rank00000.fd", 0, NULL));
    STATUS(fd_timeline_reader_open(&reader, "rank00000.fd", &error),
           FD_EFORMAT);
    SAME(error.text, "rank00000.fd: no timeline in it: record with "
                     "`fastdispatch run --timeline`");
    fd_timeline_reader_close(&reader);
    OK(fixture_write("rank00000.fd", "fastdispatch?", 13));
    STATUS(fd_timeline_reader_open(&reader, "rank00000.fd", &error),
           FD_EFORMAT);
    SAME(reader.trouble, "cut off within the header, nothing is readable");
    fd_timeline_reader_close(&reader);
    OK(fixture_write("dump.json", "{\"format\":\"fastdispatch.trace\",", 31));
    STATUS(fd_timeline_reader_open(&reader, "dump.json", &error), FD_EFORMAT);
    SAME(reader.trouble, "a dump has no timeline: use the recording (.fd)");
}
