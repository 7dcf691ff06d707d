#include "planner/optimum.h"

#include "planner/bits.h"

#include <math.h>
#include <string.h>

/* How the best of a cell came about. */
typedef struct choice {
    uint32_t cut;   /* FD_NO_STATE: one stage */
    uint16_t front; /* machines before the cut */
    uint16_t back;
} choice;

/* One level. Values are those of one start at a time:
 *
 *     values    [ state 0: 1 machine, 2, ... M ][ state 1 ] ...
 *     choices   the same
 *     blocks    [ no start: state 0, 1, ... ][ start 0 ] ...   times of blocks
 *                                            as the level below makes them */
typedef struct level {
    const fd_optimum_request *request;
    const fd_states *states;
    uint32_t at;
    uint32_t machines;
    double unit;     /* machines in one of this level */
    double cap;      /* no value above counts */
    double floor;    /* nor does a difference below this */
    bool outermost;
    double *values;  /* owned */
    choice *choices; /* owned */
    double *blocks;  /* owned; NULL: the innermost level */
} level;

/* A cell while it is filled. */
typedef struct cell {
    uint32_t start;
    uint32_t state;
    uint32_t machines;
    double best;
    choice how;
} cell;

static bool
is_behind(const fd_states *states, uint32_t state, uint32_t start)
{
    return start == FD_NO_STATE
           || (state != start
               && fd_bits_within(fd_state_set(states, start),
                                 fd_state_set(states, state), states->words));
}

static double
compute_of(const level *l, fd_block block)
{
    if (l->blocks == NULL) {
        return fd_state_sum(l->states->times, block);
    }
    size_t row = block.first == FD_NO_STATE ? 0 : (size_t)block.first + 1;
    return l->blocks[row * l->states->count + block.last];
}

static bool
has_room(const level *l, fd_block block, uint32_t machines, uint32_t after)
{
    const fd_costs *costs = &l->request->costs;
    return costs->memory == FD_MEMORY_FREE
           || fd_stage_memory(costs, l->states, block, machines, after)
                  <= costs->room;
}

static double
stage_time(const fd_stage_cost *cost)
{
    return fmax(cost->compute + cost->reduce, fmax(cost->in, cost->out));
}

static void
try_one_stage(const level *l, cell *c)
{
    const fd_costs *costs = &l->request->costs;
    fd_block block = {c->start, c->state};
    if ((costs->straight && c->machines > 1)
        || (l->outermost && l->request->cut_once
            && c->state == l->states->count - 1)
        || !has_room(l, block, c->machines, l->machines - c->machines)) {
        return;
    }
    fd_stage_cost cost =
        fd_stage_costs(costs, l->states, l->at, compute_of(l, block), block,
                       c->machines, true);
    double time = cost.compute + cost.reduce;
    if (time <= l->cap) {
        c->best = time;
        c->how = (choice){FD_NO_STATE, 0, (uint16_t)c->machines};
    }
}

static void
try_cut(const level *l, cell *c, uint32_t cut, uint32_t back)
{
    const fd_states *states = l->states;
    uint32_t front = c->machines - back;
    double before =
        l->values[(size_t)cut * l->machines + front - 1];
    if (!(before < c->best && before <= l->cap)
        || (l->outermost && cut == l->request->forbidden)
        || !is_behind(states, cut, c->start)
        || !is_behind(states, c->state, cut)) {
        return;
    }
    fd_block block = {cut, c->state};
    fd_stage_cost cost =
        fd_stage_costs(&l->request->costs, states, l->at,
                       compute_of(l, block), block, back, false);
    double time = fmax(before, stage_time(&cost));
    if (time < c->best && time <= l->cap
        && has_room(l, block, back, l->machines - c->machines)) {
        c->best = time;
        c->how = (choice){cut, (uint16_t)front, (uint16_t)back};
    }
}

/* More than what rounding can do to sums of times. */
static double
slack(const fd_states *states)
{
    return 1e-9 * states->times[states->count - 1];
}

static double
start_time(const fd_states *states, uint32_t start)
{
    return start == FD_NO_STATE ? 0 : states->times[start];
}

/* The window of cuts for a last stage on `back` machines, latest first. */
static void
try_cuts(const level *l, cell *c, uint32_t back)
{
    const fd_states *states = l->states;
    double here = states->times[c->state];
    double room = slack(states);
    double front = (c->machines - back) * l->unit;
    double bound = fmin(c->best, l->cap);
    double most =
        fmin(start_time(states, c->start) + front * bound + room, here);
    for (uint32_t i = fd_states_until(states, most); i-- > 0;) {
        uint32_t cut = states->by_time[i];
        bound = fmin(c->best, l->cap);
        if (states->times[cut] < here - back * l->unit * bound - room
            || c->best <= l->floor) {
            break;
        }
        if (cut < c->state
            && (c->start == FD_NO_STATE || cut > c->start)) {
            try_cut(l, c, cut, back);
        }
    }
}

/* Whether a plan within the cap can have this state behind so many machines. */
static bool
is_reachable(const level *l, const cell *c)
{
    const fd_states *states = l->states;
    double room = slack(states);
    double time = states->times[c->state] - start_time(states, c->start);
    double rest = l->outermost
                      ? states->times[states->count - 1]
                            - states->times[c->state]
                      : 0;
    return time <= c->machines * l->unit * l->cap + room
           && rest
                  <= (l->machines - c->machines) * l->unit * l->cap + room;
}

static void
fill_cell(const level *l, cell *c)
{
    const fd_costs *costs = &l->request->costs;
    try_one_stage(l, c);
    if (costs->fewer && c->machines > 1) {
        size_t before = (size_t)c->state * l->machines + c->machines - 2;
        if (l->values[before] < c->best) {
            c->best = l->values[before];
            c->how = l->choices[before];
        }
    }
    uint32_t most = costs->straight ? 1 : c->machines - 1;
    for (uint32_t back = 1; back <= most && back < c->machines
                            && c->best > l->floor;
         back++) {
        try_cuts(l, c, back);
    }
}

/* All values behind a start, up to `last`. */
static void
fill(const level *l, uint32_t start, uint32_t last)
{
    uint32_t first = start == FD_NO_STATE ? 0 : start + 1;
    for (uint32_t state = first; state <= last; state++) {
        bool behind = is_behind(l->states, state, start);
        for (uint32_t m = 1; m <= l->machines; m++) {
            cell c = {start, state, m, INFINITY, {FD_NO_STATE, 0, 0}};
            if (behind && is_reachable(l, &c)) {
                fill_cell(l, &c);
            }
            size_t at = (size_t)state * l->machines + m - 1;
            l->values[at] = c.best;
            l->choices[at] = c.how;
        }
    }
}

/* Times of all blocks for the level above, INFINITY where it does not want
 * them. */
static void
fill_blocks(const level *below, double *blocks)
{
    uint32_t count = below->states->count;
    for (uint32_t row = 0; row <= count; row++) {
        uint32_t start = row == 0 ? FD_NO_STATE : row - 1;
        fill(below, start, count - 1);
        uint32_t first = start == FD_NO_STATE ? 0 : start + 1;
        for (uint32_t state = 0; state < count; state++) {
            size_t from = (size_t)(state + 1) * below->machines - 1;
            blocks[(size_t)row * count + state] =
                state < first ? INFINITY : below->values[from];
        }
    }
}

static void
clear_levels(level *levels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fd_free(levels[i].values);
        fd_free(levels[i].choices);
        fd_free(levels[i].blocks);
    }
}

static fd_status
make_levels(level *levels, const fd_optimum_request *request)
{
    const fd_costs *costs = &request->costs;
    const fd_states *states = request->states;
    size_t count = states->count;
    double unit = 1;
    for (uint32_t i = 0; i < costs->levels; i++) {
        size_t cells = count * costs->machines[i];
        levels[i] = (level){.request = request,
                            .states = states,
                            .at = i,
                            .machines = costs->machines[i],
                            .unit = unit,
                            .outermost = i + 1 == costs->levels,
                            .values = fd_malloc(cells * sizeof(double)),
                            .choices = fd_malloc(cells * sizeof(choice))};
        if (i > 0) {
            levels[i].blocks =
                fd_malloc((count + 1) * count * sizeof(double));
        }
        if (levels[i].values == NULL || levels[i].choices == NULL
            || (i > 0 && levels[i].blocks == NULL)) {
            return FD_ENOMEM;
        }
        unit *= costs->machines[i];
    }
    /* Finite, so that no machines times it is 0. */
    double cap = fmin(request->cap, 1e300);
    levels[costs->levels - 1].floor = request->floor;
    for (uint32_t i = costs->levels; i-- > 0;) {
        levels[i].cap = cap;
        cap *= costs->machines[i];
    }
    return FD_OK;
}

/* The stages of a block on all machines of a level, last to first, then turned
 * round; then the parts of each. */
static fd_status
walk_back(fd_optimum *optimum, const level *levels, uint32_t at,
          fd_block block, uint32_t parent)
{
    const level *l = &levels[at];
    uint32_t first = optimum->stages.count;
    uint32_t machines = l->machines;
    uint32_t after = 0;
    uint32_t state = block.last;
    bool more = true;
    while (more) {
        choice how =
            l->choices[(size_t)state * l->machines + machines - 1];
        more = how.cut != FD_NO_STATE;
        fd_block part = {more ? how.cut : block.first, state};
        fd_stage stage = {
            .block = part,
            .level = at,
            .parent = parent,
            .machines = how.back,
            .after = after,
            .cost = fd_stage_costs(&l->request->costs, l->states, at,
                                   compute_of(l, part), part, how.back,
                                   !more)};
        fd_status status = fd_vector_push(&optimum->stages, stage);
        if (status != FD_OK) {
            return status;
        }
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
    return FD_OK;
}

static fd_status
find_parts(fd_optimum *optimum, level *levels)
{
    for (uint32_t i = 0; i < optimum->stages.count; i++) {
        fd_stage stage = optimum->stages.list[i];
        if (stage.level > 0) {
            level *below = &levels[stage.level - 1];
            fill(below, stage.block.first, stage.block.last);
            fd_status status =
                walk_back(optimum, levels, stage.level - 1, stage.block, i);
            if (status != FD_OK) {
                return status;
            }
        }
    }
    return FD_OK;
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
    optimum->bound = states->complete
                         ? optimum->time
                         : fmin(request->floor * (1 - 2e-12), optimum->time);
    for (uint32_t i = 0; i < optimum->stages.count; i++) {
        fd_stage *stage = &optimum->stages.list[i];
        if (stage->level == 0 && request->costs.memory != FD_MEMORY_FREE) {
            stage->memory =
                fd_stage_memory(&request->costs, states, stage->block,
                                stage->machines, stage->after);
        }
    }
}

void
fd_optimum_clear(fd_optimum *optimum)
{
    fd_vector_clear(&optimum->stages);
}

fd_status
fd_optimum_find(fd_optimum *optimum, const fd_optimum_request *request,
                fd_error *error)
{
    const fd_states *states = request->states;
    uint32_t count = request->costs.levels;
    level levels[FD_PLAN_LEVELS];
    memset(levels, 0, sizeof levels);
    memset(optimum, 0, sizeof *optimum);
    fd_status status = fd_costs_check(&request->costs, error);
    if (status != FD_OK) {
        return status;
    }
    status = make_levels(levels, request);
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        if (i > 0) {
            fill_blocks(&levels[i - 1], levels[i].blocks);
        }
    }
    if (status == FD_OK) {
        const level *top = &levels[count - 1];
        fill(top, FD_NO_STATE, states->count - 1);
        optimum->time =
            top->values[(size_t)states->count * top->machines - 1];
        status = isfinite(optimum->time) ? FD_OK : FD_EINVAL;
    }
    if (status == FD_OK) {
        status = walk_back(optimum, levels, count - 1,
                           (fd_block){FD_NO_STATE, states->count - 1}, 0);
    }
    if (status == FD_OK) {
        status = find_parts(optimum, levels);
    }
    if (status == FD_OK) {
        add_figures(optimum, request);
    }
    clear_levels(levels, count);
    return status;
}
