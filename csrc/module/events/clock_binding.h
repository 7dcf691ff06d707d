/* Corrections of the clocks of ranks, from the alignment in Python
 * (read/clock_alignment.py). */
#ifndef FD_CLOCK_BINDING_H
#define FD_CLOCK_BINDING_H

#include <Python.h>

#include "clocks/clock_map.h"

/* Convert (method, at_ns, offset_ns, drift_ppt, uncertainty_ns, residual_ns,
 * violations). Return false with an exception on failure. */
bool fd_take_clock(PyObject *row, fd_rank_clock *clock);

/* Convert (base_ns, [such rows]) to `count` clocks, which the caller frees.
 * Return NULL with an exception on failure. */
fd_rank_clock *fd_take_clocks(PyObject *answer, uint32_t count,
                              int64_t *base_ns);

#endif
