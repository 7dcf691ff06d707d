/* Differences between two execution traces, rank by rank: counts and times of
 * names, shapes and types of calls in both, calls in one of them,
 * dependencies. */
#ifndef FD_ET_DIFF_H
#define FD_ET_DIFF_H

#include "et/tools/et_diff_rows.h"

/* Zero-initialised memory, except `threshold`, is an empty diff. */
void fd_et_diff_clear(fd_et_diff *diff);

/* Compare a rank of both, with edges. */
fd_status fd_et_diff_add(fd_et_diff *diff, const fd_et *before,
                         const fd_et *after);

/* Whether a name has other counts or times on some rank. */
bool fd_et_diff_differs(const fd_et_diff_name *row);

/* Whether anything was found. */
bool fd_et_diff_any(const fd_et_diff *diff);

#endif
