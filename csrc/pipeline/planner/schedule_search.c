#include "pipeline/planner/schedule_search.h"

#include "pipeline/cuts/bit_sets.h"
#include "pipeline/planner/initial_solutions.h"
#include "pipeline/planner/suffix_bounds.h"

#include <math.h>
#include <string.h>

/* Default effort: number of blocks considered and computations simulated. */
#define EFFORT (UINT64_C(1) << 24)
enum { MOST_NODES = 1 << 20, CLIMB_SHARE = 16 };

/* A partial plan: its last part, and the earlier parts through `parent`. */
typedef struct node {
    double bound;
    uint32_t parent; /* index in `nodes` */
    uint32_t state;  /* FD_NO_STATE: no part yet */
    uint16_t parts;
    uint16_t ranks;
    uint16_t machines; /* of the last part */
    uint16_t left;     /* number of machines for ranks without parts */
} node;

typedef struct search {
    const fd_scheduled_request *request;
    const fd_states *states;
    const fd_costs *costs;
    fd_scheduled *to;
    fd_evaluator evaluator;
    fd_suffix_bounds bounds;
    fd_chain now; /* the current plan, like the next two */
    fd_part *parts;
    fd_line prefix[FD_LINES];
    FD_VECTOR(node) nodes;
    FD_VECTOR(uint32_t) heap; /* indices of nodes, the lowest bound on top */
    double lost;              /* the lowest bound of the dropped nodes */
    uint64_t looked;
    bool apart;
    fd_status status;
} search;

/* Return the time below which a plan becomes the best. */
static double
threshold(const search *s)
{
    return s->to->best.time * (1 - 1e-12);
}

static bool
is_before(const search *s, uint32_t a, uint32_t b)
{
    const node *x = &s->nodes.list[a];
    const node *y = &s->nodes.list[b];
    if (x->bound != y->bound) {
        return x->bound < y->bound;
    }
    return x->parts != y->parts ? x->parts > y->parts : a < b;
}

static void
swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void
push(search *s, const node *new)
{
    if (s->nodes.count == MOST_NODES) {
        s->lost = fmin(s->lost, new->bound);
        return;
    }
    uint32_t at = s->heap.count;
    s->status = fd_vector_push(&s->nodes, *new);
    if (s->status == FD_OK) {
        s->status = fd_vector_push(&s->heap, s->nodes.count - 1);
    }
    uint32_t *heap = s->heap.list;
    while (s->status == FD_OK && at > 0
           && is_before(s, heap[at], heap[(at - 1) / 2])) {
        swap(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static uint32_t
pop(search *s)
{
    uint32_t *heap = s->heap.list;
    uint32_t top = heap[0];
    heap[0] = heap[--s->heap.count];
    for (uint32_t at = 0, least = 0;; at = least) {
        for (uint32_t child = 2 * at + 1;
             child < s->heap.count && child <= 2 * at + 2; child++) {
            least = is_before(s, heap[child], heap[least]) ? child : least;
        }
        if (least == at) {
            return top;
        }
        swap(&heap[at], &heap[least]);
    }
}

/* Load the parts of a node into the current plan. */
static void
recall(search *s, const node *last)
{
    s->now.ranks = last->ranks;
    s->now.count = last->parts;
    for (const node *at = last; at->parts > 0;
         at = &s->nodes.list[at->parent]) {
        s->now.ends[at->parts - 1] = at->state;
        s->now.machines[at->parts - 1] = at->machines;
    }
    memset(s->prefix, 0, sizeof s->prefix);
    memset(s->parts, 0, s->evaluator.most_parts * sizeof *s->parts);
    for (uint32_t i = 0; i < last->parts; i++) {
        fd_line lines[FD_LINES];
        s->parts[i] =
            fd_part_of(s->costs, s->states, fd_chain_block(&s->now, i),
                       s->now.machines[i]);
        fd_part_lines(lines, &s->parts[i], s->request->micro_batches,
                      s->apart);
        for (int line = 0; line < FD_LINES; line++) {
            s->prefix[line].step += lines[line].step;
        }
    }
}

/* Return the bound for ranks with one part: for each line, the bounds of the
 * remaining parts are known. */
static double
bound_along(const search *s, const node *new)
{
    fd_line lines[FD_LINES];
    double bound = 0;
    fd_part_lines(lines, &s->parts[new->parts - 1], s->request->micro_batches,
                  s->apart);
    for (int line = 0; line < FD_LINES; line++) {
        double rest =
            fd_suffix_bounds_at(&s->bounds, new->state, line)[new->left];
        double here = fmax(lines[line].busy, lines[line].step + rest);
        bound = fmax(bound, s->prefix[line].step + here);
    }
    return bound;
}

/* The load of each rank so far: its end without further parts. Ranks without
 * parts share one entry. */
typedef struct load {
    double done;
    double reduced; /* its end without gradients of inputs, but with the
                  * all-reduce */
    double machines;
    bool more; /* it may have another part */
} load;

static uint32_t
add_loads(const search *s, const node *new, load *loads)
{
    uint32_t used = new->parts < new->ranks ? new->parts : new->ranks;
    double arrival = 0;
    double back = 0;
    for (uint32_t rank = 0; rank < used; rank++) {
        const fd_part *part = &s->parts[rank];
        arrival += part->transfer;
        back += s->apart ? 0 : part->transfer;
        loads[rank] = (load){.done = arrival + back,
                             .reduced = arrival,
                             .machines = s->now.machines[rank]};
        arrival += part->forward;
        back += s->apart ? 0 : part->backward;
    }
    for (uint32_t i = 0; i < new->parts; i++) {
        load *at = &loads[fd_evaluator_rank(&s->evaluator, new->ranks, i)];
        double work = s->request->micro_batches
                    * (s->parts[i].forward + s->parts[i].backward);
        at->done += work;
        at->reduced += work + s->parts[i].reduce;
    }
    for (uint32_t i = 0; i < used; i++) {
        loads[i].done = fmax(loads[i].done, loads[i].reduced);
    }
    for (uint32_t i = new->parts; i < s->evaluator.chunks *new->ranks; i++) {
        uint32_t rank = fd_evaluator_rank(&s->evaluator, new->ranks, i);
        loads[rank < used ? rank : used].more = true;
    }
    if (used < new->ranks) {
        loads[used].done = arrival + back;
        loads[used].machines = new->left;
        used++;
    }
    return used;
}

/* Return the bound for ranks with several parts: at best, the remaining layers
 * are distributed evenly over the ranks that may have more parts. */
static double
bound_filled(const search *s, const node *new, load *loads)
{
    memset(loads, 0, ((size_t) new->ranks + 1) * sizeof *loads);
    uint32_t count = add_loads(s, new, loads);
    double before =
        new->state == FD_NO_STATE ? 0 : s->states->times[new->state];
    double rest = s->request->micro_batches
                * (s->states->times[s->states->count - 1] - before);
    double full = 0;
    bool again = true;
    while (again) {
        double machines = 0;
        double sum = fmax(rest, 0);
        again = false;
        for (uint32_t i = 0; i < count; i++) {
            machines += loads[i].more ? loads[i].machines : 0;
            sum += loads[i].more ? loads[i].machines * loads[i].done : 0;
        }
        full = machines > 0 ? sum / machines : 0;
        for (uint32_t i = 0; i < count; i++) {
            if (loads[i].more && loads[i].done > full) {
                loads[i].more = false;
                again = true;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        full = fmax(full, loads[i].done);
    }
    return full;
}

/* Simulate a complete plan, and keep the best. */
static void
finish(search *s, fd_compiled *compiled)
{
    double time = fd_evaluator_time(&s->evaluator, compiled, &s->now);
    if (time < threshold(s)) {
        s->now.time = time;
        fd_chain_copy(&s->to->best, &s->now);
    }
}

/* Extend the current plan by one part. */
static void
try_part(search *s, fd_compiled *compiled, const node *new, load *loads)
{
    uint32_t part = new->parts - 1;
    fd_block block = {part == 0 ? FD_NO_STATE : s->now.ends[part - 1],
                      new->state};
    s->now.ends[part] = new->state;
    s->now.machines[part] = new->machines;
    s->now.count = new->parts;
    s->parts[part] = fd_part_of(s->costs, s->states, block, new->machines);
    node found = *new;
    found.bound = fmax(new->bound, s->evaluator.chunks == 1
                                       ? bound_along(s, new)
                                       : bound_filled(s, new, loads));
    s->looked +=
        s->evaluator.chunks == 1 ? 1 : new->ranks * s->evaluator.chunks;
    if (found.bound < threshold(s)
        && fd_evaluator_fits(
            &s->evaluator, compiled,
            fd_evaluator_rank(&s->evaluator, new->ranks, part), s->parts)) {
        if (new->parts == s->evaluator.chunks *new->ranks) {
            finish(s, compiled);
        }
        else {
            push(s, &found);
        }
    }
    s->parts[part] = (fd_part){.forward = 0};
}

/* Set the range of machines of the next part. */
static void
machines_for(const search *s, const node *at, uint32_t *least, uint32_t *most)
{
    bool fixed = at->parts >= at->ranks;
    *least = 1;
    *most = 1;
    if (fixed) {
        uint32_t rank = fd_evaluator_rank(&s->evaluator, at->ranks, at->parts);
        *least = *most = s->now.machines[rank];
    }
    else if (!s->costs->straight) {
        uint32_t later = at->ranks - at->parts - 1u;
        *most = at->left - later;
        *least = later == 0 && !s->costs->fewer ? *most : 1;
    }
}

static bool
may_follow(const search *s, uint32_t start, uint32_t state)
{
    return start == FD_NO_STATE || fd_state_follows(s->states, start, state);
}

/* Extend a node by each possible next block, in the order of time. */
static void
expand(search *s, uint32_t index, fd_compiled *compiled, load *loads)
{
    const fd_states *states = s->states;
    const node at = s->nodes.list[index];
    uint32_t whole = states->count - 1;
    bool last = at.parts + 1u == s->evaluator.chunks * at.ranks;
    double before = at.state == FD_NO_STATE ? 0 : states->times[at.state];
    double slack = 1e-9 * states->times[whole];
    uint32_t least;
    uint32_t most;
    recall(s, &at);
    machines_for(s, &at, &least, &most);
    uint32_t from = last ? 0 : fd_states_until(states, before - slack);
    uint32_t until = last ? 1 : states->count;
    for (uint32_t i = from; i < until && s->status == FD_OK; i++) {
        uint32_t state = last ? whole : states->by_time[i];
        double work = states->times[state] - before - slack;
        if (s->request->micro_batches * work > threshold(s) * most) {
            break;
        }
        for (uint32_t used = least; used <= most && (last || state != whole)
                                    && may_follow(s, at.state, state);
             used++) {
            uint32_t taken = at.parts < at.ranks ? used : 0;
            node new = {.bound = at.bound,
                        .parent = index,
                        .state = state,
                        .parts = (uint16_t)(at.parts + 1),
                        .ranks = at.ranks,
                        .machines = (uint16_t)used,
                        .left = (uint16_t)(at.left - taken)};
            try_part(s, compiled, &new, loads);
        }
    }
}

/* Start a plan for each number of ranks that has a schedule. */
static void
begin(search *s)
{
    const fd_costs *costs = s->costs;
    uint32_t machines = costs->machines[0];
    double even = s->request->micro_batches
                * s->states->times[s->states->count - 1] / machines;
    for (uint32_t ranks = 1; ranks <= s->evaluator.most_ranks; ranks++) {
        fd_compiled *compiled;
        fd_status status =
            fd_evaluator_schedule(&s->evaluator, ranks, &compiled);
        s->status = s->status == FD_OK ? status : s->status;
        bool all = costs->fewer || !costs->straight || ranks == machines;
        if (s->status != FD_OK || compiled == NULL || !all
            || ranks * s->evaluator.chunks > s->request->layers) {
            continue;
        }
        node new = {.bound = even * (1 - 1e-12),
                    .state = FD_NO_STATE,
                    .ranks = (uint16_t)ranks,
                    .left = (uint16_t)machines};
        push(s, &new);
    }
}

static uint64_t
effort_of(const search *s)
{
    return s->request->effort > 0 ? s->request->effort : EFFORT;
}

static void
carry_on(search *s, load *loads)
{
    while (s->status == FD_OK && s->heap.count > 0
           && s->looked + s->evaluator.simulated < effort_of(s)
           && s->nodes.list[s->heap.list[0]].bound < threshold(s)) {
        fd_compiled *compiled = NULL;
        uint32_t at = pop(s);
        fd_watch_bounds(s->request->watch, s->nodes.list[at].bound,
                        s->to->best.time);
        fd_watch_done(s->request->watch,
                      (double)(s->looked + s->evaluator.simulated),
                      (double)effort_of(s));
        s->status = fd_evaluator_schedule(&s->evaluator,
                                          s->nodes.list[at].ranks, &compiled);
        if (s->status == FD_OK) {
            expand(s, at, compiled, loads);
        }
    }
    if (s->heap.count > 0) {
        s->lost = fmin(s->lost, s->nodes.list[s->heap.list[0]].bound);
    }
}

static fd_status
prepare(search *s, fd_error *error)
{
    const fd_scheduled_request *request = s->request;
    uint32_t machines = s->costs->machines[0];
    s->evaluator = (fd_evaluator){
        .states = s->states,
        .costs = s->costs,
        .schedule = request->schedule,
        .micro_batches = request->micro_batches,
        .chunks = request->chunks,
        .forbidden = request->forbidden,
        .cut_once = request->cut_once,
        .most_ranks = machines < request->layers ? machines : request->layers};
    fd_status status = fd_evaluator_make(&s->evaluator, error);
    if (status == FD_OK) {
        s->to->chunks = s->evaluator.chunks;
        status = fd_chain_make(&s->now, s->evaluator.most_parts);
    }
    if (status == FD_OK) {
        status = fd_chain_make(&s->to->best, s->evaluator.most_parts);
    }
    if (status == FD_OK) {
        s->parts = fd_calloc(s->evaluator.most_parts, sizeof *s->parts);
        status = s->parts == NULL ? FD_ENOMEM : FD_OK;
    }
    return status;
}

static fd_status
find_suffix_bounds(search *s)
{
    fd_suffix_bounds_request request = {.states = s->states,
                                        .costs = s->costs,
                                        .micro_batches =
                                            s->request->micro_batches,
                                        .apart = s->apart,
                                        .cap = s->to->best.time};
    return s->evaluator.chunks > 1
             ? FD_OK
             : fd_suffix_bounds_make(&s->bounds, &request);
}

static fd_status
find_initial(search *s)
{
    fd_initial_request request = {.best = &s->to->best,
                                  .now = &s->now,
                                  .asynchronous = s->request->asynchronous,
                                  .effort = effort_of(s) / CLIMB_SHARE};
    fd_status status = fd_initial_solutions(&s->evaluator, &request);
    s->to->asynchronous = request.asynchronous_step;
    return status;
}

static void
find(search *s)
{
    load *loads =
        fd_calloc((size_t)s->evaluator.most_ranks + 1, sizeof *loads);
    s->status = loads == NULL ? FD_ENOMEM : FD_OK;
    if (s->status == FD_OK) {
        s->status = find_initial(s);
    }
    if (s->status == FD_OK) {
        s->status = find_suffix_bounds(s);
    }
    if (s->status == FD_OK) {
        s->looked = 0;
        s->evaluator.simulated = 0;
        begin(s);
        carry_on(s, loads);
    }
    fd_free(loads);
}

/* Return the lower bound of all plans, also if not all states are known. */
static double
bound_of(const search *s)
{
    const fd_scheduled *to = s->to;
    double bound = fmin(s->lost, to->best.time);
    if (!s->states->complete) {
        bound = s->request->micro_batches
              * s->states->times[s->states->count - 1] / s->costs->machines[0];
    }
    return bound < threshold(s) ? bound : to->best.time;
}

fd_status
fd_scheduled_find(fd_scheduled *scheduled, const fd_scheduled_request *request,
                  fd_error *error)
{
    *scheduled =
        (fd_scheduled){.best = {.time = INFINITY}, .asynchronous = INFINITY};
    search s = {.request = request,
                .states = request->states,
                .costs = request->costs,
                .to = scheduled,
                .apart = request->schedule == FD_SCHEDULE_ZB_H1
                      || request->schedule == FD_SCHEDULE_ZB_V,
                .lost = INFINITY};
    fd_status status = prepare(&s, error);
    if (status == FD_OK) {
        find(&s);
        status = s.status;
    }
    if (status == FD_OK) {
        scheduled->bound = bound_of(&s);
        status = isfinite(scheduled->best.time) ? FD_OK : FD_EINVAL;
    }
    fd_evaluator_clear(&s.evaluator);
    fd_suffix_bounds_clear(&s.bounds);
    fd_chain_clear(&s.now);
    fd_free(s.parts);
    fd_vector_clear(&s.nodes);
    fd_vector_clear(&s.heap);
    return status;
}

void
fd_scheduled_clear(fd_scheduled *scheduled)
{
    fd_chain_clear(&scheduled->best);
}
