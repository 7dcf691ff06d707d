/* Training steps by the names of events. */
#ifndef FD_STEP_INDEX_H
#define FD_STEP_INDEX_H

#include "events/timeline_event.h"

/* Whether an event is a step, and its number: "ProfilerStep#3" of
 * torch.profiler, "step 3" of the category step. With its begin and
 * end, in nanoseconds of its file. */
bool fd_timeline_is_step(const fd_timeline_event *event, uint64_t *number,
                         int64_t *begin_ns, int64_t *end_ns);

#endif
