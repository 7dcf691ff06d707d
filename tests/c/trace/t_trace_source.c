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
    fd_trace_input source = {.file = {path, NULL}};
    return fd_source_open(trace, &source, 1, FD_PART_FIGURES, NULL, error);
}

/* A dump, which loses its ranks, has no steps to select from. */
TEST(dump_of_a_file)
{
    CLEAN(fixture_trace_free) fd_trace *taken = NULL;
    TRAINED_TRACE(whole, 0, "run");
    TRAINED_TRACE(dump, 0, "run");
    fd_trace_input source = {.file = {"one.json", dump}};
    fd_steps_wanted range = {.range = true, .last = 1};
    fd_error error = {""};
    bool same;
    STATUS(fd_source_open(&taken, &source, 1, FD_PART_FIGURES, &range, &error),
           FD_EFORMAT);
    HAS(error.text, "one.json: a dump has all steps and the settled ones");
    OK(fd_source_open(&taken, &source, 1, FD_PART_FIGURES, NULL, NULL));
    OK(fixture_same(whole, taken, &same));
    CHECK(same);
    EQUAL(dump->ranks.count, 0);
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
    fd_trace_input nothing = {.file = {"nothing", NULL},
                              .files = (const fd_trace_file[]){{NULL, NULL}}};
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
    static const fd_trace_file files[] = {
        {"0.fd", NULL}, {"again.fd", NULL}, {"1.fd", NULL}, {"2.fd", NULL}};
    static const char *const notes[] = {"skipped: x.fd: old"};
    const fd_trace_input source = {{"mixed", NULL}, files, 4, notes, 1};
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
    const fd_trace_input forth[] = {{.file = {"a.fd", NULL}},
                                    {.file = {"b.fd", NULL}}};
    const fd_trace_input back[] = {{.file = {"b.fd", NULL}},
                                   {.file = {"a.fd", NULL}}};
    const fd_trace_input twice[] = {{.file = {"a.fd", NULL}},
                                    {.file = {"a.fd", NULL}}};
    OK(fd_source_open(&one, forth, 2, FD_PART_FIGURES, NULL, NULL));
    OK(fd_source_open(&two, back, 2, FD_PART_FIGURES, NULL, NULL));
    OK(fixture_same(one, two, &same));
    CHECK(same);
    fd_trace *none = NULL;
    STATUS(fd_source_open(&none, twice, 2, FD_PART_FIGURES, NULL, &error),
           FD_ECONFLICT);
    CHECK(none == NULL);
}
