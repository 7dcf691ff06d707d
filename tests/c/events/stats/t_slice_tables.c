#include "check.h"
#include "timelines.h"

#include "events/stats/slice_tables.h"

#define SLICE(tid, cat, name, ts, dur) \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":" #tid ",\"cat\":\"" cat \
    "\",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "}"
#define STEP(number, ts, dur) \
    SLICE(0, "user_annotation", "ProfilerStep#" #number, ts, dur)
#define TABLES(tables) \
    CLEAN(fd_timeline_slices_clear) \
    fd_timeline_slices tables = {.facts = false}
#define REQUEST(request, seen) \
    fd_slices_request request = { \
        .take = note_rows, .next = note_pass, .context = &(seen)}

typedef struct seen {
    uint32_t passes; /* calls of next */
    uint32_t again;  /* up to this number of passes */
    uint32_t processes;
    uint64_t events;
    uint64_t lost;
    uint32_t rows; /* of last passes */
    uint32_t first_rows;
    fd_slice last;
    uint32_t file;
    fd_slices_next next;
} seen;

static fd_slices_next
note_pass(void *context, const fd_slices_pass *pass)
{
    seen *s = context;
    if (s->passes++ < s->again) {
        return FD_SLICES_AGAIN;
    }
    s->lost += pass->lost;
    s->processes += pass->processes->list.count;
    for (uint32_t i = 0; i < pass->processes->list.count; i++) {
        s->events += pass->processes->list.list[i].events;
    }
    return s->next;
}

static bool
note_rows(void *context, const fd_slice *rows, uint32_t count, uint32_t file,
          bool full)
{
    seen *s = context;
    s->rows += full ? count : 0;
    s->first_rows += full ? 0 : count;
    s->last = rows[count - 1];
    s->file = file;
    return true;
}

/* A recording and what another program wrote of the same rank, both with
 * process 1 and thread 0, are read together, and their threads are apart. */
TEST(two_files_of_a_rank)
{
    TABLES(tables);
    seen s = {.next = FD_SLICES_FULL};
    REQUEST(request, s);
    fd_timeline_input files[] = {FILE_INPUT("a.json", 0),
                                 FILE_INPUT("b.json", 0),
                                 FILE_INPUT("r1.json", 1)};
    files[2].clock.map.offset_ns = 2000;
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
    EQUAL(s.passes, 2);
    EQUAL(s.processes, 7); /* of each file, number 0 is unused */
    FIELDS(&s, (events, 8), (lost, 1), (rows, 5), (first_rows, 5), (file, 2),
           (last.start, 12000), (last.end, 62000));
    SAME(fd_text_pool_get(&tables.texts, s.last.name), "gemm");
    EQUAL(files[1].events, 4);
    EQUAL(files[0].events, 3);
    FIELDS(&files[1], (repaired, 1), (unpaired, 1));
    EQUAL(files[0].unpaired, 1);
    EQUAL(files[1].timeless, 1);
    EQUAL(files[0].lost, 1);
}

/* Each pass decides about the next one. */
TEST(passes)
{
    static const struct {
        fd_slices_next next;
        uint32_t again;
        uint32_t rows;
        fd_status status;
    } cases[] = {{FD_SLICES_FULL, 0, 1, FD_OK},
                 {FD_SLICES_FULL, 2, 1, FD_OK},
                 {FD_SLICES_DONE, 1, 0, FD_OK},
                 {FD_SLICES_STOP, 0, 0, FD_EINVAL}};
    OK(fixture_write_text("a.json", "[" SLICE(1, "", "a", 1, 1) "]"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TABLES(tables);
        seen s = {.next = cases[i].next, .again = cases[i].again};
        REQUEST(request, s);
        fd_timeline_input file = FILE_INPUT("a.json", 0);
        STATUS(fd_slice_tables_read(&request, &file, 1, &tables, NULL),
               cases[i].status);
        FIELDS(&s, (passes, cases[i].again + 1),
               (first_rows, cases[i].again + 1), (rows, cases[i].rows));
        EQUAL(file.events, 1);
        SAME(fd_text_pool_get(&tables.texts, s.last.name), "a");
    }
}

TEST(converted_files)
{
    TABLES(tables);
    seen s = {.next = FD_SLICES_FULL};
    REQUEST(request, s);
    fd_timeline_input file = {.path = "absent",
                              .content = "a.json",
                              .damaged = 2,
                              .damage = "2 bad lines"};
    OK(fixture_write_text("a.json", "[" SLICE(1, "", "a", 1, 1) "]"));
    OK(fd_slice_tables_read(&request, &file, 1, &tables, NULL));
    FIELDS(&s, (rows, 1), (lost, 2));
    EQUAL(file.lost, 2);
    SAME(file.trouble, "2 bad lines");
}
