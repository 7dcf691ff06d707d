/* All bounds on memory, made tiny. */
#include "natives.h"
#include "timelines.h"

#include "base/budget.h"
#include "events/stats/event_rows.h"
#include "events/tools/timeline_merge.h"

static void
restore(int *unused)
{
    (void)unused;
    fd_budget_shrink(0);
}

#define SHRUNK CLEAN(restore) int shrunk __attribute__((unused)) = 0

/* `count` numbers as the value of one argument, which has twice as many bytes
 * in a native trace. */
static void
put_event(fd_buffer *to, int number, int count)
{
    fd_buffer_format(to,
                     "%s{\"ph\":\"X\",\"pid\":%d,\"tid\":7,\"ts\":%d,"
                     "\"dur\":1,\"name\":\"event %d\",\"args\":{\"v\":[0",
                     number > 0 ? ",\n" : "", 1 + number % 3, 100 - number,
                     number);
    for (int i = 1; i < count; i++) {
        fd_buffer_format(to, ",%d", i % 10);
    }
    fd_buffer_text(to, "]}}");
}

static void
put_name(fd_buffer *to, int pid, int size)
{
    fd_buffer_format(to,
                     ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,"
                     "\"args\":{\"name\":\"",
                     pid);
    for (int i = 0; i < size; i++) {
        fd_buffer_format(to, "%c", 'a' + pid);
    }
    fd_buffer_text(to, "\"}}");
}

/* Events, one with long arguments, and processes with long names. */
static fd_status
write_trace(int long_args, int long_name)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_buffer_text(&text, "{\"traceEvents\":[");
    for (int i = 0; i < 30; i++) {
        put_event(&text, i, i == 11 ? long_args : i);
    }
    for (int pid = 1; pid <= 3; pid++) {
        put_name(&text, pid, long_name);
    }
    fd_buffer_text(&text,
                   ",\n{\"ph\":\"s\",\"id\":5,\"pid\":1,\"tid\":7,\"ts\":80,"
                   "\"name\":\"f\"},\n{\"ph\":\"f\",\"id\":5,\"pid\":2,"
                   "\"tid\":7,\"ts\":81,\"name\":\"f\",\"bp\":\"e\"}");
    fd_buffer_text(&text, "],\"displayTimeUnit\":\"ns\",\"note\":\"text\"}");
    return text.status == FD_OK
             ? fixture_write("in.json", text.bytes, text.size)
             : text.status;
}

static fd_status
merge(const char *from, const char *to, bool sorted, fd_timeline_input *input)
{
    fd_timeline_request request = {.output = to, .sorted = sorted};
    *input = (fd_timeline_input)FILE_INPUT(from, 0);
    return fd_timeline_merge(&request, input, 1, NULL);
}

/* A merge with a budget, as text. */
static fd_status
merged(size_t budget, const char *to, bool sorted, fd_timeline_input *input,
       fd_buffer *text)
{
    text->size = 0;
    fd_budget_shrink(budget);
    fd_status status = merge("in.json", to, sorted, input);
    fd_budget_shrink(0);
    if (status == FD_OK && fd_timeline_is_native(to)) {
        return native_text(to, text);
    }
    fd_then(status, fixture_read(to, text));
    fd_buffer_bytes(text, "", 1);
    return status == FD_OK ? text->status : status;
}

/* An event that exceeds the budget of the sorter in a native trace, and with
 * `sorted` process names that do: the result does not change. */
TEST(records_larger_than_the_budget)
{
    static const char *const outputs[] = {"to.pftrace", "to.json"};
    SHRUNK;
    OK(write_trace(1800, 3000));
    for (int i = 0; i < 2; i++) {
        CLEAN(fd_buffer_clear) fd_buffer usual = {.bytes = NULL};
        CLEAN(fd_buffer_clear) fd_buffer tiny = {.bytes = NULL};
        fd_timeline_input input;
        OK(merged(0, outputs[i], true, &input, &usual));
        OK(merged(4096, outputs[i], true, &input, &tiny));
        FIELDS(&input, (lost, 0), (native.skipped, 0));
        SAME(tiny.bytes, usual.bytes);
    }
}

static bool
reports(const fd_timeline_input *input)
{
    const fd_perfetto_counts *native = &input->native;
    return input->lost > 0 || native->skipped > 0 || native->aside > 0;
}

/* With any budget, missing events are counted. (ONCE: there are thousands of
 * allocations.) */
ONCE(merges_with_any_budget)
{
    static const char *const outputs[] = {"to.pftrace", "to.json"};
    SHRUNK;
    OK(write_trace(200, 90));
    for (int i = 0; i < 4; i++) {
        CLEAN(fd_buffer_clear) fd_buffer usual = {.bytes = NULL};
        CLEAN(fd_buffer_clear) fd_buffer tiny = {.bytes = NULL};
        fd_timeline_input input;
        OK(merged(0, outputs[i / 2], i % 2, &input, &usual));
        for (size_t budget = 64; budget < 6000; budget += budget / 7) {
            fd_status status =
                merged(budget, outputs[i / 2], i % 2, &input, &tiny);
            CHECK(status == FD_OK || status == FD_EFORMAT || check_refused());
            if (status == FD_OK && !reports(&input)) {
                SAME(tiny.bytes, usual.bytes);
            }
        }
    }
}

static bool
count_rows(void *context, const fd_event_row *rows, uint32_t count,
           const fd_text_pool *texts)
{
    *(uint64_t *)context += count;
    return rows != NULL && texts != NULL;
}

static fd_status
events_read(uint64_t *events)
{
    fd_event_facts facts;
    fd_event_rows_request request = {
        .take = count_rows, .kind_of = fixture_kind, .context = events};
    *events = 0;
    return fd_event_rows_read("in.json", &request, &facts, NULL);
}

/* Nothing fails, and if the text fits, no event is lost. */
ONCE(events_with_any_budget)
{
    uint64_t usual;
    uint64_t events;
    SHRUNK;
    OK(write_trace(200, 90));
    OK(events_read(&usual));
    EQUAL(usual, 35);
    for (size_t budget = 64; budget < 6000; budget += budget / 7) {
        fd_budget_shrink(budget);
        fd_status status = events_read(&events);
        CHECK(status == FD_OK || budget < 200 || check_refused());
        CHECK(status != FD_OK || budget < 1000 || events == usual);
        fd_budget_shrink(0);
    }
}
