/* The cost of one micro-batch in a part of a synchronous pipeline on some
 * machines, which share each micro-batch.
 *
 *     forward, backward   of the block / machines
 *     transfer            cut / (bandwidth machines ratio), only with a ratio
 *     reduce              4 (machines - 1) parameters / (bandwidth machines) */
#ifndef FD_PLAN_PART_H
#define FD_PLAN_PART_H

#include "pipeline/planner/plan_costs.h"

typedef struct fd_part {
    double forward; /* seconds */
    double backward;
    double transfer; /* seconds of the input, and of its gradient */
    double reduce;   /* seconds, once, after all micro-batches */
    double saved;    /* bytes of a micro-batch from forward to backward */
    double kept;     /* permanent bytes: weights, gradients, optimizer */
} fd_part;

/* Return the costs on machines of the innermost level. */
fd_part fd_part_of(const fd_costs *costs, const fd_states *states,
                   fd_block block, uint32_t machines);

/* A lower bound of a pipeline, a sum along its stages:
 *
 *     busy of a stage and step of all before it
 *
 * `step`: the transfer of a micro-batch there (and back, where the last job of
 * a stage is a backward pass that the stages before it wait for); `busy`: all
 * work of the stage itself. */
enum { FD_LINES = 2 };

typedef struct fd_line {
    double step;
    double busy;
} fd_line;

/* Set the lines of a part. `apart`: the schedule separates gradients of inputs
 * and weights. */
void fd_part_lines(fd_line lines[FD_LINES], const fd_part *part,
                   uint32_t micro_batches, bool apart);

#endif
