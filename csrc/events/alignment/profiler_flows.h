/* Arrows from the calls of a recording to those of torch.profiler's trace of the
 * same rank: both have the number that PyTorch gave the call as the argument
 * "Record function id".
 *
 *     recording        aten::mm {Record function id: 7} ── s 7 ┐
 *     torch.profiler   aten::mm {Record function id: 7} ── f 7 ◄┘
 *
 * An arrow is an event like those of an input, and is processed as
 * all others. */
#ifndef FD_PROFILER_FLOWS_H
#define FD_PROFILER_FLOWS_H

#include "base/map.h"
#include "base/vector.h"
#include "clocks/clock_fit.h"
#include "events/timeline_event.h"

/* Numbers stored per recording: 40 MB. */
enum { FD_PROFILER_MOST_FLOWS = 1 << 20 };

#define FD_TIED INT64_MIN

typedef enum fd_profiler_flows_side {
    FD_PROFILER_FLOWS_NOTHING,
    FD_PROFILER_FLOWS_STARTS, /* in a recording that another input of its rank follows */
    FD_PROFILER_FLOWS_ENDS /* in that input */
} fd_profiler_flows_side;

typedef struct fd_profiler_flows {
    fd_profiler_flows_side side;
    uint64_t
        place; /* of the recording: its flow ids are those of the arrows */
    fd_clock_map clock;        /* of the present input */
    fd_map started;            /* number -> place in `starts` + 1 */
    FD_VECTOR(int64_t) starts; /* ns, shifted; FD_TIED: has its end */
} fd_profiler_flows;

void fd_profiler_flows_clear(fd_profiler_flows *flows);

/* The input at `place` begins. */
void fd_profiler_flows_begin(fd_profiler_flows *flows,
                             fd_profiler_flows_side side, uint64_t place,
                             const fd_clock_map *clock);

/* Whether an arrow starts or ends at this event. Its spans are those of the
 * event. */
bool fd_profiler_flows_find(fd_profiler_flows *flows,
                            const fd_timeline_event *event,
                            fd_timeline_event *arrow);

#endif
