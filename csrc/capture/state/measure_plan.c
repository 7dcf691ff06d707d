#include "capture/state/measure_plan.h"

#include <string.h>

static uint64_t
key_of(const char *name)
{
    return fd_hash_bytes(name, strlen(name)) | 1; /* 0 is not allowed */
}

fd_status
fd_measure_plan_add(fd_measure_plan *plan, const char *name, bool numbers)
{
    return fd_map_put(&plan->operators, key_of(name),
                      numbers ? FD_OPERANDS_NUMBERS : FD_OPERANDS_SHAPES);
}

uint32_t
fd_measure_plan_operands(const fd_measure_plan *plan, const char *name)
{
    return fd_map_get(&plan->operators, key_of(name));
}

static fd_measure *
steps_of(fd_tree *tree)
{
    return fd_measures_at(
        tree, (fd_measure_key){.context = fd_tree_id(tree, tree->root),
                               .kind = FD_MEASURE_STEPS});
}

void
fd_measure_plan_discard(fd_tree *tree)
{
    fd_measure *steps = steps_of(tree);
    if (steps != NULL) {
        steps->count = 0;
        steps->max = 0;
    }
}

void
fd_measure_plan_end(fd_measure_plan *plan, fd_tree *tree, bool whole)
{
    if (plan->kinds == 0 || tree == NULL) {
        return;
    }
    fd_measure *steps = steps_of(tree);
    uint64_t now = fd_clock_ticks();
    uint64_t ticks = now > plan->began ? now - plan->began : 0;
    fd_measure_add(steps, ticks, 0);
    if (steps != NULL && !whole) {
        steps->count--;
    }
    plan->began = now;
}
