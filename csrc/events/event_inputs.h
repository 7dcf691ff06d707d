/* The inputs of a merge: which are used, their ranks, the names of their
 * processes. */
#ifndef FD_EVENT_INPUTS_H
#define FD_EVENT_INPUTS_H

#include "base/vector.h"
#include "events/merge_request.h"

typedef FD_VECTOR(fd_timeline_input *) fd_timeline_inputs;

/* Survey all inputs and list those to merge in `used`, sorted by rank. A
 * recording and a trace of another program may have the same rank and are
 * listed in this order; of two recordings of one run directory, one is
 * skipped. FD_ECONFLICT: another duplicate rank. FD_EFORMAT, FD_EINVAL: no
 * usable input. */
fd_status fd_timeline_inputs_find(const fd_timeline_request *request,
                                  fd_timeline_input *inputs, uint32_t count,
                                  fd_timeline_inputs *used, fd_error *error);

/* Set the clocks of the inputs. FD_EINVAL: `align` stopped. */
fd_status fd_timeline_inputs_align(const fd_timeline_request *request,
                                   const fd_timeline_inputs *used,
                                   fd_timeline_clock *clock, fd_error *error);

/* Find the times of the requested steps in each input; skip inputs without
 * these steps. FD_EINVAL: no input has them. */
fd_status fd_timeline_inputs_find_steps(const fd_timeline_request *request,
                                        fd_timeline_inputs *used,
                                        fd_error *error);

/* Free the times of the steps and the list. */
void fd_timeline_inputs_clear(fd_timeline_inputs *used);

#endif
