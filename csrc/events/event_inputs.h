/* The inputs of a merge: which are used, the rank of each, the names of its
 * processes. */
#ifndef FD_EVENT_INPUTS_H
#define FD_EVENT_INPUTS_H

#include "base/vector.h"
#include "events/merge_request.h"

typedef FD_VECTOR(fd_timeline_input *) fd_timeline_inputs;

/* Whether a rank is among those requested; NULL: all are. */
bool fd_timeline_wants(const uint32_t *ranks, size_t count, uint32_t rank);

/* Survey all inputs: `used` are those to merge, by rank. A recording and a trace
 * of another program may have the same rank, in this order; of two recordings
 * of one run directory, one is skipped. FD_ECONFLICT: other duplicate rank.
 * FD_EFORMAT, FD_EINVAL: no usable input. */
fd_status fd_timeline_inputs_find(const fd_timeline_request *request,
                                  fd_timeline_input *inputs, uint32_t count,
                                  fd_timeline_inputs *used, fd_error *error);

/* Find the times of the requested steps in each input; inputs without them are
 * skipped. FD_EINVAL: no input has any. */
fd_status fd_timeline_inputs_find_steps(const fd_timeline_request *request,
                                        fd_timeline_inputs *used,
                                        fd_error *error);

/* Free the times and the list. */
void fd_timeline_inputs_clear(fd_timeline_inputs *used);

#endif
