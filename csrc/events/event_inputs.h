/* Which inputs of a merge are used, of which rank each is, and what its
 * processes are called. */
#ifndef FD_EVENT_INPUTS_H
#define FD_EVENT_INPUTS_H

#include "base/vector.h"
#include "events/merge_request.h"

typedef FD_VECTOR(fd_timeline_input *) fd_timeline_inputs;

/* Survey them all: those used, by rank. A recording of ours and a trace of
 * another program may be of one rank, in this order; two recordings of one
 * run directory may, and the lesser is left out. FD_ECONFLICT: a rank is there
 * twice. FD_EFORMAT, FD_EINVAL: nothing to use. */
fd_status fd_timeline_inputs_find(const fd_timeline_request *request,
                                  fd_timeline_input *inputs, uint32_t count,
                                  fd_timeline_inputs *used, fd_error *error);

/* Find when the steps that are wanted were in each input; those that have none
 * are left out. FD_EINVAL: none has any. */
fd_status fd_timeline_inputs_find_steps(const fd_timeline_request *request,
                                        fd_timeline_inputs *used,
                                        fd_error *error);

/* Free what that found. */
void fd_timeline_inputs_clear(fd_timeline_inputs *used);

#endif
