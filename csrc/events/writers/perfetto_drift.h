/* The offsets that a native trace needs while its clock drifts, before its
 * packets, which come in no order. */
#ifndef FD_PERFETTO_DRIFT_H
#define FD_PERFETTO_DRIFT_H

#include "events/recorded/perfetto_preamble.h"
#include "events/tools/event_sorter.h"

typedef struct fd_perfetto_drift {
    fd_sorter *times; /* owned; of all packets; NULL: told */
    fd_clock_map map;
    int64_t step_ns;
    bool begun;
    fd_clock_steps steps;
    fd_error *error; /* borrowed */
} fd_perfetto_drift;

/* Read the file at `path` for its times, which wait beside `output`. Close it
 * in any case. */
fd_status fd_perfetto_drift_open(fd_perfetto_drift *drift,
                                 const fd_perfetto_clock *clock,
                                 const char *path, const char *output,
                                 fd_error *error);
void fd_perfetto_drift_close(fd_perfetto_drift *drift);

/* From `own` on times are shifted by `offset`, the first of them to time 0 of
 * the merge or later; false at the end. */
bool fd_perfetto_drift_next(fd_perfetto_drift *drift, int64_t *own,
                            int64_t *offset, fd_status *status);

#endif
