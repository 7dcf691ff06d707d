#include "check.h"
#include "fixtures.h"

/* Stacks that cannot be: outside the file, at odd places, too deep. */
ABSORBS(damaged_stacks)
{
    FIXTURE(f, NULL, 4);
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
    fd_thread_record *record = f.main->record;
    uint64_t places[] = {0, 64, record->stack + 1, fixture_bytes(&f) - 8,
                         UINT64_MAX - 8};
    uint64_t saved = record->stack;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CLEAN(fixture_trace_free) fd_trace *trace = NULL;
        record->stack = places[i];
        OK(fixture_reload(&f, &trace));
        EQUAL(trace->ranks.list[0].open.count, 0);
    }
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    record->stack = saved;
    record->depth = UINT32_MAX;
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 0);
}
