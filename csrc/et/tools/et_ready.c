#include "et/tools/et_ready.h"

static bool
has(uint32_t kinds, fd_et_edge_kind kind)
{
    return (kinds & 1U << kind) != 0;
}

/* The roots of threads and of the process only enclose: they are no work. */
static bool
is_root(const fd_et_node *node)
{
    return (node->flags & (FD_ET_THREAD | FD_ET_PROCESS)) != 0;
}

int64_t
fd_play_measured_end(const fd_play_rank *rank, uint32_t place)
{
    const fd_et_node *node = &rank->et->nodes.list[place];
    return fd_plus(rank->nodes[place].measured,
                   is_root(node) ? 0 : node->dur_ns);
}

/* The same as it was played: own time after the last that it encloses, and
 * after the kernel that it waited for, is its own. INT64_MIN: not all of it
 * lies before `limit`. */
static int64_t
end_before(const fd_play_rank *rank, uint32_t place, uint32_t limit)
{
    int64_t more = 0;
    while (place < limit) {
        const fd_play_node *node = &rank->nodes[place];
        int64_t end = fd_play_measured_end(rank, place);
        if (node->synced != 0) {
            const fd_play_node *kernel = &rank->nodes[node->synced - 1];
            int64_t over = fd_play_measured_end(rank, node->synced - 1);
            more = fd_plus(more, fd_play_scaled(fd_minus(end, over),
                                                rank->factors[place]));
            return fd_plus(
                kernel->end > node->start ? kernel->end : node->start, more);
        }
        if (node->last == 0) {
            return fd_plus(node->end, more);
        }
        int64_t last = fd_play_measured_end(rank, node->last - 1);
        more = fd_plus(
            more, fd_play_scaled(fd_minus(end, last), rank->factors[place]));
        place = node->last - 1;
    }
    return INT64_MIN;
}

int64_t
fd_play_end(const fd_play_rank *rank, uint32_t place)
{
    return end_before(rank, place, UINT32_MAX);
}

/* The outermost call around `from` that was over before `to`, which has the
 * same call around it; `to` where that is `from` itself. */
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

int64_t
fd_play_ready_by(const fd_play_rank *rank, const fd_et_edge *edge, bool played,
                 uint32_t *who)
{
    const fd_play_node *from = &rank->nodes[edge->from];
    const fd_play_node *to = &rank->nodes[edge->to];
    int64_t start = played ? from->start : from->measured;
    *who = edge->from;
    if (is_root(&rank->et->nodes.list[edge->from])) {
        return INT64_MIN; /* it begins when the first that it encloses does */
    }
    if (has(edge->kinds, FD_ET_LAUNCH)) {
        return fd_plus(start, to->launch);
    }
    if (has(edge->kinds, FD_ET_ORDER)) {
        uint32_t over = call_before(rank->et, edge->from, edge->to);
        if (over == edge->to
            || fd_play_measured_end(rank, over) > to->measured) {
            return start;
        }
        int64_t end = played ? end_before(rank, over, edge->to)
                             : fd_play_measured_end(rank, over);
        *who = end == INT64_MIN ? edge->from : over;
        return end == INT64_MIN ? start : end;
    }
    /* Work that had not ended held nothing up. */
    int64_t end = fd_play_measured_end(rank, edge->from);
    int64_t over =
        fd_play_is_gpu(&rank->et->nodes.list[edge->to])
            ? 0
            : fd_et_overlap(from->measured, fd_minus(end, from->measured),
                            to->measured);
    if (over == INT64_MAX) {
        return INT64_MIN;
    }
    return fd_minus(played ? fd_play_end(rank, edge->from) : end, over);
}

/* A thread waited for a kernel in the call that was open when that ended: the
 * rest of the call comes after the kernel. */
static void
find_synced(fd_play_rank *rank, uint32_t first, uint32_t end)
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
                || fd_play_measured_end(rank, edges[i].from)
                       > fd_play_measured_end(rank, kernel - 1))) {
            kernel = edges[i].from + 1;
        }
    }
    if (before == 0 || kernel == 0) {
        return;
    }
    int64_t over = fd_play_measured_end(rank, kernel - 1);
    uint32_t to = edges[first].to;
    uint32_t around = rank->et->nodes.list[to].parent;
    for (uint32_t at = before; at != 0 && at != around;
         at = rank->et->nodes.list[at - 1].parent) {
        if (over >= rank->nodes[at - 1].measured && kernel < at
            && over <= fd_play_measured_end(rank, at - 1)
            && !is_root(&rank->et->nodes.list[at - 1])) {
            rank->nodes[at - 1].synced = kernel;
            return;
        }
    }
}

/* The shortest time from a launch to what it started: what a launch costs when
 * that waits for nothing else. */
static int64_t
least_launch(const fd_play_rank *rank, bool gpu)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < rank->et->edges.count; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        int64_t time = fd_minus(rank->nodes[edge->to].measured,
                                rank->nodes[edge->from].measured);
        if (has(edge->kinds, FD_ET_LAUNCH) && time >= 0 && time < least
            && fd_play_is_gpu(&rank->et->nodes.list[edge->to]) == gpu) {
            least = time;
        }
    }
    return least == INT64_MAX ? 0 : least;
}

/* When the stream of a kernel, or the thread of other work, was free. */
static int64_t
free_since(const fd_play_rank *rank, uint32_t first, uint32_t end)
{
    int64_t since = INT64_MIN;
    for (uint32_t i = first; i < end; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        int64_t ended = fd_play_measured_end(rank, edge->from);
        if (!has(edge->kinds, FD_ET_LAUNCH) && ended > since) {
            since = ended;
        }
    }
    return since;
}

static int64_t
ready_of(const fd_play_rank *rank, uint32_t first, uint32_t end)
{
    int64_t ready = INT64_MIN;
    uint32_t who;
    for (uint32_t i = first; i < end; i++) {
        int64_t time =
            fd_play_ready_by(rank, &rank->et->edges.list[i], false, &who);
        ready = time > ready ? time : ready;
    }
    return ready;
}

/* Its begin, and of what encloses it whether it is the last. */
static void
place_node(fd_play_rank *rank, uint32_t place, uint32_t first, uint32_t end)
{
    const fd_et_node *made = &rank->et->nodes.list[place];
    rank->nodes[place].measured = made->start_ns;
    if ((made->flags & FD_ET_TIMED) == 0 || made->start_ns <= 0) {
        rank->nodes[place].measured = INT64_MAX; /* after all */
        int64_t ready = ready_of(rank, first, end);
        rank->nodes[place].measured = ready == INT64_MIN ? 0 : ready;
    }
    if (made->parent == 0 || made->parent > place || fd_play_is_gpu(made)) {
        return;
    }
    uint32_t around = made->parent - 1;
    const fd_et_node *call = &rank->et->nodes.list[around];
    if (!is_root(call) && !fd_play_communicates(call)
        && call->thread == made->thread
        && fd_play_measured_end(rank, place)
               <= fd_play_measured_end(rank, around)) {
        rank->nodes[around].last = place + 1;
    }
}

void
fd_play_measure(fd_play_rank *rank)
{
    const fd_et *et = rank->et;
    uint32_t edge = 0;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        uint32_t end = fd_play_edges_end(et, i, edge);
        place_node(rank, i, edge, end);
        edge = end;
    }
    int64_t least[] = {least_launch(rank, false), least_launch(rank, true)};
    edge = 0;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_play_node *node = &rank->nodes[i];
        bool gpu = fd_play_is_gpu(&et->nodes.list[i]);
        uint32_t end = fd_play_edges_end(et, i, edge);
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
