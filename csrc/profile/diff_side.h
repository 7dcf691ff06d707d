/* Addition of one side of a comparison to its rows. */
#ifndef FD_DIFF_SIDE_H
#define FD_DIFF_SIDE_H

#include "base/map.h"
#include "profile/diff_rows.h"

typedef struct fd_diff_join {
    fd_diff *diff; /* borrowed */
    fd_map rows;   /* key + 1 -> row + 1 */
    fd_map calls;  /* caller and callee -> call + 1 */
} fd_diff_join;

/* Return the number of ended steps of its ranks, summed. */
uint64_t fd_diff_steps(const fd_diff_side *side);

fd_status fd_diff_add(fd_diff_join *join, const fd_diff_request *request,
                      int side);

#endif
