/* The packets of one sequence of a native trace: descriptors of tracks,
 * interned texts, events. */
#ifndef FD_PERFETTO_PACKETS_H
#define FD_PERFETTO_PACKETS_H

#include "base/buffer.h"
#include "clocks/clock_map.h"
#include "json/json_scan.h"

enum { FD_PERFETTO_STEP_NS = 1000 };

typedef struct fd_perfetto_clock {
    fd_clock_map map; /* from times of the input to boot time */
    int64_t step_ns;  /* maximum error of a drifting clock */
    bool has_base;
    int64_t base_ns; /* the real time of boot time 0 */
} fd_perfetto_clock;

/* Return the largest permitted error of a drifting clock between two
 * snapshots. */
static inline int64_t
fd_perfetto_step(int64_t uncertainty_ns)
{
    return uncertainty_ns > 0 && uncertainty_ns < FD_PERFETTO_STEP_NS
             ? uncertainty_ns
             : FD_PERFETTO_STEP_NS;
}

/* The incremental clock of a sequence: it counts times of the input, and
 * snapshots relate it to the time of the trace. */
typedef struct fd_perfetto_ticks {
    uint32_t sequence;
    const fd_perfetto_clock *clock; /* borrowed */
    /* time of the input when this clock is 0 */
    int64_t zero;
    int64_t last; /* value at the previous packet */
    fd_clock_steps steps;
} fd_perfetto_ticks;

typedef struct fd_native_packets {
    fd_buffer *to; /* borrowed */
    fd_perfetto_ticks ticks;
    uint32_t track;   /* default track of events; 0: no default */
    fd_buffer packet; /* scratch */
    fd_buffer message;
    fd_buffer inner;
    fd_buffer texts; /* interned texts, not yet written */
} fd_native_packets;

/* Free the buffers, except `to`. */
void fd_native_packets_clear(fd_native_packets *packets);

/* Begin a sequence, with its own interned texts and incremental clock. `track`
 * is the default track of its events, which is not written again; 0: no
 * default. */
void fd_native_begin(fd_native_packets *packets, uint32_t sequence,
                     uint32_t track);

/* Write the first snapshot of the clock, exact at `first`. If the clock
 * drifts, more snapshots are written before later events. */
void fd_native_begin_clock(fd_native_packets *packets,
                           const fd_perfetto_clock *clock, int64_t first);

typedef struct fd_native_process {
    uint32_t track;
    uint32_t pid;
    uint32_t sort_index;
    fd_span name;
    fd_span labels[2]; /* an empty label is not written */
} fd_native_process;

typedef struct fd_native_thread {
    uint32_t track;
    uint32_t pid;
    uint32_t tid;
    bool sorted;
    int64_t sort_index;
    fd_span name;
} fd_native_thread;

void fd_native_put_process(fd_native_packets *packets,
                           const fd_native_process *process);
void fd_native_put_thread(fd_native_packets *packets,
                          const fd_native_thread *thread);

/* Write a track that is neither a process nor a thread. Parent 0 and name
 * NULL: absent. */
void fd_native_put_track(fd_native_packets *packets, uint32_t track,
                         uint32_t parent, const char *name, bool counts);

/* Add an interned text to the next packet. `field` is its kind. */
void fd_native_intern(fd_native_packets *packets, uint32_t field, uint32_t id,
                      fd_span text);

/* Write the pending interned texts. */
void fd_native_send_texts(fd_native_packets *packets);

/* Write an event with these fields. Type 0: the body has the type. Times ascend;
 * an earlier time (of a malformed file) is replaced by the last one. */
void fd_native_put_event(fd_native_packets *packets, uint32_t type,
                         uint32_t track, int64_t time, const void *body,
                         size_t size);

#endif
