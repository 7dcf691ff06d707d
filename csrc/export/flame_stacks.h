/* The call tree as flame graphs draw it: callees below their caller, as wide
 * as their weight.
 *
 *     main ████████████████████      weight   of the call itself
 *       step ███████████████  █      whole    and of all below it
 *         forward ██████
 *
 * Calls of weight 0, with all below them, are skipped. */
#ifndef FD_FLAME_STACKS_H
#define FD_FLAME_STACKS_H

#include "profile/totals.h"
#include "trace/export_options.h"

typedef struct fd_stacks {
    const fd_trace *trace;   /* borrowed */
    fd_export_weight weight; /* calls, if the requested figure was not recorded
                                */
    uint64_t *whole;         /* owned, as those below; by context */
    uint32_t *first;         /* its first callee; of entry 0: the first thread
                                */
    uint32_t *next;          /* the next callee of its caller; 0: none */
    fd_totals totals;
} fd_stacks;

/* `rank`: an index, or FD_ALL_RANKS. Clear it in any case. */
fd_status fd_stacks_make(fd_stacks *stacks, const fd_trace *trace, int rank,
                         fd_export_weight weight);
void fd_stacks_clear(fd_stacks *stacks);

uint64_t fd_stacks_weight(const fd_stacks *stacks, uint32_t context);

/* A walk through the tree, depth first, that opens and closes each call. */
typedef struct fd_stacks_step {
    uint32_t context; /* 0: before the first */
    bool opens;
} fd_stacks_step;

/* False when all is closed. */
bool fd_stacks_walk(const fd_stacks *stacks, fd_stacks_step *step);

#endif
