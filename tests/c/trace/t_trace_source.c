#include "check.h"
#include "fixtures.h"

#include "trace/trace_source.h"

#include <stdio.h>
#include <sys/stat.h>

static const char *
note(const fd_trace *trace, uint32_t at)
{
    const fd_trace_rank *rank = &trace->ranks.list[0];
    return at < rank->notes.count ? fd_trace_text(trace, rank->notes.list[at])
                                  : "";
}

static fd_status
open_one(fd_trace **trace, const char *path, fd_error *error)
{
    fd_trace_input source = {.path = path};
    return fd_source_open(trace, &source, 1, FD_PART_FIGURES, NULL, error);
}

TEST(files_of_all_forms)
{
    CLEAN(fixture_trace_free) fd_trace *from_fd = NULL;
    CLEAN(fixture_trace_free) fd_trace *from_json = NULL;
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    bool same;
    OK(fixture_recorded("one.fd", 0, "run"));
    OK(open_one(&from_fd, "one.fd", NULL));
    OK(fixture_dump(from_fd, &text));
    OK(fixture_write("one.json", text.bytes, text.size));
    OK(open_one(&from_json, "one.json", NULL));
    OK(fixture_same(from_fd, from_json, &same));
    CHECK(same);
}

TEST(invalid_sources)
{
    static const struct {
        const char *path;
        const char *text;
        fd_status status;
        const char *message;
    } cases[] = {
        {"absent", NULL, FD_EIO, "absent: No such file or directory"},
        {"foreign.txt", "hello", FD_EFORMAT,
         "foreign.txt: neither a recording (.fd) nor a dump (.json) of "
         "fastdispatch"},
        {"foreign.json", "\n {\"traceEvents\":[]}", FD_EFORMAT,
         "foreign.json: format: not a fastdispatch dump"},
        {"short.fd", "fastdisp", FD_EFORMAT,
         "short.fd: cut off within the header, nothing is readable"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_trace *trace = NULL;
        fd_error error = {""};
        if (cases[i].text != NULL) {
            OK(fixture_write_text(cases[i].path, cases[i].text));
        }
        STATUS(open_one(&trace, cases[i].path, &error), cases[i].status);
        SAME(error.text, cases[i].message);
        CHECK(trace == NULL);
    }
    fd_trace_input nothing = {.path = "nothing",
                              .files = (const char *const[]){NULL}};
    fd_trace *trace = NULL;
    fd_error error = {""};
    STATUS(fd_source_open(&trace, &nothing, 1, FD_PART_FIGURES, NULL, &error),
           FD_EFORMAT);
    SAME(error.text, "nothing: no recording (*.fd) in this directory");
}

/* A damaged file in a directory and a second one of a rank are skipped and
 * named, after the lines about other files. */
TEST(directory_with_a_bad_file)
{
    static const char *const files[] = {"0.fd", "again.fd", "1.fd", "2.fd"};
    static const char *const notes[] = {"skipped: x.fd: old"};
    const fd_trace_input source = {"mixed", files, 4, notes, 1};
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_recorded("0.fd", 0, NULL));
    OK(fixture_recorded("again.fd", 0, NULL));
    OK(fixture_recorded("1.fd", 1, NULL));
    OK(fixture_write_text("2.fd", "fastdisp"));
    OK(fd_source_open(&trace, &source, 1, FD_PART_FIGURES, NULL, NULL));
    FIELDS(&trace->ranks, (count, 2), (list[0].notes.count, 3));
    SAME(note(trace, 0), "skipped: x.fd: old");
    HAS(note(trace, 1), "skipped: again.fd: rank 0 is there already");
    SAME(note(trace, 2), "skipped: 2.fd: cut off within the header, nothing "
                         "is readable");
}

TEST(several_paths)
{
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *two = NULL;
    bool same;
    fd_error error;
    OK(fixture_recorded("a.fd", 0, NULL));
    OK(fixture_recorded("b.fd", 1, NULL));
    const fd_trace_input forth[] = {{.path = "a.fd"}, {.path = "b.fd"}};
    const fd_trace_input back[] = {{.path = "b.fd"}, {.path = "a.fd"}};
    const fd_trace_input twice[] = {{.path = "a.fd"}, {.path = "a.fd"}};
    OK(fd_source_open(&one, forth, 2, FD_PART_FIGURES, NULL, NULL));
    OK(fd_source_open(&two, back, 2, FD_PART_FIGURES, NULL, NULL));
    OK(fixture_same(one, two, &same));
    CHECK(same);
    fd_trace *none = NULL;
    STATUS(fd_source_open(&none, twice, 2, FD_PART_FIGURES, NULL, &error),
           FD_ECONFLICT);
    CHECK(none == NULL);
}
