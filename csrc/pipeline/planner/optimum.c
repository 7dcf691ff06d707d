#include "pipeline/planner/optimum.h"

#include "pipeline/planner/planner_level.h"

#include <math.h>

/* Fill in the times of all blocks for the level above; INFINITY above the
 * cap. */
static void
fill_blocks(fd_level *below, double *blocks)
{
    uint32_t count = below->states->count;
    for (uint32_t row = 0; row <= count; row++) {
        uint32_t start = row == 0 ? FD_NO_STATE : row - 1;
        fd_watch_done(below->watch, row, count);
        fd_level_fill(below, start, count - 1);
        for (uint32_t state = 0; state < count; state++) {
            blocks[(size_t)row * count + state] =
                fd_level_value(below, state, below->machines);
        }
    }
}

static void
make_levels(fd_level *levels, fd_arena *arena,
            const fd_optimum_request *request, uint64_t *looked)
{
    const fd_costs *costs = &request->costs;
    const fd_states *states = request->states;
    size_t count = states->count;
    double unit = 1;
    for (uint32_t i = 0; i < costs->levels; i++) {
        levels[i] = (fd_level){.costs = costs,
                               .states = states,
                               .at = i,
                               .machines = costs->machines[i],
                               .unit = unit,
                               .outermost = i + 1 == costs->levels,
                               .effort = request->effort > 0 ? request->effort
                                                             : UINT64_MAX,
                               .looked = looked,
                               .watch = request->watch};
        fd_level_make(&levels[i], arena);
        if (i > 0) {
            levels[i].blocks =
                fd_arena_new(arena, (count + 1) * count, sizeof(double));
        }
        unit *= costs->machines[i];
    }
    /* The cap must be finite: 0 machines times the cap must be 0. */
    double cap = fmin(request->cap, 1e300);
    levels[costs->levels - 1].floor = request->floor;
    for (uint32_t i = costs->levels; i-- > 0;) {
        levels[i].cap = cap;
        cap *= costs->machines[i];
    }
}

/* Add the stages of a block on all machines of a level. */
static void
walk_back(fd_optimum *optimum, fd_arena *arena, const fd_level *levels,
          uint32_t at, fd_block block, uint32_t parent)
{
    const fd_level *l = &levels[at];
    uint32_t first = optimum->stages.count;
    uint32_t machines = l->machines;
    uint32_t after = 0;
    uint32_t state = block.last;
    bool more = true;
    while (more) {
        fd_choice how = l->choices[(size_t)state * l->machines + machines - 1];
        more = how.cut != FD_NO_STATE;
        fd_block part = {more ? how.cut : block.first, state};
        fd_stage stage = {.block = part,
                          .level = at,
                          .parent = parent,
                          .machines = how.back,
                          .after = after,
                          .cost = fd_stage_costs(l->costs, l->states, at,
                                                 fd_level_compute(l, part),
                                                 part, how.back, !more)};
        fd_arena_push(arena, &optimum->stages, stage);
        after += how.back;
        machines = more ? how.front : machines - how.back;
        state = how.cut;
    }
    if (l->outermost) {
        optimum->unused = l->machines - after;
    }
    fd_stage *list = &optimum->stages.list[first];
    uint32_t count = optimum->stages.count - first;
    for (uint32_t i = 0; i < count / 2; i++) {
        fd_stage swap = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = swap;
    }
}

static void
find_parts(fd_optimum *optimum, fd_arena *arena, fd_level *levels)
{
    for (uint32_t i = 0; i < optimum->stages.count; i++) {
        fd_stage stage = optimum->stages.list[i];
        if (stage.level > 0) {
            fd_level *below = &levels[stage.level - 1];
            below->effort = UINT64_MAX;
            fd_level_fill(below, stage.block.first, stage.block.last);
            walk_back(optimum, arena, levels, stage.level - 1, stage.block, i);
        }
    }
}

static double
data_parallel_time(const fd_costs *costs, const fd_states *states)
{
    uint32_t last = states->count - 1;
    double time = states->times[last];
    double width = 1;
    for (uint32_t i = 0; i < costs->levels; i++) {
        double machines = costs->machines[i];
        double reduce = 4 * (machines - 1) * states->parameters[last]
                      / (costs->bandwidths[i] * machines) / width;
        time = (time + reduce) / machines;
        width = machines;
    }
    return time;
}

static void
add_figures(fd_optimum *optimum, const fd_optimum_request *request)
{
    const fd_states *states = request->states;
    optimum->one_machine = states->times[states->count - 1];
    optimum->data_parallel = data_parallel_time(&request->costs, states);
    for (uint32_t i = 0; i < optimum->stages.count; i++) {
        fd_stage *stage = &optimum->stages.list[i];
        if (stage->level == 0 && request->costs.memory != FD_MEMORY_FREE) {
            stage->memory =
                fd_stage_memory(&request->costs, states, stage->block,
                                stage->machines, stage->after);
        }
    }
}

/* Find the optimum of the outermost level. FD_EINVAL: no plan. */
static fd_status
fill_levels(fd_level *levels, uint32_t count, double *time)
{
    for (uint32_t i = 1; i < count; i++) {
        fill_blocks(&levels[i - 1], levels[i].blocks);
    }
    fd_level *top = &levels[count - 1];
    uint32_t whole = top->states->count - 1;
    fd_level_fill(top, FD_NO_STATE, whole);
    *time = fd_level_value(top, whole, top->machines);
    if (*top->looked > top->effort) {
        return FD_EFULL;
    }
    return isfinite(*time) ? FD_OK : FD_EINVAL;
}

fd_status
fd_optimum_find(fd_optimum *optimum, fd_arena *arena,
                const fd_optimum_request *request)
{
    uint32_t count = request->costs.levels;
    fd_block whole = {FD_NO_STATE, request->states->count - 1};
    fd_level levels[FD_PLAN_LEVELS];
    fd_arena *work = fd_arena_part(arena);
    *optimum = (fd_optimum){.time = 0};
    make_levels(levels, work, request, &optimum->looked);
    fd_status status = fill_levels(levels, count, &optimum->time);
    if (status == FD_OK) {
        walk_back(optimum, arena, levels, count - 1, whole, 0);
        find_parts(optimum, arena, levels);
        add_figures(optimum, request);
    }
    fd_arena_drop(work);
    return status;
}
