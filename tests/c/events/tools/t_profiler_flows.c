#include "check.h"
#include "timelines.h"

#include "events/tools/profiler_flows.h"

/* The phase of the arrow at an event and its time; 0: none. */
static int64_t
arrow(fd_profiler_flows *flows, const char *text)
{
    fd_timeline_event event;
    fd_timeline_event made;
    if (fixture_event(text, &event) != FD_OK
        || !fd_profiler_flows_find(flows, &event, &made)) {
        return 0;
    }
    bool whole = made.has_start && made.encloses == (made.phase == 'f')
              && fd_span_is(made.id, "7")
              && fd_span_is(made.name, "\"record\"")
              && fd_span_is(made.pid, "\"p\"") && fd_span_is(made.tid, "4");
    return whole ? made.phase * INT64_C(1000000) + made.start : -1;
}

#define CALL(ts, number) \
    "{\"ph\":\"X\",\"pid\":\"p\",\"tid\":4,\"ts\":" ts \
    ",\"dur\":1,\"args\":{\"Record function id\":" number "}}"
#define START(ns) ('s' * INT64_C(1000000) + (ns))
#define END(ns) ('f' * INT64_C(1000000) + (ns))

ABSORBS(from_a_recording_to_the_other_trace)
{
    CLEAN(fd_profiler_flows_clear) fd_profiler_flows flows = {.input = 9};
    EQUAL(arrow(&flows, CALL("1", "7")), 0);
    fd_profiler_flows_begin(&flows, FD_PROFILER_FLOWS_STARTS, 0,
                            &(fd_clock_map){.offset_ns = 1000});
    EQUAL(arrow(&flows, CALL("1.5", "7")), START(1500));
    EQUAL(arrow(&flows, CALL("2", "7")), 0); /* twice: not both */
    fd_profiler_flows_begin(&flows, FD_PROFILER_FLOWS_ENDS, 1,
                            &(fd_clock_map){.offset_ns = 500});
    EQUAL(flows.input, 0);
    EQUAL(arrow(&flows, CALL("2.5", "8")), 0);
    EQUAL(arrow(&flows, CALL("2.5", "7")), END(2500));
    EQUAL(arrow(&flows, CALL("2.5", "7")), 0);
    fd_profiler_flows_begin(&flows, FD_PROFILER_FLOWS_STARTS, 2,
                            &(fd_clock_map){.offset_ns = 0});
    fd_profiler_flows_begin(&flows, FD_PROFILER_FLOWS_ENDS, 3,
                            &(fd_clock_map){.offset_ns = 0});
    EQUAL(flows.input, 2);
    EQUAL(arrow(&flows, CALL("2.5", "7")), 0); /* of the rank before */
}

/* On the clock of the merge ours begins at 2500 ns, theirs at 2000. */
ABSORBS(an_arrow_ends_after_it_starts)
{
    CLEAN(fd_profiler_flows_clear) fd_profiler_flows flows = {.input = 0};
    fd_profiler_flows_begin(&flows, FD_PROFILER_FLOWS_STARTS, 0,
                            &(fd_clock_map){.offset_ns = 1000});
    EQUAL(arrow(&flows, CALL("1.5", "7")), START(1500));
    fd_profiler_flows_begin(&flows, FD_PROFILER_FLOWS_ENDS, 1,
                            &(fd_clock_map){.offset_ns = 0});
    EQUAL(arrow(&flows, CALL("2", "7")), END(2501));
}

ABSORBS(events_without_number)
{
    static const char *const texts[] = {
        CALL("1", "0"),
        CALL("1", "\"a\""),
        CALL("true", "7"),
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"args\":{\"Record function "
        "id\":7}}",
        "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":1,"
        "\"args\":{\"Record function id\":7}}",
        "{}",
    };
    CLEAN(fd_profiler_flows_clear) fd_profiler_flows flows = {.input = 0};
    fd_profiler_flows_begin(&flows, FD_PROFILER_FLOWS_STARTS, 0,
                            &(fd_clock_map){.offset_ns = 0});
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        EQUAL(arrow(&flows, texts[i]), 0);
    }
}
