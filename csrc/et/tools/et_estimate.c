#include "et/tools/et_estimate.h"

#include "base/rows.h"

#include <string.h>

/* PyTorch's scope of ranges that programs mark. */
enum { USER_SCOPE = 7 };

void
fd_et_estimate_clear(fd_et_estimate *estimate)
{
    fd_text_pool_clear(&estimate->texts);
    fd_vector_clear(&estimate->steps);
    fd_vector_clear(&estimate->path);
}

static fd_status
check_times(const fd_et *traces, uint32_t count, fd_et_estimate *e,
            fd_error *error)
{
    bool any = false;
    for (uint32_t r = 0; r < count; r++) {
        for (uint32_t i = 0; i < traces[r].nodes.count; i++) {
            const fd_et_node *node = &traces[r].nodes.list[i];
            bool timed =
                (node->flags & FD_ET_TIMED) != 0 && node->start_ns > 0;
            any = any || timed;
            e->untimed += !timed && (node->flags & FD_ET_PROCESS) == 0;
        }
    }
    return any ? FD_OK
               : fd_fail(error, FD_EINVAL,
                         "no start times in these traces: link them with "
                         "Kineto traces first (fastdispatch et link)");
}

static bool
is_step(const fd_et *et, const fd_et_node *node)
{
    return (node->flags & FD_ET_GPU) == 0
        && strncmp(fd_et_text(et, node->name), "ProfilerStep#", 13) == 0;
}

/* Find or add the step of this name. Return NULL after a failed allocation. */
static fd_et_step *
step_of(fd_et_estimate *e, const fd_et *et, const fd_et_node *node)
{
    uint32_t name;
    if (fd_text_pool_add(&e->texts, fd_et_text(et, node->name),
                         fd_text_pool_size(&et->texts, node->name), &name)
        != FD_OK) {
        return NULL;
    }
    for (uint32_t i = 0; i < e->steps.count; i++) {
        if (e->steps.list[i].name == name) {
            return &e->steps.list[i];
        }
    }
    fd_et_step step = {.name = name};
    for (int t = 0; t < FD_ET_VERSIONS; t++) {
        step.begin[t] = INT64_MAX;
        step.end[t] = INT64_MIN;
    }
    return fd_vector_push(&e->steps, step) == FD_OK
             ? &e->steps.list[e->steps.count - 1]
             : NULL;
}

static void
widen(fd_et_step *step, fd_et_version version, int64_t begin, int64_t end)
{
    step->begin[version] =
        begin < step->begin[version] ? begin : step->begin[version];
    step->end[version] = end > step->end[version] ? end : step->end[version];
}

static void
add_node(const fd_et_sim_rank *rank, uint32_t index, fd_et_version version,
         fd_et_step *step)
{
    if (version == FD_ET_MEASURED) {
        widen(step, version, rank->nodes[index].measured,
              fd_et_measured_end(rank, index));
    }
    else {
        widen(step, version, rank->nodes[index].start,
              fd_et_simulated_end(rank, index));
    }
}

/* Add the steps of a rank and the kernels below them. `around` has one entry
 * per node: the index + 1 of its step in `steps`. */
static fd_status
add_rank(const fd_et_sim_rank *rank, fd_et_version version, uint32_t *around,
         fd_et_estimate *e)
{
    for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
        const fd_et_node *node = &rank->et->nodes.list[i];
        around[i] = node->parent == 0 || node->parent > i
                      ? 0
                      : around[node->parent - 1];
        bool begins = is_step(rank->et, node);
        if (begins) {
            fd_et_step *step = step_of(e, rank->et, node);
            if (step == NULL) {
                return FD_ENOMEM;
            }
            around[i] = (uint32_t)(step - e->steps.list) + 1;
        }
        if (around[i] != 0 && (begins || (node->flags & FD_ET_GPU) != 0)) {
            add_node(rank, i, version, &e->steps.list[around[i] - 1]);
        }
    }
    return FD_OK;
}

static fd_status
add_steps(const fd_et_simulation *simulation, fd_et_version version,
          fd_et_estimate *e)
{
    fd_status status = FD_OK;
    for (uint32_t r = 0; r < simulation->count && status == FD_OK; r++) {
        size_t nodes = (size_t)simulation->ranks[r].et->nodes.count + 1;
        uint32_t *around = fd_malloc(nodes * sizeof *around);
        status = around == NULL
                   ? FD_ENOMEM
                   : add_rank(&simulation->ranks[r], version, around, e);
        fd_free(around);
    }
    return status;
}

/* Add a part of the path to the entry of its name and rank. */
static fd_status
add_entry(fd_et_estimate *e, fd_map *indexes, const fd_et *et, uint32_t rank,
          uint32_t name, int64_t ns)
{
    uint32_t text = 0;
    fd_status status = FD_OK;
    if (ns <= 0) {
        return FD_OK;
    }
    if (name != 0) {
        status = fd_text_pool_add(&e->texts, fd_et_text(et, name),
                                  fd_text_pool_size(&et->texts, name), &text);
    }
    if (status != FD_OK) {
        return status;
    }
    fd_et_path_entry *entry =
        fd_row(&e->path, indexes, (uint64_t)rank << 32 | (text + 1),
               &(fd_et_path_entry){.name = text, .rank = rank});
    if (entry == NULL) {
        return FD_ENOMEM;
    }
    entry->count++;
    entry->ns = fd_plus(entry->ns, ns);
    return FD_OK;
}

static int
by_length(const void *a, const void *b)
{
    const fd_et_path_entry *one = a;
    const fd_et_path_entry *other = b;
    int order = FD_ORDER(other->ns, one->ns);
    order = order != 0 ? order : FD_ORDER(one->rank, other->rank);
    return order != 0 ? order : FD_ORDER(one->name, other->name);
}

/* Return the name for time between calls: that of the operator around them; 0
 * outside of operators, where Python runs. */
static uint32_t
own_time_of(const fd_et *et, uint32_t index)
{
    const fd_et_node *node = &et->nodes.list[index];
    bool runs = node->scope != USER_SCOPE
             && (node->flags & (FD_ET_THREAD | FD_ET_PROCESS)) == 0;
    return runs ? node->name : 0;
}

typedef struct path_walk {
    const fd_et_simulation *simulation;
    fd_et_estimate *e;
    fd_map indexes;
    fd_et_ref at;
    int64_t until; /* time after this is accounted for */
} path_walk;

/* Add the time from `since` on to the entry of `name`, and continue at
 * `to`. */
static fd_status
go(path_walk *g, fd_et_ref to, int64_t since, uint32_t name)
{
    const fd_et *et = g->simulation->ranks[g->at.rank].et;
    int64_t until = since < g->until ? since : g->until;
    fd_status status = add_entry(g->e, &g->indexes, et, g->at.rank, name,
                                 fd_minus(g->until, until));
    g->until = until;
    g->at = to;
    return status;
}

/* Step back from a node to the node that delayed it. */
static fd_status
step_back(path_walk *g)
{
    const fd_et_sim_rank *rank = &g->simulation->ranks[g->at.rank];
    uint32_t index = g->at.index - 1;
    const fd_et_sim_node *node = &rank->nodes[index];
    const fd_et_node *call = &rank->et->nodes.list[index];
    const fd_et_sim_node *kernel =
        node->synced != 0 ? &rank->nodes[node->synced - 1] : NULL;
    if (kernel != NULL && kernel->end > node->start
        && kernel->end <= g->until) {
        return go(g, (fd_et_ref){g->at.rank, node->synced}, kernel->end,
                  call->name);
    }
    if (node->last != 0 && node->synced == 0 && g->until > node->start
        && fd_et_simulated_end(rank, node->last - 1) <= g->until) {
        return go(g, (fd_et_ref){g->at.rank, node->last},
                  fd_et_simulated_end(rank, node->last - 1),
                  own_time_of(rank->et, index));
    }
    if (node->late.index != 0 && node->begun <= g->until) {
        return go(g, node->late, node->begun, call->name);
    }
    fd_status status = go(g, g->at, node->start, call->name);
    if (status == FD_OK) {
        uint32_t around =
            call->parent == 0 ? 0 : own_time_of(rank->et, call->parent - 1);
        status = go(g, node->after, node->ready, around);
    }
    return status;
}

/* Find the critical path from the last end back to the first start. */
static fd_status
find_path(const fd_et_simulation *simulation, fd_et_estimate *e)
{
    path_walk g = {.simulation = simulation,
                   .e = e,
                   .at = simulation->last,
                   .until = simulation->end};
    uint32_t rank = g.at.rank;
    fd_status status = FD_OK;
    while (status == FD_OK && g.at.index != 0) {
        rank = g.at.rank;
        status = step_back(&g);
    }
    if (status == FD_OK) {
        /* The path starts later than the first node. */
        g.at.rank = rank;
        status = go(&g, g.at, simulation->measured_begin, 0);
    }
    fd_map_clear(&g.indexes);
    fd_vector_sort(&e->path, by_length);
    return status;
}

fd_status
fd_et_estimate_make(const fd_et *traces, uint32_t count,
                    const fd_et_ranks *ranks, const fd_et_changes *changes,
                    fd_et_estimate *e, fd_error *error)
{
    static const fd_et_changes none = {.bandwidth = 1};
    fd_et_simulation simulation;
    *e = (fd_et_estimate){.matched = 0};
    fd_status status = check_times(traces, count, e, error);
    if (status != FD_OK) {
        return status;
    }
    status = fd_et_sim_make(&simulation, traces, count, ranks);
    if (status == FD_OK) {
        e->measured_ns =
            fd_minus(simulation.measured_end, simulation.measured_begin);
        e->matched = ranks->matches;
        status = add_steps(&simulation, FD_ET_MEASURED, e);
    }
    if (status == FD_OK) {
        status = fd_et_sim_run(&simulation, &none);
    }
    if (status == FD_OK) {
        e->replayed_ns = fd_minus(simulation.end, simulation.measured_begin);
        status = add_steps(&simulation, FD_ET_REPLAYED, e);
    }
    if (status == FD_OK) {
        status = fd_et_sim_run(&simulation, changes);
    }
    if (status == FD_OK) {
        e->predicted_ns = fd_minus(simulation.end, simulation.measured_begin);
        e->broken = simulation.broken;
        status = add_steps(&simulation, FD_ET_PREDICTED, e);
    }
    if (status == FD_OK) {
        status = find_path(&simulation, e);
    }
    fd_et_sim_clear(&simulation);
    return status;
}
