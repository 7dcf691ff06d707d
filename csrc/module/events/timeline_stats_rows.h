/* Rows of timeline_stats() as dicts. */
#ifndef FD_TIMELINE_STATS_ROWS_H
#define FD_TIMELINE_STATS_ROWS_H

#include "module/state.h"

#include "events/stats/timeline_stats.h"

/* Return a number, or None for FD_NO_STEP and FD_NO_STREAM. */
PyObject *fd_rows_number(int64_t number);

/* Return count, total and percentiles as a dict. */
PyObject *fd_rows_figures(const fd_digest *digest);

/* Return lists of dicts: kinds of kernels and their overlap, streams,
 * launches. */
PyObject *fd_rows_kernels(const fd_stats *stats);
PyObject *fd_rows_streams(const fd_stats *stats);
PyObject *fd_rows_launches(const fd_stats *stats);

#endif
