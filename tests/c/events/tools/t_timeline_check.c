#include "check.h"
#include "fixtures.h"

#include "events/tools/timeline_check.h"

#define X(rest) "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1" rest "}"
#define NAMED \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":" \
    "{\"name\":\"rank 0\"}}"

#define FAR X(",\"ts\":9e12,\"dur\":0")
#define FOUR FAR "," FAR "," FAR "," FAR

static fd_status
judge(const char *text, fd_check *check, fd_error *error)
{
    fd_check_request request = {.most_records = 0};
    fd_status status = fixture_write_text("a.json", text);
    return status == FD_OK
             ? fd_timeline_check_file("a.json", &request, check, error)
             : status;
}

static void
each_fault(void)
{
    static const struct {
        const char *event;
        fd_fault fault;
    } cases[] = {
        {X(",\"ts\":1,\"dur\":NaN"), FD_FAULT_REPAIR},
        {"{\"ph\":\"?\",\"pid\":1}", FD_FAULT_PHASE},
        {"{\"pid\":1}", FD_FAULT_PHASE},
        {"{ }", FD_FAULT_EMPTY},
        {X(",\"ts\":1,\"dur\":1,\"x\":\"C:\\work\""), FD_FAULT_BACKSLASH},
        {X(",\"ts\":1,\"dur\":9,\"cat\":\"kernel\"") "," X(
             ",\"ts\":5,\"dur\":2,\"cat\":\"kernel\""),
         FD_FAULT_KERNEL_OVERLAP},
        {X(",\"ts\":0,\"dur\":0") "," FOUR "," FOUR, FD_FAULT_FAR},
        {"{\"ph\":\"X\",\"pid\":1,\"ts\":1,\"dur\":1}", FD_FAULT_NAME},
        {"{\"ph\":\"i\",\"name\":\"a\",\"ts\":1}", FD_FAULT_PID},
        {"{\"ph\":\"i\",\"name\":\"a\",\"pid\":1,\"tid\":\"x\",\"ts\":1}",
         FD_FAULT_TEXT_ID},
        {X(",\"dur\":1"), FD_FAULT_TIME},
        {X(",\"ts\":-1,\"dur\":1"), FD_FAULT_NEGATIVE},
        {X(",\"ts\":1,\"dur\":-1"), FD_FAULT_DURATION},
        {X(",\"ts\":1"), FD_FAULT_DURATION},
        {"{\"ph\":\"E\",\"pid\":1,\"ts\":1}", FD_FAULT_END},
        {"{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"ts\":1}", FD_FAULT_BEGIN},
        {X(",\"ts\":1,\"dur\":9") "," X(",\"ts\":5,\"dur\":9"),
         FD_FAULT_OVERLAP},
        {"{\"ph\":\"b\",\"name\":\"a\",\"pid\":1,\"ts\":1}", FD_FAULT_ID},
        {"{\"ph\":\"b\",\"name\":\"a\",\"pid\":1,\"ts\":1,\"id\":1}",
         FD_FAULT_ASYNC_BEGIN},
        {"{\"ph\":\"C\",\"name\":\"a\",\"pid\":1,\"ts\":1,\"args\":{}}",
         FD_FAULT_COUNTER},
        {"{\"ph\":\"C\",\"name\":\"a\",\"pid\":1,\"ts\":1,\"args\":"
         "{\"v\":\"1\"}}",
         FD_FAULT_COUNTER},
        {"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1}",
         FD_FAULT_METADATA},
        {"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":"
         "{\"name\":\"x\"}}",
         FD_FAULT_TWO_NAMES},
        {"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":"
         "{\"name\":\"rank 0\"}}",
         FD_FAULT_SAME_NAME},
        {"{\"ph\":\"i\",\"name\":\"a\",\"pid\":3,\"ts\":1}", FD_FAULT_NO_NAME},
        {X(",\"ts\":9,\"dur\":1,\"cat\":\"step\",\"name\":\"step 1\"") "," X(
             ",\"ts\":5,\"dur\":1,\"cat\":\"step\",\"name\":\"step 2\""),
         FD_FAULT_STEPS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        fd_check check;
        fd_buffer_format(&text, "[" NAMED ",%s]", cases[i].event);
        fd_buffer_bytes(&text, "", 1);
        OK(text.status);
        OK(judge(text.bytes, &check, NULL));
        EQUAL(check.faults.count[cases[i].fault], 1);
        CHECK(check.faults.first[cases[i].fault][0].byte > 60);
        CHECK(check.faults.first[cases[i].fault][0].event >= 2);
    }
}

static void
whole(void)
{
    fd_check check;
    OK(judge(
        "{\"traceEvents\":[" NAMED
        ",{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
        "\"dur\":9},{\"ph\":\"C\",\"name\":\"a\",\"pid\":1,\"ts\":1,\"args\":"
        "{\"v\":-1.5e3,\"w\":2}}],\"ranks\":["
        "{\"rank\":0,\"align\":\"wall\",\"offset_ns\":0},"
        "{\"rank\":1,\"align\":\"wall\",\"offset_ns\":-7,\"events\":0}]}",
        &check, NULL));
    for (int i = 0; i < FD_FAULT_KINDS; i++) {
        EQUAL(check.faults.count[i], 0);
    }
    EQUAL(check.events, 3);
    EQUAL(check.passes, 1);
}

static void
rows_of_a_merge(void)
{
    static const struct {
        const char *rows;
        uint64_t faults;
    } cases[] = {
        {"{\"rank\":0,\"align\":\"x\",\"offset_ns\":0}", 0},
        {"{\"rank\":0,\"align\":\"x\"}", 2}, /* and no row of the process */
        {"{\"rank\":1,\"align\":\"x\",\"offset_ns\":0}", 2},
        {"{\"rank\":0,\"align\":\"x\",\"offset_ns\":0},"
         "{\"rank\":0,\"align\":\"x\",\"offset_ns\":0}",
         1},
        {"5", 0}, /* not of a merge */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        fd_check check;
        fd_buffer_format(&text, "{\"traceEvents\":[" NAMED "],\"ranks\":[%s]}",
                         cases[i].rows);
        fd_buffer_bytes(&text, "", 1);
        OK(text.status);
        OK(judge(text.bytes, &check, NULL));
        EQUAL(check.faults.count[FD_FAULT_RANKS], cases[i].faults);
    }
}

static void
damaged(void)
{
    fd_check check;
    fd_error error;
    OK(judge("{\"traceEvents\":[" NAMED "," X(",\"ts\":1,\"dur\":9") ",{\"ph",
             &check, NULL));
    EQUAL(check.faults.count[FD_FAULT_DAMAGE], 1);
    HAS(check.trouble, "cut short");
    STATUS(judge("", &check, &error), FD_EFORMAT);
    SAME(error.text, "a.json: empty");
    STATUS(judge("{}", &check, &error), FD_EFORMAT);
    SAME(error.text, "a.json: no traceEvents in it");
    STATUS(
        fd_timeline_check_file("absent", &(fd_check_request){0}, &check, NULL),
        FD_EIO);
}

/* However little memory, the same is found. */
static void
passes(void)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_check check;
    fd_check_request request = {.most_records = 80};
    fd_buffer_text(&text, "[" NAMED);
    for (int i = 0; i < 200; i++) {
        fd_buffer_format(&text,
                         ",{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":%d,"
                         "\"ts\":%d,\"dur\":%d}",
                         i % 20, 10 * (i / 20), i == 117 ? 11 : 10);
    }
    fd_buffer_text(&text, "]");
    OK(text.status);
    OK(fixture_write("a.json", text.bytes, text.size));
    OK(fd_timeline_check_file("a.json", &request, &check, NULL));
    CHECK(check.passes > 2);
    EQUAL(check.faults.count[FD_FAULT_OVERLAP], 1);
    EQUAL(check.faults.first[FD_FAULT_OVERLAP][0].event, 139);
    EQUAL(check.left_out, 0);
    EQUAL(check.events, 201);
}

/* A damaged recording states a number of lost events above all limits. */
static void
any_number_of_lost_events(void)
{
    FIXTURE_TIMELINE(f, .on = true);
    fd_check_request request = {.most_records = 0};
    fd_check check;
    OK(fixture_train(&f, 0));
    f.main->record->events_lost = UINT64_MAX - 5;
    f.main->record->events = UINT64_MAX;
    OK(fixture_write("a.fd", f.recording->file.base, fixture_bytes(&f)));
    OK(fd_timeline_check_file("a.fd", &request, &check, NULL));
    CHECK(check.faults.count[FD_FAULT_DAMAGE] > UINT64_MAX / 2);
    CHECK(fd_faults_broken(&check.faults) > UINT64_MAX / 2);
}

RUN(TEST(each_fault), TEST(whole), TEST(rows_of_a_merge), TEST(damaged),
    TEST(passes), TEST(any_number_of_lost_events))
