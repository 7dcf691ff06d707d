#include "check.h"
#include "timelines.h"

#include "events/stats/slice_tables.h"

#define SLICE(tid, cat, name, ts, dur) \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":" #tid ",\"cat\":\"" cat \
    "\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "}"
#define STEP(number, ts, dur) \
    SLICE(0, "user_annotation", "ProfilerStep#" #number, ts, dur)
#define TABLES(tables) \
    CLEAN(fd_slice_tables_clear) \
    fd_slice_tables tables = {.has_base = false}
#define REQUEST(request, seen) \
    fd_slices_request request = {.align = fixture_align, \
                                 .begin = note_files, \
                                 .take = note_rows, \
                                 .context = &(seen)}

typedef struct seen {
    uint32_t files; /* calls of begin */
    uint32_t ranks;
    uint64_t events;
    uint64_t lost;
    uint32_t steps;
    uint32_t rows;
    fd_slice last;
    uint32_t most; /* stop after this number of files; 0: do not */
} seen;

static bool
note_files(void *context, const fd_timeline_outline *outline, const char *file,
           uint64_t lost)
{
    seen *s = context;
    s->files++;
    s->ranks += outline->ranks.count;
    s->lost += lost;
    for (uint32_t i = 0; i < outline->ranks.count; i++) {
        s->events += outline->ranks.list[i].events;
        s->steps += outline->ranks.list[i].steps.count;
    }
    return file != NULL && s->files != s->most;
}

static bool
note_rows(void *context, const fd_slice *rows, uint32_t count)
{
    seen *s = context;
    s->rows += count;
    s->last = rows[count - 1];
    return true;
}

/* A recording and what another program wrote of the same rank, both with
 * process 1 and thread 0, are read together, and their threads are apart. */
static void
two_files_of_a_rank(void)
{
    TABLES(tables);
    seen s = {.files = 0};
    REQUEST(request, s);
    fd_timeline_input files[] = {{.path = "b.json"},
                                 {.path = "a.json"},
                                 {.path = "r1.json", .rank = 1}};
    OK(WRITE("a.json",
             "{\"baseTimeNanoseconds\":1000,\"recordings\":[],"
             "\"traceEvents\":[",
             STEP(0, 0, 50), SLICE(0, "op", "aten::mm", 10, 20),
             "{\"ph\":\"B\",\"pid\":1,\"tid\":0,\"ts\":50,"
             "\"name\":\"open\"}",
             "{\"ph"));
    OK(WRITE("b.json", "{\"baseTimeNanoseconds\":2000,\"traceEvents\":[",
             STEP(9, 0, 90), SLICE(0, "cpu_op", "c10d::barrier", 5, 20),
             "{\"ph\":\"E\",\"pid\":1,\"tid\":0,\"ts\":60}",
             "{\"ph\":\"X\",\"ts\":NaN,\"dur\":\"\"}]}"));
    OK(WRITE("r1.json", "{\"baseTimeNanoseconds\":3000,\"traceEvents\":[",
             SLICE(7, "kernel", "gemm", 10, 50) "]}"));
    OK(fd_slice_tables_read(&request, files, 3, &tables, NULL));
    EQUAL(tables.base_ns, 1000);
    EQUAL(s.files, 2);
    EQUAL(s.ranks, 2);
    EQUAL(s.events, 8);
    EQUAL(s.lost, 1);
    EQUAL(s.steps, 1); /* of the recording */
    EQUAL(s.rows, 5);
    EQUAL(s.last.start, 12000);
    EQUAL(s.last.end, 62000);
    SAME(fd_text_pool_get(&tables.slices.texts, s.last.name), "gemm");
    EQUAL(files[0].events, 4);
    EQUAL(files[1].events, 3);
    EQUAL(files[0].repaired, 1);
    EQUAL(files[0].unpaired, 1);
    EQUAL(files[1].unpaired, 1);
    EQUAL(files[0].timeless, 1);
    EQUAL(files[1].lost, 1);
}

static void
wanted_ranks(void)
{
    static const uint32_t one[] = {1};
    TABLES(tables);
    seen s = {.files = 0};
    REQUEST(request, s);
    fd_timeline_input files[] = {{.path = "a.json"},
                                 {.path = "b.json", .rank = 1}};
    request.ranks = one;
    request.rank_count = 1;
    OK(fixture_write_text("a.json", "[" SLICE(1, "", "a", 1, 1) "]"));
    OK(fixture_write_text("b.json", "[" SLICE(1, "", "b", 1, 1) "]"));
    OK(fd_slice_tables_read(&request, files, 2, &tables, NULL));
    EQUAL(s.rows, 1);
    SAME(fd_text_pool_get(&tables.slices.texts, s.last.name), "b");
    s = (seen){.most = 1};
    fd_slice_tables_clear(&tables);
    STATUS(fd_slice_tables_read(&request, files, 2, &tables, NULL), FD_EINVAL);
}

/* A slice with a time of another clock is counted, and named. */
static void
strays(void)
{
    TABLES(tables);
    seen s = {.files = 0};
    REQUEST(request, s);
    fd_timeline_input file = {.path = "a.json"};
    OK(WRITE("a.json", "[", SLICE(1, "", "far", -9000000000, 1),
             SLICE(1, "", "a", 1, 1), SLICE(1, "", "a", 2, 1),
             SLICE(1, "", "a", 3, 1), SLICE(1, "", "a", 4, 1) "]"));
    OK(fd_slice_tables_read(&request, &file, 1, &tables, NULL));
    EQUAL(s.rows, 4);
    EQUAL(file.strays, 1);
    EQUAL(file.stray_ns, -9000000001000);
    SAME(fd_text_pool_get(&tables.slices.texts, file.stray_name), "far");
}

static void
invalid_requests(void)
{
    static const struct {
        const char *first;
        const char *second;
        uint32_t rank; /* of the second */
        fd_status status;
        const char *message;
    } cases[] = {
        {"", "{}", 1, FD_EFORMAT, "a.json: empty"},
        {"[]", "[" SLICE(1, "", "a", 1, 1) "]", 1, FD_OK, ""},
        {"[" SLICE(1, "", "a", 1, 1) "]", "[" SLICE(1, "", "a", 1, 1) "]", 0,
         FD_ECONFLICT, "rank 0 is in two inputs: a.json and b.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TABLES(tables);
        seen s = {.files = 0};
        REQUEST(request, s);
        fd_timeline_input files[] = {
            {.path = "a.json"}, {.path = "b.json", .rank = cases[i].rank}};
        fd_error error = {""};
        OK(fixture_write_text("a.json", cases[i].first));
        OK(fixture_write_text("b.json", cases[i].second));
        STATUS(fd_slice_tables_read(&request, files, 2, &tables, &error),
               cases[i].status);
        SAME(error.text, cases[i].message);
    }
}

RUN(TEST(two_files_of_a_rank), TEST(wanted_ranks), TEST(strays),
    TEST(invalid_requests))
