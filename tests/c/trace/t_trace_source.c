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
    return fd_source_open(trace, &path, 1, FD_PART_FIGURES, NULL, error);
}

static void
files_of_all_forms(void)
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

static void
invalid_sources(void)
{
    static const struct {
        const char *path;
        const char *text;
        fd_status status;
        const char *message;
    } cases[] = {
        {"absent", NULL, FD_EIO, "absent: No such file or directory"},
        {"empty.fd", "", FD_EFORMAT, "empty.fd: the file is empty"},
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
    fd_trace *trace = NULL;
    fd_error error = {""};
    mkdir("nothing", 0777);
    STATUS(open_one(&trace, "nothing", &error), FD_EFORMAT);
    SAME(error.text, "nothing: no recording (*.fd) in this directory");
}

/* A damaged file in a directory is skipped and named. */
static void
directory_with_a_bad_file(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    mkdir("mixed", 0777);
    OK(fixture_recorded("mixed/rank00000.fd", 0, NULL));
    OK(fixture_recorded("mixed/rank00001.fd", 1, NULL));
    OK(fixture_write_text("mixed/rank00002.fd", "fastdisp"));
    OK(fixture_write_text("mixed/notes.txt", "not ours"));
    mkdir("mixed/other", 0777);
    OK(fixture_recorded("mixed/other/rank00003.fd", 3, NULL));
    OK(open_one(&trace, "mixed", NULL));
    EQUAL(trace->ranks.count, 2);
    EQUAL(trace->ranks.list[0].notes.count, 1);
    SAME(note(trace, 0), "skipped: mixed/rank00002.fd: cut off within the "
                         "header, nothing is readable");
}

/* Dumps of ranks are read if there are no recordings beside them. */
static void
directory_of_dumps(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fixture_trace_free) fd_trace *recorded = NULL;
    mkdir("dumps", 0777);
    remove("dumps/rank00003.fd"); /* of an earlier run of the test */
    for (uint32_t rank = 0; rank < 2; rank++) {
        char path[32];
        TRAINED_TRACE(one, rank, "run");
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        OK(fixture_dump(one, &text));
        snprintf(path, sizeof path, "dumps/rank0000%u.json", (unsigned)rank);
        OK(fixture_write(path, text.bytes, text.size));
    }
    OK(fixture_write_text("dumps/page.json", "not ours"));
    OK(open_one(&trace, "dumps", NULL));
    EQUAL(trace->ranks.count, 2);
    EQUAL(trace->ranks.list[0].notes.count, 0);
    OK(fixture_recorded("dumps/rank00003.fd", 3, NULL));
    OK(open_one(&recorded, "dumps", NULL));
    EQUAL(recorded->ranks.count, 1);
}

static void
manifest_names_the_run(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    mkdir("named", 0777);
    OK(fixture_recorded("named/rank00000.fd", 0, NULL));
    OK(fixture_recorded("named/rank00007.fd", 7, NULL));
    OK(fixture_write_text(
        "named/manifest.json",
        "{\"format\":\"fastdispatch.run\","
        "\"ranks\":[{\"rank\":0,\"file\":\"rank00000.fd\"},7]}"));
    OK(open_one(&trace, "named", NULL));
    EQUAL(trace->ranks.count, 1);
    SAME(note(trace, 0), "skipped: named/rank00007.fd: not named in "
                         "manifest.json, so of an earlier run");
}

static void
damaged_manifest(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    mkdir("torn", 0777);
    OK(fixture_recorded("torn/rank00000.fd", 0, NULL));
    OK(fixture_write_text("torn/manifest.json", "{\"ranks\":[{\"ra"));
    OK(open_one(&trace, "torn", NULL));
    EQUAL(trace->ranks.count, 1);
    SAME(note(trace, 0), "skipped: torn/manifest.json: not valid JSON, all "
                         "recordings beside it are read");
}

static void
folders_of_machines(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    mkdir("cluster", 0777);
    mkdir("cluster/machine-a", 0777);
    mkdir("cluster/machine-b", 0777);
    mkdir("cluster/machine-b/machine-c", 0777);
    OK(fixture_recorded("cluster/machine-a/rank00000.fd", 0, NULL));
    OK(fixture_recorded("cluster/machine-b/rank00001.fd", 1, NULL));
    OK(fixture_recorded("cluster/machine-b/machine-c/rank00002.fd", 2, NULL));
    OK(open_one(&trace, "cluster", NULL));
    EQUAL(trace->ranks.count, 2);
    EQUAL(trace->ranks.list[1].rank, 1);
    EQUAL(trace->ranks.list[0].notes.count, 0);
}

/* A second process of one rank: the plain name is used, the other one is
 * named. */
static void
one_rank_twice(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    mkdir("twice", 0777);
    OK(fixture_recorded("twice/rank00000.4711.fd", 0, NULL));
    OK(fixture_recorded("twice/rank00000.fd", 0, NULL));
    OK(open_one(&trace, "twice", NULL));
    EQUAL(trace->ranks.count, 1);
    HAS(note(trace, 0), "skipped: twice/rank00000.4711.fd: rank 0 "
                        "is there already");
}

static void
several_paths(void)
{
    CLEAN(fixture_trace_free) fd_trace *one = NULL;
    CLEAN(fixture_trace_free) fd_trace *two = NULL;
    bool same;
    fd_error error;
    OK(fixture_recorded("a.fd", 0, NULL));
    OK(fixture_recorded("b.fd", 1, NULL));
    const char *const forth[] = {"a.fd", "b.fd"};
    const char *const back[] = {"b.fd", "a.fd"};
    const char *const twice[] = {"a.fd", "a.fd"};
    OK(fd_source_open(&one, forth, 2, FD_PART_FIGURES, NULL, NULL));
    OK(fd_source_open(&two, back, 2, FD_PART_FIGURES, NULL, NULL));
    OK(fixture_same(one, two, &same));
    CHECK(same);
    fd_trace *none = NULL;
    STATUS(fd_source_open(&none, twice, 2, FD_PART_FIGURES, NULL, &error),
           FD_ECONFLICT);
    CHECK(none == NULL);
}

RUN(TEST(files_of_all_forms), TEST(invalid_sources),
    TEST(directory_with_a_bad_file), TEST(directory_of_dumps),
    TEST(manifest_names_the_run), TEST(damaged_manifest),
    TEST(folders_of_machines), TEST(one_rank_twice), TEST(several_paths))
