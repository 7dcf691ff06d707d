#include "check.h"

#include "events/alignment/profiler_flows.h"

#include <string.h>

/* The arrow at an event, or "". */
static const char *
arrow(fd_timeline_ties *ties, const char *text)
{
    fd_scan scan = {.at = NULL};
    fd_timeline_event event;
    fd_scan_begin(&scan, text, text + strlen(text));
    bool found = fd_timeline_event_scan(&scan, &event) == FD_SCAN_OK
              && fd_timeline_ties_find(ties, &event);
    fd_scan_clear(&scan);
    if (!found) {
        return "";
    }
    fd_buffer_bytes(&ties->text, "", 1);
    return ties->text.status == FD_OK ? ties->text.bytes : "";
}

#define CALL(ts, number) \
    "{\"ph\":\"X\",\"pid\":\"p\",\"tid\":4,\"ts\":" ts \
    ",\"dur\":1,\"args\":{\"Record function id\":" number "}}"
#define START(ts) \
    "{\"ph\":\"s\",\"cat\":\"record\",\"name\":\"record\",\"id\":7," \
    "\"pid\":\"p\",\"tid\":4,\"ts\":" ts "}"
#define END(ts) \
    "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"record\",\"name\":\"record\"," \
    "\"id\":7,\"pid\":\"p\",\"tid\":4,\"ts\":" ts "}"

static void
from_a_recording_to_the_other_trace(void)
{
    CLEAN(fd_timeline_ties_clear) fd_timeline_ties ties = {.place = 9};
    SAME(arrow(&ties, CALL("1", "7")), "");
    fd_timeline_ties_begin(&ties, FD_TYING_STARTS, 0,
                           &(fd_clock_map){.offset_ns = 1000});
    SAME(arrow(&ties, CALL("1.5", "7")), START("1.500"));
    SAME(arrow(&ties, CALL("2", "7")), ""); /* twice: not both */
    fd_timeline_ties_begin(&ties, FD_TYING_ENDS, 1,
                           &(fd_clock_map){.offset_ns = 500});
    EQUAL(ties.place, 0);
    SAME(arrow(&ties, CALL("2.5", "8")), "");
    SAME(arrow(&ties, CALL("2.5", "7")), END("2.500"));
    SAME(arrow(&ties, CALL("2.5", "7")), "");
    fd_timeline_ties_begin(&ties, FD_TYING_STARTS, 2,
                           &(fd_clock_map){.offset_ns = 0});
    fd_timeline_ties_begin(&ties, FD_TYING_ENDS, 3,
                           &(fd_clock_map){.offset_ns = 0});
    EQUAL(ties.place, 2);
    SAME(arrow(&ties, CALL("2.5", "7")), ""); /* of the rank before */
}

/* On the clock of the merge ours begins at 2500 ns, theirs at 2000. */
static void
an_arrow_ends_after_it_starts(void)
{
    CLEAN(fd_timeline_ties_clear) fd_timeline_ties ties = {.place = 0};
    fd_timeline_ties_begin(&ties, FD_TYING_STARTS, 0,
                           &(fd_clock_map){.offset_ns = 1000});
    SAME(arrow(&ties, CALL("1.5", "7")), START("1.500"));
    fd_timeline_ties_begin(&ties, FD_TYING_ENDS, 1,
                           &(fd_clock_map){.offset_ns = 0});
    SAME(arrow(&ties, CALL("2", "7")), END("2.501"));
}

static void
what_has_no_number(void)
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
    CLEAN(fd_timeline_ties_clear) fd_timeline_ties ties = {.place = 0};
    fd_timeline_ties_begin(&ties, FD_TYING_STARTS, 0,
                           &(fd_clock_map){.offset_ns = 0});
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SAME(arrow(&ties, texts[i]), "");
    }
}

RUN(ABSORBS(from_a_recording_to_the_other_trace),
    ABSORBS(an_arrow_ends_after_it_starts), ABSORBS(what_has_no_number))
