#include "et/tools/et_simulator.h"

#include "et/et_names.h"
#include "et/tools/et_ready.h"

#include <string.h>

void
fd_play_clear(fd_play *play)
{
    for (uint32_t r = 0; play->ranks != NULL && r < play->count; r++) {
        fd_free(play->ranks[r].nodes);
        fd_free(play->ranks[r].factors);
    }
    fd_free(play->ranks);
    fd_free(play->comers);
    fd_free(play->first);
}

/* Calls of a match side by side. */
static fd_status
find_meetings(fd_play *play, const fd_et_ranks *ranks)
{
    size_t calls = 0;
    play->matches = ranks->matches;
    play->first = fd_calloc((size_t)ranks->matches + 3, sizeof *play->first);
    for (uint32_t r = 0; r < play->count; r++) {
        calls += ranks->ranks.list[r].calls.count;
    }
    play->comers = fd_calloc(calls + 1, sizeof *play->comers);
    if (play->first == NULL || play->comers == NULL) {
        return FD_ENOMEM;
    }
    /* Counted two places further on, so that filling leaves the begins. */
    for (uint32_t r = 0; r < play->count; r++) {
        const fd_et_rank *rank = &ranks->ranks.list[r];
        for (uint32_t i = 0; i < rank->calls.count; i++) {
            play->first[rank->calls.list[i].match + 2]++;
        }
    }
    for (uint32_t m = 2; m < ranks->matches + 3; m++) {
        play->first[m] += play->first[m - 1];
    }
    for (uint32_t r = 0; r < play->count; r++) {
        const fd_et_rank *rank = &ranks->ranks.list[r];
        for (uint32_t i = 0; i < rank->calls.count; i++) {
            const fd_et_call *call = &rank->calls.list[i];
            play->ranks[r].nodes[call->place].match = call->match;
            play->comers[play->first[call->match + 1]++].node =
                (fd_play_place){r, call->place + 1};
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
            int64_t start = rank->nodes[i].measured;
            int64_t end = fd_play_measured_end(rank, i);
            play->measured_begin =
                start < play->measured_begin ? start : play->measured_begin;
            play->measured_end =
                end > play->measured_end ? end : play->measured_end;
        }
    }
    if (play->measured_begin == INT64_MAX) {
        play->measured_begin = play->measured_end = 0; /* nothing began */
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
        fd_play_measure(rank);
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

/* Of the call around a node. */
static double
factor_around(const fd_play_rank *rank, uint32_t place)
{
    uint32_t parent = rank->et->nodes.list[place].parent;
    return parent == 0 || parent > place ? 1 : rank->factors[parent - 1];
}

/* An operator's factor is that of all it encloses. */
static void
find_factors(fd_play_rank *rank, const fd_et_changes *changes)
{
    for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
        rank->factors[i] =
            factor_around(rank, i)
            * factor_of(rank->et, &rank->et->nodes.list[i], changes);
    }
}

/* Its begin, from all it waits for: on a thread own time of the call around it
 * passes before. */
static void
begin(fd_play *play, uint32_t r)
{
    fd_play_rank *rank = &play->ranks[r];
    uint32_t place = rank->at;
    fd_play_node *node = &rank->nodes[place];
    uint32_t end = fd_play_edges_end(rank->et, place, rank->edge);
    int64_t ready = INT64_MIN;
    node->why = (fd_play_place){r, 0};
    for (uint32_t i = rank->edge; i < end; i++) {
        const fd_et_edge *edge = &rank->et->edges.list[i];
        uint32_t who;
        int64_t time = fd_play_ready_by(rank, edge, true, &who);
        if (time > ready) {
            ready = time;
            node->why = (fd_play_place){r, who + 1};
        }
    }
    node->ready = ready == INT64_MIN ? node->measured : ready;
    node->start = node->ready;
    if (ready != INT64_MIN) {
        bool gpu = fd_play_is_gpu(&rank->et->nodes.list[place]);
        node->start = fd_plus(
            node->start,
            gpu ? node->delay
                : fd_play_scaled(node->delay, factor_around(rank, place)));
    }
    node->begun = node->start;
    node->held = (fd_play_place){r, 0};
}

static int64_t
number_of(const fd_play *play, fd_play_place at)
{
    return play->ranks[at.rank].et->rank;
}

/* Who of a meeting waits for whom: not one that left before the other came;
 * and of what has a root, as far as it is known, those that get data for those
 * that give it. */
static bool
waits_for(const fd_play *play, fd_play_place one, fd_play_place other)
{
    const fd_play_rank *rank = &play->ranks[one.rank];
    const fd_et_node *node = &rank->et->nodes.list[one.place - 1];
    const fd_et_comm *comm = fd_et_comm_of(rank->et, node);
    uint32_t match = rank->nodes[one.place - 1].match;
    if (fd_play_measured_end(rank, one.place - 1)
        < play->ranks[other.rank].nodes[other.place - 1].measured) {
        return false;
    }
    /* Roots are numbers in the group: of all ranks where all are in it. */
    if (node->type != FD_ET_COLL || comm->src < 0
        || play->first[match + 1] - play->first[match] != play->count) {
        return true;
    }
    switch (comm->type) {
    case FD_ET_BROADCAST:
    case FD_ET_SCATTER:
        return number_of(play, other) == comm->src;
    case FD_ET_REDUCE:
    case FD_ET_GATHER:
        return number_of(play, one) == comm->src;
    default:
        return true;
    }
}

/* Whether all are there that a node waits for: then `begun` is when the last
 * came, and *measured when that was. */
static bool
all_came(fd_play *play, uint32_t r, uint32_t place, int64_t *measured)
{
    fd_play_node *node = &play->ranks[r].nodes[place];
    fd_play_place me = {r, place + 1};
    *measured = node->measured;
    node->begun = node->start;
    node->held = (fd_play_place){r, 0};
    if (node->match == 0 || node->alone) {
        return true;
    }
    for (uint32_t i = play->first[node->match];
         i < play->first[node->match + 1]; i++) {
        const fd_play_comer *comer = &play->comers[i];
        const fd_play_node *other =
            &play->ranks[comer->node.rank].nodes[comer->node.place - 1];
        if (other == node || !waits_for(play, me, comer->node)) {
            continue;
        }
        if (!comer->there) {
            return false;
        }
        *measured = other->measured > *measured ? other->measured : *measured;
        if (other->start > node->begun) {
            node->begun = other->start;
            node->held = comer->node;
        }
    }
    return true;
}

static void
come(fd_play *play, uint32_t r, uint32_t place)
{
    uint32_t match = play->ranks[r].nodes[place].match;
    for (uint32_t i = play->first[match]; i < play->first[match + 1]; i++) {
        fd_play_comer *comer = &play->comers[i];
        if (comer->node.rank == r && comer->node.place == place + 1) {
            comer->there = true;
        }
    }
}

/* What a node takes from `begun` on: sending what it measured from when the
 * last had come. */
static int64_t
length_of(const fd_play_rank *rank, uint32_t place, int64_t came,
          const fd_et_changes *c)
{
    const fd_et_node *made = &rank->et->nodes.list[place];
    double factor = rank->factors[place];
    if (!fd_play_communicates(made)) {
        int64_t length = fd_minus(fd_play_measured_end(rank, place),
                                  rank->nodes[place].measured);
        return fd_play_scaled(length, factor);
    }
    int64_t sent = fd_minus(fd_play_measured_end(rank, place), came);
    int64_t time =
        fd_plus(fd_play_scaled(sent, factor / c->bandwidth), c->latency_ns);
    return time > 0 ? time : 0;
}

/* Play a rank as far as it can go; false when it waits for others. */
static bool
advance(fd_play *play, uint32_t r, const fd_et_changes *c)
{
    fd_play_rank *rank = &play->ranks[r];
    while (rank->at < rank->et->nodes.count) {
        uint32_t place = rank->at;
        fd_play_node *node = &rank->nodes[place];
        int64_t came;
        if (!rank->waits) {
            begin(play, r);
            if (node->match != 0) {
                come(play, r, place);
            }
        }
        rank->waits = !all_came(play, r, place, &came);
        if (rank->waits) {
            return false;
        }
        node->end = fd_plus(node->begun, length_of(rank, place, came, c));
        rank->edge = fd_play_edges_end(rank->et, place, rank->edge);
        rank->at++;
    }
    return true;
}

static void
restart(fd_play *play, const fd_et_changes *changes)
{
    for (uint32_t r = 0; r < play->count; r++) {
        play->ranks[r].at = play->ranks[r].edge = 0;
        play->ranks[r].waits = false;
        find_factors(&play->ranks[r], changes);
    }
    for (uint32_t i = 0; i < play->first[play->matches + 1]; i++) {
        play->comers[i].there = false;
    }
}

/* The last that ends; of those that end together the innermost. */
static void
find_end(fd_play *play)
{
    play->end = INT64_MIN;
    play->last = (fd_play_place){0, 0};
    for (uint32_t r = 0; r < play->count; r++) {
        const fd_play_rank *rank = &play->ranks[r];
        for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
            /* Roots of threads stay where they were. */
            uint8_t flags = rank->et->nodes.list[i].flags;
            bool works =
                (flags & (FD_ET_GUESSED | FD_ET_THREAD | FD_ET_PROCESS)) == 0;
            int64_t end = works ? fd_play_end(rank, i) : INT64_MIN;
            if (end > INT64_MIN && end >= play->end) {
                play->end = end;
                play->last = (fd_play_place){r, i + 1};
            }
        }
    }
    if (play->last.place == 0) {
        play->end = play->measured_begin; /* nothing that works */
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
            break;
        }
        if (before == after) {
            /* Ranks wait for each other in a circle: one goes on alone. */
            fd_play_rank *rank = &play->ranks[stuck];
            rank->nodes[rank->at].alone = true;
            play->broken++;
        }
    }
    find_end(play);
}
