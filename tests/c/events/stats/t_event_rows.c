#include "check.h"
#include "timelines.h"

#include "events/stats/event_rows.h"

#define X(rest) "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1" rest "}"

enum { MOST = 8 };

typedef struct taken {
    fd_event_row list[MOST];
    uint32_t count;
} taken;

static bool
take(void *context, const fd_event_row *rows, uint32_t count,
     const fd_text_pool *texts)
{
    taken *to = context;
    (void)texts;
    for (uint32_t i = 0; i < count && to->count < MOST; i++) {
        to->list[to->count++] = rows[i];
    }
    return true;
}

static fd_status
read_text(const char *text, taken *to, fd_event_facts *facts, fd_error *error)
{
    fd_event_rows_request request = {
        .take = take, .kind_of = fixture_kind, .context = to};
    *to = (taken){.count = 0};
    fd_status status = fixture_write_text("a.json", text);
    return status == FD_OK
             ? fd_event_rows_read("a.json", &request, facts, error)
             : status;
}

TEST(flags)
{
    static const struct {
        const char *event;
        uint32_t flags;
    } cases[] = {
        {"{}", FD_ROW_EMPTY},
        {X(",\"ts\":1,\"dur\":2"), FD_ROW_NAMED | FD_ROW_PID | FD_ROW_START
                                       | FD_ROW_TIMED | FD_ROW_DURATION
                                       | FD_ROW_END},
        {X(",\"ts\":1,\"dur\":-2"),
         FD_ROW_NAMED | FD_ROW_PID | FD_ROW_START | FD_ROW_TIMED},
        {X(",\"dur\":9,\"cat\":\"kernel\""),
         FD_ROW_NAMED | FD_ROW_PID | FD_ROW_DURATION | FD_ROW_END
             | FD_ROW_KERNEL | FD_ROW_DEVICE | FD_ROW_PROFILED | FD_ROW_WORK},
        {"{\"ph\":\"X\",\"name\":\"step 3\",\"cat\":\"step\",\"tid\":\"x\"}",
         FD_ROW_NAMED | FD_ROW_ODD_ID | FD_ROW_STEP},
        {"{\"ph\":\"f\",\"id\":1,\"bp\":\"e\"}", FD_ROW_ID | FD_ROW_ENCLOSES},
        {"{\"ph\":\"C\",\"args\":{\"v\":-1.5e3,\"w\":2}}", FD_ROW_COUNTS},
        {"{\"ph\":\"C\",\"args\":{\"v\":\"1\"}}", 0},
        {"{\"ph\":\"M\",\"name\":\"process_name\",\"args\":{\"name\":"
         "\"rank 3 x\"}}",
         FD_ROW_NAMED | FD_ROW_PROCESS | FD_ROW_ARGUMENT | FD_ROW_NUMBER},
        {"{\"ph\":\"M\",\"name\":\"process_name\",\"args\":{\"name\":3}}",
         FD_ROW_NAMED},
        {"{\"ph\":\"M\",\"name\":\"thread_name\"}", FD_ROW_NAMED},
        {"{\"ph\":\"i\",\"name\":\"12 events found no room\"}",
         FD_ROW_NAMED | FD_ROW_LOSS},
        {"{\"ph\":\"i\",\"name\":\"12 events\"}", FD_ROW_NAMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        taken rows;
        fd_event_facts facts;
        fd_buffer_format(&text, "{\"traceEvents\":[%s]}", cases[i].event);
        fd_buffer_bytes(&text, "", 1);
        OK(text.status);
        OK(read_text(text.bytes, &rows, &facts, NULL));
        FIELDS(&rows, (count, 1), (list[0].flags, cases[i].flags),
               (list[0].event, 1), (list[0].byte, 16));
    }
}

/* Members of a merge, repairs, and the tracks of events. */
TEST(members)
{
    taken rows;
    fd_event_facts facts;
    OK(read_text(
        "{\"ranks\":[{\"rank\":2,\"align\":\"x\",\"offset_ns\":0},"
        "{\"rank\":3,\"events\":0,\"lost\":7}],\"other\":NaN,\"traceEvents\":"
        "[" X(
            ",\"ts\":1,\"dur\":NaN,\"x\":\"C:\\work\"") ","
                                                        "{\"ph\":\"b\","
                                                        "\"pid\":1,\"tid\":1,"
                                                        "\"id\":1,\"ts\":1},"
                                                        "{\"ph\":\"e\","
                                                        "\"pid\":2,\"tid\":1,"
                                                        "\"id\":1,\"ts\":1}]}",
        &rows, &facts, NULL));
    FIELDS(&rows, (count, 6), (list[0].flags, FD_ROW_RANK | FD_ROW_NUMBER),
           (list[0].number, 2), (list[1].flags, FD_ROW_RANK | FD_ROW_IDLE),
           (list[1].end, 7), (list[2].flags, FD_ROW_OTHER),
           (list[2].repairs, 1), (list[3].repairs, 1), (list[3].slashes, 1));
    CHECK(rows.list[4].track == rows.list[5].track);
    CHECK(rows.list[4].thread != rows.list[5].thread);
    CHECK(rows.list[3].thread == rows.list[4].thread);
    EQUAL(facts.events, 3);
}

TEST(damaged)
{
    taken rows;
    fd_event_facts facts;
    fd_error error;
    OK(read_text("{\"traceEvents\":[" X(",\"ts\":1,\"dur\":9") ",{\"ph", &rows,
                 &facts, NULL));
    EQUAL(facts.lost, 1);
    HAS(facts.trouble, "cut short");
    STATUS(read_text("", &rows, &facts, &error), FD_EFORMAT);
    SAME(error.text, "a.json: empty");
    STATUS(read_text("{}", &rows, &facts, &error), FD_EFORMAT);
    SAME(error.text, "a.json: no traceEvents in it");
}

/* A damaged recording states a number of lost events above all limits. */
TEST(any_number_of_lost_events)
{
    FIXTURE_TIMELINE(f, .on = true);
    taken rows = {.count = 0};
    fd_event_rows_request request = {
        .take = take, .kind_of = fixture_kind, .context = &rows};
    fd_event_facts facts;
    OK(fixture_train(&f, 0));
    f.main->record->events_lost = UINT64_MAX - 5;
    f.main->record->events = UINT64_MAX;
    OK(fixture_write("a.fd", f.recording->file.base, fixture_bytes(&f)));
    OK(fd_event_rows_read("a.fd", &request, &facts, NULL));
    CHECK(facts.lost > UINT64_MAX / 2);
}
