#include "check.h"
#include "fixtures.h"

#include "events/readers/event_reader.h"

typedef struct kind {
    const char *head;
    size_t size;
    const char *name;
} kind;

TEST(recognized_by_their_first_bytes)
{
    static const kind kinds[] = {
        {"{\"traceEvents\":[]}", 18, "Chrome JSON"},
        {"\n [{}]", 6, "Chrome JSON"},
        {"\n{}", 3, "Chrome JSON"},
        {"", 0, "Chrome JSON"},
        {"hello", 5, "Chrome JSON"},
        {"\n\x02\x40\x01", 4, "Perfetto"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        CLEAN(fd_bytes_in_close) fd_bytes_in in;
        CLEAN(fd_timeline_maker_close) fd_timeline_maker maker;
        const fd_timeline_source *source;
        OK(fixture_write("file", kinds[i].head, kinds[i].size));
        fd_status status =
            fd_timeline_source_open(&maker, &in, "file", &source, NULL);
        CHECK(status == FD_OK || status == FD_EFORMAT || check_refused());
        OK(source != NULL ? FD_OK : status);
        SAME(source->name, kinds[i].name);
    }
}

TEST(unreadable_files)
{
    CLEAN(fd_timeline_reader_close) fd_timeline_reader reader;
    fd_error error = {""};
    STATUS(fd_timeline_reader_open(&reader, "absent", &error), FD_EIO);
    SAME(error.text, "absent: No such file or directory");
    OK(fixture_write("a.pftrace", "\n\x02\x40\x01", 4));
    fd_timeline_reader_close(&reader);
    STATUS(fd_timeline_reader_open(&reader, "a.pftrace", &error), FD_EFORMAT);
    SAME(error.text, "a.pftrace: a native Perfetto trace cannot be read: give "
                     "recordings, Chrome JSON or logs of Paddle");
}
