#include "check.h"
#include "timelines.h"

#include "events/recorded/recording_inputs.h"

/* The call gloo of no collective is skipped. */
TEST(collectives_of_a_recording)
{
    TIMELINE_TRACE(trace, true);
    CLEAN(fd_timeline_sync_clear) fd_timeline_sync sync = {.begun_count = 0};
    OK(fd_timeline_sync_rank(&sync, trace, &trace->ranks.list[1]));
    EQUAL(sync.parts.count, 0);
}
