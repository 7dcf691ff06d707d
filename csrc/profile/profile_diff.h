/* Comparison of two recordings, or two ranks of one, function by function.
 *
 *     before  groups of its contexts ─┐  by key: no absolute path, no line
 *                                     ├─► one row per key, one call per pair of keys
 *     after   groups of its contexts ─┘
 *
 * Figures are per training step, so that runs of different lengths can be
 * compared; the slowest step of each context is replaced by the mean of its
 * other steps (totals.h). If either side has no steps, figures are those of
 * the entire run. */
#ifndef FD_PROFILE_DIFF_H
#define FD_PROFILE_DIFF_H

#include "profile/diff_rows.h"

/* Make the comparison. Clear it also after a failure. */
fd_status fd_diff_make(fd_diff *diff, const fd_diff_request *request);
void fd_diff_clear(fd_diff *diff);

#endif
