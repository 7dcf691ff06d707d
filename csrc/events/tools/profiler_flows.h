/* Flows from the calls of a recording to the same calls in torch.profiler's
 * trace of the same rank. PyTorch numbers the calls; both files have the
 * number as the argument "Record function id".
 *
 *     recording        aten::mm {Record function id: 7} ── s 7 ┐
 *     torch.profiler   aten::mm {Record function id: 7} ── f 7 ◄┘
 *
 * A flow is an event like those of an input, and is processed like them. */
#ifndef FD_PROFILER_FLOWS_H
#define FD_PROFILER_FLOWS_H

#include "base/map.h"
#include "base/vector.h"
#include "clocks/clock_map.h"
#include "events/timeline_event.h"

/* Maximum of numbers stored per recording: 40 MB. */
enum { FD_PROFILER_MOST_FLOWS = 1 << 20 };

#define FD_TIED INT64_MIN

typedef enum fd_profiler_flows_side {
    FD_PROFILER_FLOWS_NOTHING,
    FD_PROFILER_FLOWS_STARTS, /* a recording; the other input of its rank comes
                               * later */
    FD_PROFILER_FLOWS_ENDS    /* the other input of that rank */
} fd_profiler_flows_side;

typedef struct fd_profiler_flows {
    fd_profiler_flows_side side;
    uint64_t input;     /* index of the recording: the flows use its ids */
    fd_clock_map clock; /* of the current input */
    fd_map started;     /* number -> index in `starts` + 1 */
    FD_VECTOR(int64_t) starts; /* ns, shifted; FD_TIED: the flow has its end */
} fd_profiler_flows;

void fd_profiler_flows_clear(fd_profiler_flows *flows);

/* Begin the input with index `input`. */
void fd_profiler_flows_begin(fd_profiler_flows *flows,
                             fd_profiler_flows_side side, uint64_t input,
                             const fd_clock_map *clock);

/* Return whether a flow starts or ends at this event. The spans of `arrow` are
 * those of `event`. */
bool fd_profiler_flows_find(fd_profiler_flows *flows,
                            const fd_timeline_event *event,
                            fd_timeline_event *arrow);

#endif
