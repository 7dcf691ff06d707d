#include "check.h"
#include "timelines.h"

#include "events/recorded/recording_inputs.h"

#include <string.h>

/* The call gloo of no collective is skipped. */
TEST(facts_of_a_recording)
{
    TIMELINE_TRACE(trace, true);
    CLEAN(fd_timeline_survey_clear) fd_timeline_survey survey;
    fd_trace_rank *rank = &trace->ranks.list[1];
    OK(fd_timeline_survey_rank(&survey, trace, rank, true));
    CHECK(survey.has_base && survey.has_first && survey.sync.has_boot);
    FIELDS(&survey, (base_ns, (int64_t)rank->start.realtime_ns), (first_ns, 0),
           (sync.boottime_ns, (int64_t)rank->start.boottime_ns));
    SAME(survey.sync.boot_id, rank->boot_id);
    EQUAL(survey.sync.parts.count, 0);
    memset(rank->boot_id, '0', sizeof rank->boot_id - 1);
    fd_timeline_survey_clear(&survey);
    OK(fd_timeline_survey_rank(&survey, trace, rank, false));
    CHECK(!survey.sync.has_boot);
}
