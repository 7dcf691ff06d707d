#include "et/play.h"

#include <string.h>

void
fd_play_clear(fd_play *play)
{
    for (uint32_t r = 0; play->ranks != NULL && r < play->count; r++) {
        fd_free(play->ranks[r].nodes);
        fd_free(play->ranks[r].factors);
    }
    fd_free(play->ranks);
    fd_free(play->meetings);
}

static bool
has(uint32_t kinds, fd_et_edge_kind kind)
{
    return (kinds & 1U << kind) != 0;
}

static bool
is_gpu(const fd_et_node *node)
{
    return (node->flags & FD_ET_GPU) != 0;
}

/* The roots of threads and of the process only enclose: they are no work. */
static int64_t
length_of(const fd_et_node *node)
{
    return (node->flags & (FD_ET_THREAD | FD_ET_PROCESS)) != 0 ? 0
                                                               : node->dur_ns;
}

static int64_t
measured_start(const fd_play_rank *rank, uint32_t place)
{
    return rank->et->nodes.list[place].start_ns + rank->shift;
}

static int64_t
measured_end(const fd_play_rank *rank, uint32_t place)
{
    return measured_start(rank, place)
           + length_of(&rank->et->nodes.list[place]);
}

static bool
is_within(const fd_et *et, uint32_t place, uint32_t around)
{
    uint32_t at = place + 1;
    while (at > around + 1) {
        at = et->nodes.list[at - 1].parent;
    }
    return at == around + 1;
}

/* How long the thread was busy after `from` began, until `to` could: to the end
 * of the outermost call that was over by then. */
static int64_t
busy_until(const fd_play_rank *rank, uint32_t from, uint32_t to)
{
    const fd_et *et = rank->et;
    int64_t start = measured_start(rank, from);
    int64_t limit = measured_start(rank, to);
    int64_t until = start;
    if (is_within(et, to, from)) {
        return limit - start;
    }
    for (uint32_t at = from + 1; at != 0 && !is_within(et, to, at - 1);
         at = et->nodes.list[at - 1].parent) {
        int64_t end = measured_end(rank, at - 1);
        until = end > until ? end : until;
    }
    return (until < limit ? until : limit) - start;
}

/* When `to` could have begun as far as one edge says, with measured times
 * (`played` false) or played ones. INT64_MIN: it does not hold `to` up. */
static int64_t
ready_by(const fd_play_rank *rank, const fd_et_edge *edge, bool played)
{
    const fd_play_node *from = &rank->nodes[edge->from];
    const fd_play_node *to = &rank->nodes[edge->to];
    const fd_et_node *node = &rank->et->nodes.list[edge->to];
    int64_t start = played ? from->start : measured_start(rank, edge->from);
    int64_t end = played ? from->end : measured_end(rank, edge->from);
    if (has(edge->kinds, FD_ET_ORDER)) {
        return to->chain_waits ? INT64_MIN
               : played        ? start + from->busy
                               : start + busy_until(rank, edge->from,
                                                    edge->to);
    }
    if (has(edge->kinds, FD_ET_LAUNCH)) {
        return start + to->launch;
    }
    /* Work that had not ended held nothing up. */
    bool over = measured_end(rank, edge->from)
                <= measured_start(rank, edge->to);
    return over || is_gpu(node) ? end : INT64_MIN;
}

/* A thread that waited for a kernel did nothing else: its pause is not its
 * own. */
static bool
only_waited(const fd_play_rank *rank, uint32_t first, uint32_t end)
{
    const fd_et_edge *edges = rank->et->edges.list;
    int64_t before = INT64_MIN;
    int64_t kernel = INT64_MIN;
    for (uint32_t i = first; i < end; i++) {
        if (has(edges[i].kinds, FD_ET_ORDER)) {
            before = measured_start(rank, edges[i].from);
        }
        if (has(edges[i].kinds, FD_ET_SYNC)) {
            int64_t ended = measured_end(rank, edges[i].from);
            kernel = ended > kernel ? ended : kernel;
        }
    }
    return before != INT64_MIN && kernel > before
           && kernel <= measured_start(rank, edges[first].to);
}

static uint32_t
edges_end(const fd_et *et, uint32_t place, uint32_t edge)
{
    while (edge < et->edges.count && et->edges.list[edge].to == place) {
        edge++;
    }
    return edge;
}

/* The shortest time from a launch to its kernel: what a launch costs when the
 * stream waits for nothing else. */
static int64_t
least_launch(const fd_play_rank *rank)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < rank->et->edges.count; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        int64_t time = measured_start(rank, edge->to)
                       - measured_start(rank, edge->from);
        if (has(edge->kinds, FD_ET_LAUNCH) && time >= 0 && time < least) {
            least = time;
        }
    }
    return least;
}

/* When the stream of a kernel was free. */
static int64_t
free_since(const fd_play_rank *rank, uint32_t first, uint32_t end)
{
    int64_t since = INT64_MIN;
    for (uint32_t i = first; i < end; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        int64_t ended = measured_end(rank, edge->from);
        if (!has(edge->kinds, FD_ET_LAUNCH) && ended > since) {
            since = ended;
        }
    }
    return since;
}

/* What is taken from the measured times once: delays, launches, and how busy
 * threads were. */
static void
measure(fd_play_rank *rank)
{
    const fd_et *et = rank->et;
    int64_t least = least_launch(rank);
    uint32_t edge = 0;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_play_node *node = &rank->nodes[i];
        uint32_t end = edges_end(et, i, edge);
        int64_t start = measured_start(rank, i);
        int64_t ready = INT64_MIN;
        node->chain_waits = only_waited(rank, edge, end);
        for (uint32_t k = edge; k < end; k++) {
            const fd_et_edge *each = &et->edges.list[k];
            int64_t from = measured_start(rank, each->from);
            if (has(each->kinds, FD_ET_ORDER)) {
                rank->nodes[each->from].measured_busy = busy_until(
                    rank, each->from, i);
            }
            if (has(each->kinds, FD_ET_LAUNCH)) {
                bool idle = free_since(rank, edge, end) <= from + least;
                node->launch = idle ? start - from : least;
            }
            int64_t time = ready_by(rank, each, false);
            ready = time > ready ? time : ready;
        }
        node->delay = ready == INT64_MIN || start < ready ? 0 : start - ready;
        edge = end;
    }
}

static fd_status
find_meetings(fd_play *play, const fd_et_ranks *ranks)
{
    play->matches = ranks->matches;
    play->meetings = fd_calloc((size_t)ranks->matches + 1,
                               sizeof *play->meetings);
    if (play->meetings == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t m = 0; m <= ranks->matches; m++) {
        play->meetings[m].measured = INT64_MIN;
    }
    for (uint32_t r = 0; r < play->count; r++) {
        const fd_et_rank *rank = &ranks->ranks.list[r];
        for (uint32_t i = 0; i < rank->calls.count; i++) {
            const fd_et_call *call = &rank->calls.list[i];
            fd_play_meeting *meeting = &play->meetings[call->match];
            int64_t start = measured_start(&play->ranks[r], call->place);
            play->ranks[r].nodes[call->place].match = call->match;
            meeting->wanted++;
            meeting->measured = start > meeting->measured ? start
                                                          : meeting->measured;
        }
    }
    return FD_OK;
}

static void
find_bounds(fd_play *play)
{
    play->measured_begin = INT64_MAX;
    play->measured_end = INT64_MIN;
    for (uint32_t r = 0; r < play->count; r++) {
        const fd_play_rank *rank = &play->ranks[r];
        for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
            if (rank->et->nodes.list[i].start_ns <= 0) {
                continue;
            }
            int64_t start = measured_start(rank, i);
            int64_t end = measured_end(rank, i);
            play->measured_begin = start < play->measured_begin
                                       ? start
                                       : play->measured_begin;
            play->measured_end = end > play->measured_end ? end
                                                          : play->measured_end;
        }
    }
}

fd_status
fd_play_make(fd_play *play, const fd_et *traces, uint32_t count,
             const fd_et_ranks *ranks)
{
    *play = (fd_play){.count = count};
    play->ranks = fd_calloc((size_t)count + 1, sizeof *play->ranks);
    if (play->ranks == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t r = 0; r < count; r++) {
        fd_play_rank *rank = &play->ranks[r];
        size_t nodes = (size_t)traces[r].nodes.count + 1;
        rank->et = &traces[r];
        rank->nodes = fd_calloc(nodes, sizeof *rank->nodes);
        rank->factors = fd_calloc(nodes, sizeof *rank->factors);
        if (rank->nodes == NULL || rank->factors == NULL) {
            return FD_ENOMEM;
        }
        measure(rank);
    }
    find_bounds(play);
    return find_meetings(play, ranks);
}

static double
factor_of(const fd_et *et, const fd_et_node *node, const fd_et_changes *c)
{
    double factor = 1;
    for (size_t i = 0; i < c->scale_count; i++) {
        if (strcmp(fd_et_text(et, node->name), c->scales[i].name) == 0) {
            factor *= c->scales[i].factor;
        }
    }
    return factor;
}

/* An operator's factor is that of all it encloses. */
static void
find_factors(fd_play_rank *rank, const fd_et_changes *changes)
{
    for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
        const fd_et_node *node = &rank->et->nodes.list[i];
        double above = node->parent == 0 || node->parent > i
                           ? 1
                           : rank->factors[node->parent - 1];
        rank->factors[i] = above * factor_of(rank->et, node, changes);
    }
}

static int64_t
scaled(int64_t ns, double factor)
{
    return (int64_t)((double)ns * factor);
}

/* Its begin, from all it waits for. */
static void
begin(fd_play *play, uint32_t r)
{
    fd_play_rank *rank = &play->ranks[r];
    uint32_t place = rank->at;
    fd_play_node *node = &rank->nodes[place];
    uint32_t end = edges_end(rank->et, place, rank->edge);
    int64_t ready = INT64_MIN;
    node->why = (fd_play_place){r, 0};
    for (uint32_t i = rank->edge; i < end; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        int64_t time = ready_by(rank, edge, true);
        if (time > ready) {
            ready = time;
            node->why = (fd_play_place){r, edge->from + 1};
        }
    }
    node->start = ready == INT64_MIN ? measured_start(rank, place)
                                     : ready + node->delay;
}

/* Its end, and how long its thread is busy with it: own time is scaled, the
 * rest is as it was. */
static void
finish(fd_play *play, uint32_t r, uint32_t place, int64_t length)
{
    fd_play_rank *rank = &play->ranks[r];
    fd_play_node *node = &rank->nodes[place];
    const fd_et_node *made = &rank->et->nodes.list[place];
    int64_t saved = made->self_ns - scaled(made->self_ns, rank->factors[place]);
    node->end = node->start + length;
    if (!is_gpu(made)) {
        int64_t more = length - length_of(made) - saved;
        node->busy = node->measured_busy + more;
        node->busy = node->busy > 0 ? node->busy : 0;
        node->end -= saved < length ? saved : length;
    }
    if (node->end > play->end && (made->flags & FD_ET_GUESSED) == 0) {
        play->end = node->end;
        play->last = (fd_play_place){r, place + 1};
    }
}

/* What is sent takes the time from when the last rank came. */
static int64_t
transfer(const fd_play *play, uint32_t r, uint32_t place,
         const fd_et_changes *c)
{
    const fd_play_rank *rank = &play->ranks[r];
    uint32_t match = rank->nodes[place].match;
    int64_t from = match == 0 ? measured_start(rank, place)
                              : play->meetings[match].measured;
    int64_t time = measured_end(rank, place) - from;
    return scaled(time > 0 ? time : 0, 1 / c->bandwidth) + c->latency_ns;
}

static bool
communicates(const fd_et_node *node)
{
    return node->type >= FD_ET_SEND && node->comm != 0;
}

/* Play a rank as far as it can go; false when it waits for others. */
static bool
advance(fd_play *play, uint32_t r, const fd_et_changes *c)
{
    fd_play_rank *rank = &play->ranks[r];
    while (rank->at < rank->et->nodes.count) {
        uint32_t place = rank->at;
        fd_play_node *node = &rank->nodes[place];
        const fd_et_node *made = &rank->et->nodes.list[place];
        fd_play_meeting *meeting = &play->meetings[node->match];
        bool met = node->match != 0 && meeting->there == meeting->wanted;
        if (!met) {
            begin(play, r);
        }
        if (node->match != 0 && !met) {
            if (rank->waits) {
                return false;
            }
            meeting->there++;
            if (node->start > meeting->played || meeting->last.place == 0) {
                meeting->played = node->start;
                meeting->last = (fd_play_place){r, place + 1};
            }
            if (meeting->there < meeting->wanted) {
                rank->waits = true;
                return false;
            }
        }
        int64_t length = is_gpu(made)
                             ? scaled(length_of(made), rank->factors[place])
                             : length_of(made);
        if (communicates(made)) {
            int64_t wait = node->match == 0 ? 0 : meeting->played - node->start;
            length = wait + transfer(play, r, place, c);
            length = length > 0 ? length : 0;
        }
        finish(play, r, place, length);
        if (node->match != 0 && meeting->last.rank != r
            && meeting->played > node->start) {
            /* Held up by another rank: the path goes on there. */
            node->why = meeting->last;
            node->start = meeting->played;
            node->delay = 0;
        }
        rank->waits = false;
        rank->edge = edges_end(rank->et, place, rank->edge);
        rank->at++;
    }
    return true;
}

static void
restart(fd_play *play, const fd_et_changes *changes)
{
    play->end = INT64_MIN;
    play->last = (fd_play_place){0, 0};
    for (uint32_t r = 0; r < play->count; r++) {
        play->ranks[r].at = play->ranks[r].edge = 0;
        play->ranks[r].waits = false;
        find_factors(&play->ranks[r], changes);
    }
    for (uint32_t m = 0; m <= play->matches; m++) {
        play->meetings[m].there = 0;
        play->meetings[m].last = (fd_play_place){0, 0};
    }
}

void
fd_play_run(fd_play *play, const fd_et_changes *changes)
{
    restart(play, changes);
    for (;;) {
        uint64_t before = 0;
        uint64_t after = 0;
        uint32_t stuck = play->count;
        for (uint32_t r = 0; r < play->count; r++) {
            before += play->ranks[r].at;
            stuck = advance(play, r, changes) ? stuck : r;
            after += play->ranks[r].at;
        }
        if (stuck == play->count) {
            return;
        }
        if (before == after) {
            /* Ranks wait for each other in a circle: one goes on alone. */
            fd_play_rank *rank = &play->ranks[stuck];
            fd_play_meeting *meeting =
                &play->meetings[rank->nodes[rank->at].match];
            meeting->wanted--;
            meeting->there--;
            rank->nodes[rank->at].match = 0;
            rank->waits = false;
            play->broken++;
        }
    }
}
