#include "check.h"
#include "documents.h"

static void
facts_of_a_rank(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(document_load(NULL, NULL, &trace, NULL));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    CHECK(rank->rank == 0 && rank->world == 1 && rank->pid == 42);
    SAME(rank->id, "00112233445566778899aabbccddeeff");
    EQUAL(rank->state, FD_STATE_STOPPED);
    EQUAL(rank->timing, 1);
    EQUAL(rank->recorded, 100);
    CHECK(rank->start.ticks == 1 && rank->start.monotonic_ns == 2);
    CHECK(rank->start.boottime_ns == 3 && rank->start.realtime_ns == 4);
    EQUAL(rank->counters[FD_COUNT_NODES_FULL], 5);
    SAME(fd_trace_text(trace, rank->notes.list[0]), "cut short");
    SAME(fd_trace_text(trace, rank->meta.list[0].json), "[1,{\"a\":null}]");
    SAME(fd_trace_text(trace, rank->threads.list[0].role), "main");
    EQUAL(rank->threads.list[0].root, fixture_find(trace, "main"));
    EQUAL(rank->open.list[0].context, fixture_find(trace, "op"));
    EQUAL(rank->latest.list[0].phases[FD_PHASE_DATA], 5);
    EQUAL(rank->tops.list[0].context, fixture_find(trace, "run"));
    EQUAL(rank->figures.count, 2);
}

static void
wrong_facts(void)
{
    static const document_fault refused[] = {
        {"\"ranks\":[\n", "\"ranks\":7,\"x\":[\n", "ranks: an array"},
        {"\"ranks\":[\n", "\"ranks\":[7,\n", "rank: a whole number"},
        {"\"rank\":0", "\"rank\":-1", "rank: a whole number"},
        {"\"rank\":0", "\"rank\":4294967296", "rank: a whole number"},
        {"\"world\":1,", "", "world: a whole number"},
        {"\"recorded\":100", "\"recorded\":\"much\"", "recorded: a whole"},
        {"ddeeff\"", "ddeefg\"", "id: 32 hexadecimal digits"},
        {"ddeeff\"", "ddeeff0\"", "id: 32 hexadecimal digits"},
        {"\"boot_id\"", "\"boot\"", "boot_id: 32 hexadecimal"},
        {"\"stopped\"", "\"sleeping\"", "state: unknown name"},
        {"\"stopped\"", "3", "state: unknown name"},
        {"\"steps_source\":\"none\"", "\"steps_source\":\"oracle\"",
         "steps_source: unknown name"},
        {"\"start\":{", "\"begin\":{", "ticks: a whole number"},
        {"\"realtime\":4", "\"realtime\":\"now\"", "realtime: a whole"},
        {"\"nodes_full\":5", "\"nodes_full\":-5", "nodes_full: a whole"},
        {"[\"cut short\"]", "[7]", "notes: not a string"},
        {"\"root\":[0]", "\"root\":[3]", "threads: no such context"},
        {"\"context\":[2]", "\"context\":[3]", "open: no such context"},
        {"\"context\":[1]", "\"context\":[77]", "step_tops: no such"},
        {"\"context\":[0,1]", "\"context\":[0,3]", "figures: no such"},
        {"\"context\":[0,1]", "\"context\":[0,-1]", "figures: no such"},
        {"\"self_squares\":[0,2.5]", "\"self_squares\":[0,-2.5]",
         "figures.self_squares: a value"},
        {"\"thread\":[0]", "\"thread\":[1]", "open.thread: no such thread"},
    };
    EQUAL(documents_accepted(refused, sizeof refused / sizeof *refused), 0);
}

/* A dump of a later minor version may have more counters and facts. */
static void
unknown_fields_are_skipped(void)
{
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(document_load("\"nodes_full\":5", "\"nodes_full\":5,\"new\":1", &trace,
                     NULL));
    EQUAL(trace->ranks.list[0].counters[FD_COUNT_NODES_FULL], 5);
}

RUN(TEST(facts_of_a_rank), TEST(wrong_facts), TEST(unknown_fields_are_skipped))
