/* The call tree for flame graphs: callees below their caller, as wide as their
 * weight.
 *
 *     main ████████████████████      weight   of the call itself
 *       step ███████████████  █      whole    including all callees
 *         forward ██████
 *
 * Calls of weight 0 are skipped, including their callees. */
#ifndef FD_FLAME_STACKS_H
#define FD_FLAME_STACKS_H

#include "profile/totals.h"
#include "trace/export_options.h"

typedef struct fd_stacks {
    const fd_trace *trace;   /* borrowed */
    fd_export_weight weight; /* calls if the requested figure was not
                              * recorded */
    uint64_t *whole;         /* owned, like the next ones; by context */
    uint32_t *first;         /* first callee; of entry 0, the first thread */
    uint32_t *next;          /* next callee of the same caller; 0: no more */
    fd_totals totals;
} fd_stacks;

/* Make the tree. `rank`: an index, or FD_ALL_RANKS. Clear it also after a
 * failure. */
fd_status fd_stacks_make(fd_stacks *stacks, const fd_trace *trace, int rank,
                         fd_export_weight weight);
void fd_stacks_clear(fd_stacks *stacks);

uint64_t fd_stacks_weight(const fd_stacks *stacks, uint32_t context);

/* A step of a depth-first walk through the tree, which opens and closes each
 * call. */
typedef struct fd_stacks_step {
    uint32_t context; /* 0: before the first call */
    bool opens;
} fd_stacks_step;

/* Advance the walk; return false when all calls are closed. */
bool fd_stacks_walk(const fd_stacks *stacks, fd_stacks_step *step);

#endif
