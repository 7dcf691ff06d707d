/* Differences between two execution traces, rank by rank: counts and times of
 * names, shapes and types of matching calls, calls in one trace only,
 * dependencies. */
#ifndef FD_ET_DIFF_H
#define FD_ET_DIFF_H

#include "et/tools/et_diff_rows.h"

/* Free a diff. Zero-initialised memory, except `threshold`, is an empty
 * diff. */
void fd_et_diff_clear(fd_et_diff *diff);

/* Compare both traces of a rank, which must have edges. */
fd_status fd_et_diff_add(fd_et_diff *diff, const fd_et *before,
                         const fd_et *after);

/* Return whether counts or times of a name differ on some rank. */
bool fd_et_diff_differs(const fd_et_diff_name *row);

/* Return whether there is any difference. */
bool fd_et_diff_any(const fd_et_diff *diff);

#endif
