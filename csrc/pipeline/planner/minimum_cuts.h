/* The bytes of a cut, and the cuts of a model with the fewest bytes, near given
 * times.
 *
 *     time  0      t1    t2                      whole
 *           |------|=====|--------------------------|
 *            inside  free  outside
 *
 * All states whose layers take t1 to t2 contain each layer after which less
 * than t1 would remain, and no layer whose dependencies take more than t2. A
 * maximum flow between these two sets is the minimum of bytes that cross the
 * border of such a state. */
#ifndef FD_MINIMUM_CUTS_H
#define FD_MINIMUM_CUTS_H

#include "pipeline/planner/layer_chain.h"

/* Bytes that cross the border of a set of layers; `wide`: PipeDream's count,
 * which includes some tensors that only layers inside use. `work` has room for
 * one set. */
double fd_cut_bytes(const fd_model *model, const fd_layers *layers,
                    const uint64_t *set, uint64_t *work, bool wide);

typedef struct fd_minimum_cuts {
    uint32_t count;
    uint32_t words;
    uint64_t *sets; /* owned; a row of layers per cut, by time */
} fd_minimum_cuts;

/* One cut for each of `windows` equal parts of the time, where a cut exists.
 * Empty for models of too many layers. Clear it in any case. */
fd_status fd_minimum_cuts_make(fd_minimum_cuts *cuts, const fd_model *model,
                               const fd_layers *layers, uint32_t windows);
void fd_minimum_cuts_clear(fd_minimum_cuts *cuts);

#endif
