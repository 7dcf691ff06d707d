/* Rows of timeline_stats() as dicts. */
#ifndef FD_TIMELINE_STATS_ROWS_H
#define FD_TIMELINE_STATS_ROWS_H

#include "module/state.h"

#include "events/stats/timeline_stats.h"

/* Count, total and percentiles. */
PyObject *fd_rows_figures(const fd_digest *digest);

/* What counts as short, late, full. */
PyObject *fd_rows_limits(void);

/* Kinds of kernels and their overlap, streams, launches, copies, messages:
 * lists of dicts. */
PyObject *fd_rows_kernels(const fd_stats *stats);
PyObject *fd_rows_streams(const fd_stats *stats);
PyObject *fd_rows_launches(const fd_stats *stats);
PyObject *fd_rows_copies(const fd_stats *stats);
PyObject *fd_rows_messages(const fd_stats *stats);

#endif
