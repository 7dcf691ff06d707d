#include "recording/steps/step_rounds.h"

#include <string.h>

enum {
    FIRST_PATIENCE = 2,
    MOST_PATIENCE = 1 << 20,
    MOST_REPEATS = 16,     /* calls of an inner loop in one iteration */
    MOST_FIRST_CALLS = 64, /* new optimizers before each is an iteration */
    MOST_REPLACED = 8,     /* the same, if each has a few calls */
    MOST_SEEN = 1 << 16,
    GROUPS_IN_TURN = 3, /* of the same size are not by chance */
    PAUSED_PART = 8,    /* a pause takes this part of a group at least */
    MEAN_OF = 8,
    MOST_VOTES = 16,
    LEAST_IN_TURN = 8 /* calls with as many passes: usual */
};

void
fd_rounds_clear(fd_rounds *rounds)
{
    fd_map_clear(&rounds->seen);
}

void
fd_rounds_backward(fd_rounds *rounds)
{
    rounds->backward = true;
    rounds->any_backward = true;
    rounds->passes++;
}

static bool
is_in_round(const fd_rounds *rounds, uint64_t optimizer)
{
    return fd_map_get(&rounds->seen, optimizer) == rounds->round;
}

static fd_site_relation
relation_to(const fd_rounds *rounds, uint32_t site)
{
    return site < FD_STEP_SITES && rounds->last_site < FD_STEP_SITES
             ? rounds->relations[rounds->last_site][site]
             : FD_SITES_UNKNOWN;
}

/* Return whether another optimizer is called at another place. */
static bool
has_others(const fd_rounds *rounds, uint64_t optimizer)
{
    for (int i = 0; i < FD_STEP_SITES; i++) {
        if (rounds->callers[i] != 0 && rounds->callers[i] != optimizer) {
            return true;
        }
    }
    return false;
}

/* Return whether a call begins a round whose place has no evidence of that. A
 * new optimizer replaces one that was called several times in a row. Rounds of
 * different optimizers contradict each other. */
static bool
begins_by_optimizer(fd_rounds *rounds, uint64_t optimizer, uint32_t same)
{
    bool replaces = same > 1 && fd_map_get(&rounds->seen, optimizer) == 0;
    bool begins = is_in_round(rounds, optimizer) || replaces;
    rounds->replaced += replaces && same <= MOST_REPEATS;
    rounds->unclear += replaces && rounds->replaced > MOST_REPLACED ? same : 0;
    rounds->joined += !begins;
    rounds->unclear += begins && rounds->ended && rounds->round > 1
                    && rounds->joined != rounds->joined_before;
    return begins;
}

/* Return whether a call in an inner loop begins a round. With many calls, the
 * loop may as well be that of the training. */
static bool
begins_in_loop(fd_rounds *rounds, uint32_t site, uint32_t before)
{
    uint8_t *relation = &rounds->relations[site][site];
    *relation = before < MOST_REPEATS ? *relation : FD_SITES_LONG;
    rounds->unclear += *relation == FD_SITES_LONG;
    return *relation == FD_SITES_LONG;
}

/* Return whether a call after a backward pass begins a round. `before` is the
 * number of calls in a row at the previous place, `same` of its optimizer. */
static bool
is_next_pass(fd_rounds *rounds, uint64_t optimizer, uint32_t site,
             uint32_t before, uint32_t same)
{
    fd_site_relation relation = relation_to(rounds, site);
    switch (relation) {
    case FD_SITES_NEXT:
    case FD_SITES_SAME:
        return relation == FD_SITES_NEXT;
    case FD_SITES_NESTED:
    case FD_SITES_LONG:
        if (has_others(rounds, optimizer)) {
            return begins_in_loop(rounds, site, before);
        }
        break;
    case FD_SITES_UNCLEAR:
        if (before > 1) {
            rounds->unclear++;
            return true;
        }
        break;
    case FD_SITES_INNER:
    case FD_SITES_INDIRECT:
    case FD_SITES_UNKNOWN:
        break;
    }
    bool begins = begins_by_optimizer(rounds, optimizer, same);
    rounds->unclear += !begins && relation == FD_SITES_INDIRECT;
    return begins;
}

/* Return whether a backward pass precedes this call or runs inside it. */
static bool
has_backward(const fd_rounds *rounds, uint32_t site)
{
    return rounds->backward || !rounds->any_backward
        || (site < FD_STEP_SITES && (rounds->evaluating >> site & 1) != 0);
}

static bool
begins_round(fd_rounds *rounds, uint64_t optimizer, uint32_t site)
{
    if (rounds->round == 0) {
        rounds->repeats = 1;
        rounds->same = 1;
        return true;
    }
    if (!has_backward(rounds, site)) {
        return false;
    }
    bool first = fd_map_get(&rounds->seen, optimizer) == 0;
    uint32_t before = rounds->repeats;
    uint32_t same = rounds->same;
    rounds->repeats = site == rounds->last_site ? before + 1 : 1;
    rounds->same = optimizer == rounds->last ? same + 1 : 1;
    rounds->first_calls = first ? rounds->first_calls + 1 : 0;
    if (rounds->first_calls > MOST_FIRST_CALLS /* made for each step */
        && relation_to(rounds, site) != FD_SITES_NEXT) {
        rounds->unclear++;
        return true;
    }
    return is_next_pass(rounds, optimizer, site, before, same);
}

/* At the end of a round, choose the optimizer that ends the next step of this
 * kind. One that was missing is replaced at once, and later more
 * reluctantly. */
static void
choose_closing(fd_round_kind *kind, uint64_t last, bool ended)
{
    if (!ended) {
        kind->closing = last;
        kind->patience = kind->patience < MOST_PATIENCE ? 2 * kind->patience
                                                        : MOST_PATIENCE;
    }
    kind->streak = last == kind->closing   ? 0
                 : last == kind->candidate ? kind->streak + 1
                                           : 1;
    kind->candidate = last;
    if (kind->streak >= kind->patience) {
        kind->closing = last;
        kind->streak = 0;
    }
}

static fd_round_kind *
kind_of(fd_rounds *rounds, uint64_t first)
{
    fd_round_kind *kind = rounds->kinds;
    while (kind < &rounds->kinds[FD_ROUND_KINDS - 1] && kind->first != 0
           && kind->first != first) {
        kind++;
    }
    if (kind->first != first) {
        *kind = (fd_round_kind){
            .first = first, .closing = first, .patience = FIRST_PATIENCE};
    }
    return kind;
}

static void
begin_round(fd_rounds *rounds, uint64_t optimizer)
{
    if (rounds->kind != NULL) {
        rounds->unclear += !rounds->ended;
        choose_closing(rounds->kind, rounds->last, rounds->ended);
    }
    rounds->kind = kind_of(rounds, optimizer);
    rounds->in_previous = rounds->optimizers;
    rounds->joined_before = rounds->joined;
    rounds->joined = 0;
    rounds->optimizers = 0;
    rounds->ended = false;
    rounds->round++;
}

/* Count an iteration without a call of the only optimizer: an update that was
 * skipped, whose backward passes are those of the next one, too. */
static void
count_passes(fd_rounds *rounds, uint64_t optimizer)
{
    uint32_t passes = rounds->passes;
    rounds->passes = 0;
    if (passes == 0 || has_others(rounds, optimizer)) {
        rounds->in_turn = 0;
        return;
    }
    if (rounds->votes == 0) {
        rounds->usual_passes = passes;
    }
    rounds->unclear += passes >= 2 * rounds->usual_passes;
    bool usual = passes == rounds->usual_passes;
    rounds->votes += usual ? rounds->votes < MOST_VOTES : UINT32_MAX;
    rounds->in_turn = usual ? rounds->in_turn + 1 : 0;
}

uint32_t
fd_rounds_usual_passes(const fd_rounds *rounds)
{
    return rounds->in_turn >= LEAST_IN_TURN ? rounds->usual_passes : 0;
}

bool
fd_rounds_called(fd_rounds *rounds, uint64_t optimizer, uint32_t site)
{
    count_passes(rounds, optimizer);
    bool begins = begins_round(rounds, optimizer, site);
    if (begins) {
        begin_round(rounds, optimizer);
    }
    if (!is_in_round(rounds, optimizer)) {
        if (rounds->seen.count > MOST_SEEN) {
            fd_map_clear(&rounds->seen);
        }
        /* Without memory it counts as an optimizer of no round. */
        fd_map_put(&rounds->seen, optimizer, rounds->round);
        rounds->optimizers++;
    }
    rounds->last = optimizer;
    rounds->last_site = site;
    if (site < FD_STEP_SITES) {
        rounds->callers[site] = optimizer;
    }
    rounds->backward = false;
    return begins;
}

bool
fd_rounds_returned(fd_rounds *rounds, uint64_t optimizer)
{
    if (rounds->backward && rounds->last_site < FD_STEP_SITES) {
        rounds->evaluating |= UINT32_C(1) << rounds->last_site;
    }
    rounds->passes = 0; /* those of a closure */
    bool ends = rounds->kind != NULL && optimizer == rounds->kind->closing
             && !rounds->ended;
    rounds->ended |= ends;
    return ends;
}

/* Return whether a call after `ticks` begins another group. A pause within a
 * group is noise of the machine. */
static bool
ends_group(const fd_call_groups *groups, double ticks)
{
    return groups->usual > 0 && ticks > 2 * groups->usual
        && groups->calls >= groups->size
        && ticks - groups->usual
               >= groups->usual * groups->calls / PAUSED_PART;
}

/* Return the size of the group that ends before this call, if several in turn
 * had that size. */
static uint32_t
add_to_group(fd_call_groups *groups, double ticks)
{
    bool ended = ends_group(groups, ticks);
    bool whole = groups->calls == groups->size;
    if (ended) {
        groups->in_turn = whole ? groups->in_turn + 1 : 0;
        groups->size = groups->calls;
        groups->calls = 0;
    }
    else if (whole) {
        groups->in_turn = 0; /* no pause ended it */
        groups->size = 0;
    }
    if (groups->usual == 0) {
        groups->usual = ticks;
    }
    else if (ticks <= 2 * groups->usual) {
        groups->usual += (ticks - groups->usual) / MEAN_OF;
    }
    groups->calls++;
    return ended && groups->in_turn >= GROUPS_IN_TURN && groups->size > 1
             ? groups->size
             : 0;
}

uint32_t
fd_rounds_timed(fd_rounds *rounds, uint64_t tick)
{
    fd_call_groups *groups = &rounds->groups;
    double ticks = (double)(tick - groups->began);
    bool first = groups->began == 0;
    groups->began = tick;
    if (first || relation_to(rounds, rounds->last_site) != FD_SITES_INNER
        || has_others(rounds, rounds->last)) {
        *groups = (fd_call_groups){.began = tick, .calls = 1};
        return 0;
    }
    return add_to_group(groups, ticks);
}

/* Return whether a place of another optimizer turns out to be in an inner
 * loop. */
static bool
becomes_nested(const fd_rounds *rounds, uint64_t optimizer, uint32_t sites,
               const uint8_t *relations)
{
    for (uint32_t i = 0; i + 1 < sites; i++) {
        if (relations[i * sites + i] == FD_SITES_NESTED
            && rounds->relations[i][i] != FD_SITES_NESTED
            && rounds->relations[i][i] != FD_SITES_LONG
            && rounds->callers[i] != optimizer) {
            return true;
        }
    }
    return false;
}

bool
fd_rounds_relate(fd_rounds *rounds, uint64_t optimizer, uint32_t sites,
                 const uint8_t *relations)
{
    bool nested = becomes_nested(rounds, optimizer, sites, relations);
    for (uint32_t i = 0; i < sites; i++) {
        bool was_long = rounds->relations[i][i] == FD_SITES_LONG;
        memcpy(rounds->relations[i], relations + i * sites, sites);
        if (was_long) {
            rounds->relations[i][i] = FD_SITES_LONG;
        }
    }
    if (nested && rounds->kind != NULL) {
        rounds->kind->closing = optimizer;
        rounds->ended = false;
    }
    return nested;
}
