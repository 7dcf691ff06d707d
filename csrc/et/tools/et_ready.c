#include "et/tools/et_ready.h"

static bool
has(uint32_t kinds, fd_et_edge_kind kind)
{
    return (kinds & 1U << kind) != 0;
}

/* Return whether a node is the root of a thread or the process, which only
 * encloses work. */
static bool
is_root(const fd_et_node *node)
{
    return (node->flags & (FD_ET_THREAD | FD_ET_PROCESS)) != 0;
}

int64_t
fd_et_measured_end(const fd_et_sim_rank *rank, uint32_t index)
{
    const fd_et_node *node = &rank->et->nodes.list[index];
    return fd_plus(rank->nodes[index].measured,
                   is_root(node) ? 0 : node->dur_ns);
}

/* Set `point` to the simulated end of a node: after the end of the last
 * enclosed node or of the kernel that it waited for, plus own time. Return
 * false if one of these nodes is not before `limit`. */
static bool
end_point(const fd_et_sim_rank *rank, uint32_t index, uint32_t limit,
          fd_et_point *point)
{
    point->lag = 0;
    while (index < limit) {
        const fd_et_sim_node *node = &rank->nodes[index];
        uint32_t inner = node->synced != 0 ? node->synced : node->last;
        if (inner == 0) {
            point->end = index + 1;
            return true;
        }
        int64_t own = fd_minus(fd_et_measured_end(rank, index),
                               fd_et_measured_end(rank, inner - 1));
        point->lag =
            fd_plus(point->lag, fd_et_scaled(own, rank->factors[index]));
        if (node->synced != 0) {
            point->end = node->synced;
            point->start = index + 1;
            return true;
        }
        index = inner - 1;
    }
    return false;
}

int64_t
fd_et_simulated_end(const fd_et_sim_rank *rank, uint32_t index)
{
    fd_et_point point = {.start = 0};
    if (!end_point(rank, index, UINT32_MAX, &point)) {
        return INT64_MIN;
    }
    int64_t end = rank->nodes[point.end - 1].end;
    if (point.start != 0 && rank->nodes[point.start - 1].start > end) {
        end = rank->nodes[point.start - 1].start;
    }
    return fd_plus(end, point.lag);
}

/* Return the outermost call around `from` that ended before `to` in the same
 * enclosing call; `to` if `from` encloses it. */
static uint32_t
call_before(const fd_et *et, uint32_t from, uint32_t to)
{
    uint32_t around = et->nodes.list[to].parent;
    if (around == from + 1) {
        return to;
    }
    for (uint32_t at = from + 1; at != 0; at = et->nodes.list[at - 1].parent) {
        if (et->nodes.list[at - 1].parent == around) {
            return at - 1;
        }
    }
    return from;
}

/* Return the call for whose end an order edge waits, or `to` if it waits for
 * the start of edge->from. */
static uint32_t
ended_call(const fd_et_sim_rank *rank, const fd_et_edge *edge)
{
    uint32_t over = call_before(rank->et, edge->from, edge->to);
    bool open =
        over != edge->to
        && fd_et_measured_end(rank, over) > rank->nodes[edge->to].measured;
    return open ? edge->to : over;
}

/* Return how long edge->from ran, as measured, after the start of edge->to.
 * INT64_MAX: it had not ended, so it did not delay edge->to. */
static int64_t
overlap_of(const fd_et_sim_rank *rank, const fd_et_edge *edge)
{
    int64_t from = rank->nodes[edge->from].measured;
    return fd_et_is_gpu(&rank->et->nodes.list[edge->to])
             ? 0
             : fd_et_overlap(
                 from, fd_minus(fd_et_measured_end(rank, edge->from), from),
                 rank->nodes[edge->to].measured);
}

bool
fd_et_edge_point(const fd_et_sim_rank *rank, const fd_et_edge *edge,
                 fd_et_point *point)
{
    uint32_t from = edge->from;
    int64_t overlap = 0;
    *point = (fd_et_point){.start = from + 1, .source = from};
    if (is_root(&rank->et->nodes.list[from])) {
        return false; /* it starts with the first node that it encloses */
    }
    if (has(edge->kinds, FD_ET_LAUNCH)) {
        point->lag = rank->nodes[edge->to].launch;
        return true;
    }
    uint32_t over = from;
    if (has(edge->kinds, FD_ET_ORDER)) {
        over = ended_call(rank, edge);
        if (over == edge->to) {
            return true;
        }
    }
    else {
        overlap = overlap_of(rank, edge);
        if (overlap == INT64_MAX) {
            return false;
        }
    }
    fd_et_point end = {.source = over};
    if (end_point(rank, over, edge->to, &end)) {
        *point = end;
    }
    point->lag = fd_minus(point->lag, overlap);
    return true;
}

/* Return the earliest start of edge->to by measured times; INT64_MIN: the edge
 * does not delay it. */
static int64_t
measured_ready(const fd_et_sim_rank *rank, const fd_et_edge *edge)
{
    int64_t start = rank->nodes[edge->from].measured;
    if (is_root(&rank->et->nodes.list[edge->from])) {
        return INT64_MIN;
    }
    if (has(edge->kinds, FD_ET_LAUNCH)) {
        return fd_plus(start, rank->nodes[edge->to].launch);
    }
    if (has(edge->kinds, FD_ET_ORDER)) {
        uint32_t over = ended_call(rank, edge);
        return over == edge->to ? start : fd_et_measured_end(rank, over);
    }
    int64_t overlap = overlap_of(rank, edge);
    return overlap == INT64_MAX
             ? INT64_MIN
             : fd_minus(fd_et_measured_end(rank, edge->from), overlap);
}

/* Find the kernel for which a thread waited. The wait is in the call that was
 * open when the kernel ended: the rest of the call follows the kernel. */
static void
find_synced(fd_et_sim_rank *rank, uint32_t first, uint32_t end)
{
    const fd_et_edge *edges = rank->et->edges.list;
    uint32_t before = 0;
    uint32_t kernel = 0;
    for (uint32_t i = first; i < end; i++) {
        if (has(edges[i].kinds, FD_ET_ORDER)) {
            before = edges[i].from + 1;
        }
        if (has(edges[i].kinds, FD_ET_SYNC)
            && (kernel == 0
                || fd_et_measured_end(rank, edges[i].from)
                       > fd_et_measured_end(rank, kernel - 1))) {
            kernel = edges[i].from + 1;
        }
    }
    if (before == 0 || kernel == 0) {
        return;
    }
    int64_t over = fd_et_measured_end(rank, kernel - 1);
    uint32_t to = edges[first].to;
    uint32_t around = rank->et->nodes.list[to].parent;
    for (uint32_t at = before; at != 0 && at != around;
         at = rank->et->nodes.list[at - 1].parent) {
        if (over >= rank->nodes[at - 1].measured && kernel < at
            && over <= fd_et_measured_end(rank, at - 1)
            && !is_root(&rank->et->nodes.list[at - 1])) {
            rank->nodes[at - 1].synced = kernel;
            return;
        }
    }
}

/* Return the shortest time from a launch to its kernel or work: the cost of a
 * launch without other waits. */
static int64_t
least_launch(const fd_et_sim_rank *rank, bool gpu)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < rank->et->edges.count; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        int64_t time = fd_minus(rank->nodes[edge->to].measured,
                                rank->nodes[edge->from].measured);
        if (has(edge->kinds, FD_ET_LAUNCH) && time >= 0 && time < least
            && fd_et_is_gpu(&rank->et->nodes.list[edge->to]) == gpu) {
            least = time;
        }
    }
    return least == INT64_MAX ? 0 : least;
}

/* Return the time at which the stream of a kernel, or the thread of other
 * work, is free. */
static int64_t
free_since(const fd_et_sim_rank *rank, uint32_t first, uint32_t end)
{
    int64_t since = INT64_MIN;
    for (uint32_t i = first; i < end; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        int64_t ended = fd_et_measured_end(rank, edge->from);
        if (!has(edge->kinds, FD_ET_LAUNCH) && ended > since) {
            since = ended;
        }
    }
    return since;
}

static int64_t
ready_of(const fd_et_sim_rank *rank, uint32_t first, uint32_t end)
{
    int64_t ready = INT64_MIN;
    for (uint32_t i = first; i < end; i++) {
        int64_t time = measured_ready(rank, &rank->et->edges.list[i]);
        ready = time > ready ? time : ready;
    }
    return ready;
}

/* Set the measured start of a node, and `last` of the enclosing call. */
static void
place_node(fd_et_sim_rank *rank, uint32_t index, uint32_t first, uint32_t end)
{
    const fd_et_node *node = &rank->et->nodes.list[index];
    rank->nodes[index].measured = node->start_ns;
    if ((node->flags & FD_ET_TIMED) == 0 || node->start_ns <= 0) {
        /* unknown: later than all others */
        rank->nodes[index].measured = INT64_MAX;
        int64_t ready = ready_of(rank, first, end);
        rank->nodes[index].measured = ready == INT64_MIN ? 0 : ready;
    }
    if (node->parent == 0 || node->parent > index || fd_et_is_gpu(node)) {
        return;
    }
    uint32_t around = node->parent - 1;
    const fd_et_node *call = &rank->et->nodes.list[around];
    if (!is_root(call) && !fd_et_communicates(call)
        && call->thread == node->thread
        && fd_et_measured_end(rank, index)
               <= fd_et_measured_end(rank, around)) {
        rank->nodes[around].last = index + 1;
    }
}

void
fd_et_measure(fd_et_sim_rank *rank)
{
    const fd_et *et = rank->et;
    uint32_t edge = 0;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        uint32_t end = fd_et_edges_end(et, i, edge);
        place_node(rank, i, edge, end);
        edge = end;
    }
    int64_t least[] = {least_launch(rank, false), least_launch(rank, true)};
    edge = 0;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_sim_node *node = &rank->nodes[i];
        bool gpu = fd_et_is_gpu(&et->nodes.list[i]);
        uint32_t end = fd_et_edges_end(et, i, edge);
        for (uint32_t k = edge; k < end; k++) {
            if (has(et->edges.list[k].kinds, FD_ET_LAUNCH)) {
                int64_t from = rank->nodes[et->edges.list[k].from].measured;
                bool idle =
                    free_since(rank, edge, end) <= fd_plus(from, least[gpu]);
                node->launch =
                    idle ? fd_minus(node->measured, from) : least[gpu];
            }
        }
        int64_t ready = ready_of(rank, edge, end);
        node->delay = ready == INT64_MIN ? 0 : fd_minus(node->measured, ready);
        node->delay = node->delay < 0 && !gpu ? 0 : node->delay;
        find_synced(rank, edge, end);
        edge = end;
    }
}
