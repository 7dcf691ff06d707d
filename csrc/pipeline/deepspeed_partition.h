/* Cutting a row of layers into the stages of a pipeline.
 *
 *     weights      w0  w1  w2  w3  w4  w5          layers 6
 *     sums       0   .   .   .   .   .   .         sums[i]: of the first i
 *     cuts       0       2           5   6         stages 3
 *
 * Stage k has the layers [cuts[k], cuts[k + 1]) and weighs the difference of
 * two sums. Callers add up the weights: integers exactly, others in order, as
 * DeepSpeed does. */
#ifndef FD_DEEPSPEED_PARTITION_H
#define FD_DEEPSPEED_PARTITION_H

#include "base/status.h"

#include <stdint.h>

typedef enum fd_cut {
    FD_CUT_UNIFORM,   /* by number of layers, the first stages have the rest */
    FD_CUT_BALANCED,  /* DeepSpeed's partition_balanced, the same cuts */
    FD_CUT_BOTTLENECK /* the heaviest stage is as light as possible; of
                          those cuts the one with the heaviest lightest
                          stage */
} fd_cut;

/* Limits: more layers would take minutes. */
enum { FD_LAYERS_MAX = 1 << 15, FD_STAGES_MAX = 1 << 20 };

/* `sums` has layers + 1 entries from 0 on, `cuts` room for stages + 1. With
 * fewer layers than stages the last stages are empty, otherwise no stage is.
 * Takes O(layers^2 log stages) in the usual case and 4 bytes per layer and
 * stage. FD_EINVAL: no stage, too many of either, a weight that is negative or
 * NaN. */
fd_status fd_partition(fd_cut cut, const double *sums, uint32_t layers,
                       uint32_t stages, uint32_t *cuts, fd_error *error);

#endif
