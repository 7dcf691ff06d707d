/* Clocks of ranks: facts for the alignment in Python
 * (read/clock_alignment.py), and the corrections that it returns. */
#ifndef FD_CLOCK_BINDING_H
#define FD_CLOCK_BINDING_H

#include "events/merge_request.h"
#include "module/progress_binding.h"

/* Return the facts about the clock of an input as a dict. */
PyObject *fd_clock_facts(uint32_t rank, const fd_timeline_survey *survey);

/* Convert (base_ns, [(method, at_ns, offset_ns, drift_ppt, uncertainty_ns,
 * residual_ns, violations)]) to `count` clocks, which the caller frees. Return
 * NULL with an exception on failure. */
fd_rank_clock *fd_take_clocks(PyObject *answer, uint32_t count,
                              fd_timeline_clock *base);

/* Set the clocks of inputs by the function `align` of an fd_progress_call; call
 * it without the GIL. Return false if it raised an exception. */
bool fd_align_by(void *context, fd_timeline_input *const *inputs,
                 uint32_t count, fd_timeline_clock *base);

#endif
