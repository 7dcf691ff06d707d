#include "check.h"
#include "timelines.h"

#include "events/stats/timeline_stats.h"

#define SLICE(tid, cat, name, ts, dur) \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":" #tid ",\"cat\":\"" cat \
    "\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "}"
#define STEP(number, ts, dur) \
    SLICE(0, "user_annotation", "ProfilerStep#" #number, ts, dur)

/* A step of 100 us: kernels 10..60 and 70..80, nccl 50..75, a copy 85..90. */
static fd_status
write_rank(const char *path, const char *base)
{
    CLEAN(fd_buffer_clear) fd_buffer head = {.bytes = NULL};
    fd_buffer_format(&head, "{\"baseTimeNanoseconds\":%s,\"traceEvents\":[",
                     base);
    fd_buffer_bytes(&head, "", 1);
    return head.status != FD_OK
             ? head.status
             : WRITE(path, head.bytes, STEP(4, 0, 100),
                     SLICE(7, "kernel", "gemm", 10, 50),
                     SLICE(7, "kernel", "gemm", 70, 10),
                     SLICE(20, "kernel", "ncclDevKernel_AllReduce", 50, 25),
                     SLICE(21, "gpu_memcpy", "Memcpy", 85, 5),
                     SLICE(0, "cpu_op", "aten::mm", 0, 100),
                     SLICE(0, "job", "forward_1", 5, 10) "]}");
}

static void
figures(void)
{
    CLEAN(fd_stats_clear) fd_stats stats = {.has_base = false};
    fd_timeline_input files[] = {{.path = "r0.json"},
                                 {.path = "r1.json", .rank = 1}};
    fd_stats_request request = {.align = FD_ALIGN_WALL};
    OK(write_rank("r0.json", "1000"));
    OK(write_rank("r1.json", "3000"));
    OK(fd_timeline_stats(&request, files, 2, &stats, NULL));
    EQUAL(stats.ranks.count, 2);
    EQUAL(stats.ranks.list[0].basis, FD_BASIS_GPU);
    EQUAL(stats.steps.count, 4);
    EQUAL(files[1].clock.offset_ns, 2000);
    EQUAL(files[1].events, 7);
    const fd_stats_step *step = &stats.steps.list[3];
    EQUAL(step->number, 4);
    EQUAL(step->start, 2000);
    EQUAL(step->end, 102000);
    EQUAL(step->work.compute, 60000);
    EQUAL(step->work.communication, 25000);
    EQUAL(step->work.exposed, 10000);
    EQUAL(step->work.copies, 5000);
    EQUAL(step->work.busy, 75000);
    EQUAL(stats.skew.rows.count, 1);
    EQUAL(stats.skew.rows.list[0].matched, 1);
    EQUAL(stats.skew.rows.list[0].worst, 2000);
    for (uint32_t i = 0; i < stats.tally.rows.count; i++) {
        const fd_tally_row *row = &stats.tally.rows.list[i];
        if (row->key.of == FD_TALLY_JOB) {
            EQUAL(row->figures.total, 10000);
            CHECK(row->key.step == 4 || row->key.step == FD_NO_STEP);
        }
    }
}

/* A recording and what another program wrote of the same rank, both with
 * process 1 and thread 0, are one rank whose threads are apart; the recording
 * says which steps and jobs there are. */
static void
two_files_of_a_rank(void)
{
    CLEAN(fd_stats_clear) fd_stats stats = {.has_base = false};
    fd_timeline_input files[] = {{.path = "b.json"},
                                 {.path = "a.json"},
                                 {.path = "r1.json", .rank = 1}};
    fd_stats_request request = {.align = FD_ALIGN_WALL};
    OK(WRITE("a.json",
             "{\"baseTimeNanoseconds\":1000,\"recordings\":[],"
             "\"traceEvents\":[",
             STEP(0, 0, 50), SLICE(0, "op", "aten::mm", 10, 20),
             SLICE(0, "job", "forward_1", 12, 4),
             "{\"ph\":\"B\",\"pid\":1,\"tid\":0,\"ts\":50,"
             "\"name\":\"open\"}",
             "{\"ph"));
    OK(WRITE("b.json", "{\"baseTimeNanoseconds\":2000,\"traceEvents\":[",
             STEP(9, 0, 90), SLICE(0, "cpu_op", "c10d::barrier", 5, 20),
             SLICE(0, "user_annotation", "forward_1", 26, 4),
             "{\"ph\":\"E\",\"pid\":1,\"tid\":0,\"ts\":60}",
             "{\"ph\":\"X\",\"ts\":1,\"dur\":\"\"}]}"));
    OK(write_rank("r1.json", "3000"));
    OK(fd_timeline_stats(&request, files, 3, &stats, NULL));
    EQUAL(stats.ranks.count, 2);
    const fd_stats_rank *rank = &stats.ranks.list[0];
    EQUAL(rank->basis, FD_BASIS_OPERATORS);
    EQUAL(rank->events, 9);
    EQUAL(rank->steps, 1);
    EQUAL(rank->places_lost, 1);
    EQUAL(files[0].events, 5);
    EQUAL(files[1].events, 4);
    EQUAL(files[0].unpaired, 1);
    EQUAL(files[1].unpaired, 1);
    EQUAL(files[0].timeless, 1);
    EQUAL(files[1].timeless, 0);
    const fd_work_sums *all = &stats.steps.list[0].work;
    EQUAL(all->compute, 20000);
    EQUAL(all->communication, 20000);
    EQUAL(all->exposed, 4000);
    EQUAL(stats.steps.list[1].number, 0);
    EQUAL(stats.steps.list[2].rank, 1);
    EQUAL(stats.steps.list[3].work.compute, 60000);
    uint64_t total = 0;
    for (uint32_t i = 0; i < stats.tally.rows.count; i++) {
        const fd_tally_row *row = &stats.tally.rows.list[i];
        bool counts = row->key.of == FD_TALLY_JOB && row->key.rank == 0
                   && row->key.step == FD_NO_STEP;
        total += counts ? row->figures.total : 0;
    }
    EQUAL(total, 4000); /* not both */
}

static void
wanted_ranks(void)
{
    static const uint32_t one[] = {1};
    static const uint32_t none[] = {9};
    CLEAN(fd_stats_clear) fd_stats stats = {.has_base = false};
    fd_error error;
    fd_timeline_input files[] = {{.path = "r0.json"},
                                 {.path = "r1.json", .rank = 1}};
    fd_stats_request request = {.ranks = one, .rank_count = 1};
    OK(write_rank("r0.json", "1000"));
    OK(write_rank("r1.json", "3000"));
    OK(fd_timeline_stats(&request, files, 2, &stats, NULL));
    EQUAL(stats.ranks.count, 1);
    EQUAL(stats.ranks.list[0].rank, 1);
    fd_stats_clear(&stats);
    request.ranks = none;
    STATUS(fd_timeline_stats(&request, files, 2, &stats, &error), FD_EINVAL);
    SAME(error.text, "no slices of these ranks");
}

static void
bases(void)
{
    static const struct {
        const char *slice;
        fd_stats_basis basis;
        int64_t compute;
        int64_t exposed;
    } cases[] = {
        {SLICE(1, "kernel", "gemm", 1, 1), FD_BASIS_GPU, 1000, 0},
        {SLICE(1, "op", "aten::mm", 1, 2), FD_BASIS_OPERATORS, 2000, 0},
        {SLICE(1, "op", "c10d::barrier", 1, 2) "," SLICE(1, "op", "aten::mm",
                                                         0, 5),
         FD_BASIS_OPERATORS, 3000, 2000},
        {SLICE(1, "job", "forward_1", 1, 3), FD_BASIS_JOBS, 3000, 0},
        {SLICE(1, "job", "send_1", 1, 3), FD_BASIS_JOBS, 0, 3000},
        {SLICE(1, "a.py", "f", 1, 4) "," STEP(1, 0, 9), FD_BASIS_CALLS, 4000,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_stats_clear) fd_stats stats = {.has_base = false};
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        fd_timeline_input file = {.path = "a.json"};
        fd_stats_request request = {.align = FD_ALIGN_WALL};
        fd_buffer_format(&text, "[%s]", cases[i].slice);
        OK(text.status);
        OK(fixture_write("a.json", text.bytes, text.size));
        OK(fd_timeline_stats(&request, &file, 1, &stats, NULL));
        EQUAL(stats.ranks.list[0].basis, cases[i].basis);
        EQUAL(stats.steps.list[0].work.compute, cases[i].compute);
        EQUAL(stats.steps.list[0].work.exposed, cases[i].exposed);
    }
    SAME(fd_stats_basis_name(FD_BASIS_CALLS), "calls");
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
        {"{\"traceEvents\":[]}", "{\"traceEvents\":[]}", 1, FD_EINVAL,
         "no slices in these traces"},
        {"[" SLICE(1, "", "a", 1, 1) "]", "[" SLICE(1, "", "a", 1, 1) "]", 0,
         FD_ECONFLICT, "rank 0 is in two inputs: a.json and b.json"},
        {"[" SLICE(1, "", "a", 1, 1) "]",
         "[" SLICE(1, "", "a", 1,
                   1) ",{\"ph\":\"M\",\"pid\":1,\"name\":"
                      "\"process_name\",\"args\":{\"name\":\"rank 0\"}}]",
         1, FD_ECONFLICT, "b.json: rank 0 is also in another file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_stats_clear) fd_stats stats = {.has_base = false};
        fd_timeline_input files[] = {
            {.path = "a.json"}, {.path = "b.json", .rank = cases[i].rank}};
        fd_stats_request request = {.align = FD_ALIGN_WALL};
        fd_error error = {""};
        OK(fixture_write_text("a.json", cases[i].first));
        OK(fixture_write_text("b.json", cases[i].second));
        STATUS(fd_timeline_stats(&request, files, 2, &stats, &error),
               cases[i].status);
        SAME(error.text, cases[i].message);
    }
}

static void
damage(void)
{
    CLEAN(fd_stats_clear) fd_stats stats = {.has_base = false};
    fd_timeline_input file = {.path = "a.json"};
    fd_stats_request request = {.align = FD_ALIGN_WALL};
    OK(WRITE("a.json", "{\"traceEvents\":[", SLICE(1, "op", "a", 1, 1),
             "{\"ph\":\"B\",\"ts\":2,\"name\":\"b\"}",
             "{\"ph\":\"E\",\"ts\":2,\"tid\":9}",
             "{\"ph\":\"X\",\"ts\":NaN,\"dur\":1}", "{\"ph"));
    OK(fd_timeline_stats(&request, &file, 1, &stats, NULL));
    EQUAL(file.lost, 1);
    EQUAL(file.repaired, 1);
    EQUAL(file.unpaired, 2);
    EQUAL(file.timeless, 1);
    EQUAL(stats.ranks.list[0].places_lost, 1);
}

static bool
stop(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    return done > total;
}

static void
progress_can_stop_it(void)
{
    CLEAN(fd_stats_clear) fd_stats stats = {.has_base = false};
    fd_timeline_input file = {.path = "a.json"};
    fd_stats_request request = {.progress = stop};
    OK(fixture_write_text("a.json", "[" SLICE(1, "", "a", 1, 1) "]"));
    STATUS(fd_timeline_stats(&request, &file, 1, &stats, NULL), FD_EINVAL);
}

RUN(TEST(figures), TEST(two_files_of_a_rank), TEST(wanted_ranks), TEST(bases),
    TEST(invalid_requests), TEST(damage), TEST(progress_can_stop_it))
