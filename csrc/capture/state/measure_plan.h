/* Selection of what a session measures: CallGraph(measure=...). */
#ifndef FD_MEASURE_PLAN_H
#define FD_MEASURE_PLAN_H

#include "recording/measures/measure_table.h"

/* Bits of fd_measure_plan.kinds. */
enum {
    FD_MEASURING_FLOPS = 1,
    FD_MEASURING_MEMORY = 2,
    FD_MEASURING_COMM = 4,
    FD_MEASURING_SHAPES = 8,
    FD_MEASURING_FIGURES = FD_MEASURING_FLOPS | FD_MEASURING_SHAPES
};

/* Operands from which FLOPs are derived. */
enum {
    FD_OPERANDS_SHAPES = 1, /* shapes of the tensors */
    FD_OPERANDS_NUMBERS     /* and numbers, such as strides */
};

typedef struct fd_measure_plan {
    uint32_t kinds;   /* FD_MEASURING_*; 0: nothing */
    bool ready;       /* whether operands can be read */
    uint64_t began;   /* tick at which the running step began */
    fd_map operators; /* hash of the name of an operator -> FD_OPERANDS_* */
} fd_measure_plan;

/* Add an operator that FLOPs are derived from. */
fd_status fd_measure_plan_add(fd_measure_plan *plan, const char *name,
                              bool numbers);

/* Return FD_OPERANDS_* of an operator, or 0. */
uint32_t fd_measure_plan_operands(const fd_measure_plan *plan,
                                  const char *name);

/* Discard the steps so far, because another source of steps takes over: they
 * become part of the running step. */
void fd_measure_plan_discard(fd_tree *tree);

/* End the running step: completely (`whole`), or because it is interrupted.
 * The next one begins. `tree` belongs to the thread that ends it; NULL: not
 * recorded. */
void fd_measure_plan_end(fd_measure_plan *plan, fd_tree *tree, bool whole);

#endif
