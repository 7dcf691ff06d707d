/* Partition of a sequence of layers into the stages of a pipeline.
 *
 *     weights      w0  w1  w2  w3  w4  w5          layers 6
 *     sums       0   .   .   .   .   .   .         sums[i]: of the first i
 *     cuts       0       2           5   6         stages 3
 *
 * Stage k has the layers [cuts[k], cuts[k + 1]); its weight is the difference
 * of two sums. Callers add up the weights: integers exactly, others in order,
 * as DeepSpeed does. */
#ifndef FD_DEEPSPEED_PARTITION_H
#define FD_DEEPSPEED_PARTITION_H

#include "base/status.h"

#include <stdint.h>

typedef enum fd_cut {
    FD_CUT_UNIFORM,   /* equal numbers of layers; the first stages have the
                       * remainder */
    FD_CUT_BALANCED,  /* the cuts of DeepSpeed's partition_balanced */
    FD_CUT_BOTTLENECK /* minimize the heaviest stage; of these cuts, maximize
                       * the lightest stage */
} fd_cut;

/* Limits, because more layers would take minutes. */
enum { FD_LAYERS_MAX = 1 << 15, FD_STAGES_MAX = 1 << 20 };

/* Compute the cuts. `sums` has layers + 1 entries, the first one 0; `cuts` has
 * space for stages + 1. With fewer layers than stages the last stages are
 * empty, otherwise no stage is. Usually takes O(layers^2 log stages) and 4
 * bytes per layer and stage. FD_EINVAL: no stage, too many of either, a weight
 * that is negative or NaN. */
fd_status fd_partition(fd_cut cut, const double *sums, uint32_t layers,
                       uint32_t stages, uint32_t *cuts, fd_error *error);

#endif
