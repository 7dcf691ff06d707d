#include "clocks/clock_collectives.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMBER = UINT32_MAX };
enum {
    ROUNDS = 8, /* rounds of refinement; it converges after three or four */
    NEAR = 3,   /* index of the first delay off an edge: two points define the
                 * edge */
    FAR_DEVIATIONS = 12,
    FAR_NS = 1000,
    MARGIN_NS = 2,    /* margin for rounding */
    MOST_VIOLATED = 5 /* reject a match with more than one violation in 5 */
};

/* Factor of the standard error of a median: 1.25 sigma / sqrt(n), sigma 1.48
 * deviations. */
static const double MEDIAN_ERROR = 1.858;

/* The parts of a collective on a member and on its parent. */
typedef struct pair {
    uint32_t own;   /* index of a part */
    uint32_t other; /* index of a part */
    uint32_t group;
    fd_clock_point point; /* own end; how much later it is on the parent's
                           * clock */
} pair;

/* A member during the fit. Times are relative to the `origin` of their
 * member. */
typedef struct node {
    uint32_t parent;
    uint32_t candidate;
    uint32_t common; /* number of collectives shared with the candidate */
    int64_t origin;
    bool placed;
    fd_clock_line to_parent;    /* median line, to add to own times */
    fd_clock_line to_reference; /* line to add to own times */
    double scatter;             /* standard error of the median */
    double error;
    double weight; /* weight of the median among the estimates */
    double uncertainty;
    double moved; /* ns that the clock was moved to satisfy causality */
    pair *pairs;  /* owned; sorted by own end */
    size_t pair_count;
    bool sloped;
} node;

typedef struct fitting {
    fd_clock_part *parts;
    uint32_t part_count;
    node *nodes; /* owned */
    uint32_t count;
    uint32_t reference;
    /* index of the first part of each group; then the end */
    FD_VECTOR(uint32_t) groups;
    FD_VECTOR(uint32_t) order; /* members, parents first */
    double *last;              /* owned; last start of each group */
    double *first;             /* owned; first end of each group */
    double least_weight;       /* weight of the minimum delays */
    double most_weight;        /* weight of the maximum delays */
    double *numbers;           /* owned; temporary */
    fd_clock_point *points;    /* owned; temporary */
} fitting;

FD_ORDER_BY(by_collective, fd_clock_part, kind, order, member)

FD_ORDER_BY(by_end, pair, point.at)

static double
on_line(const fd_clock_line *line, double at)
{
    return line->value + line->slope * at;
}

/* Convert a time to the clock of the reference, relative to its origin. */
static double
time_of(const fitting *f, const fd_clock_part *part, int64_t time)
{
    const node *n = &f->nodes[part->member];
    double at = fd_clock_between(time, n->origin);
    return at + on_line(&n->to_reference, at);
}

static fd_status
group_parts(fitting *f)
{
    qsort(f->parts, f->part_count, sizeof *f->parts, by_collective);
    for (uint32_t i = 0; i < f->part_count; i++) {
        const fd_clock_part *a = &f->parts[i];
        const fd_clock_part *b = i > 0 ? a - 1 : a;
        f->nodes[a->member].origin = a->end;
        if (i == 0 || a->kind != b->kind || a->order != b->order) {
            fd_status status = fd_vector_push(&f->groups, i);
            if (status != FD_OK) {
                return status;
            }
        }
    }
    return fd_vector_push(&f->groups, f->part_count);
}

/* Return the part of a member in a group, or NULL. */
static const fd_clock_part *
part_of(const fitting *f, uint32_t group, uint32_t member)
{
    uint32_t low = f->groups.list[group];
    uint32_t high = f->groups.list[group + 1];
    FD_BISECT(low, high, f->parts[middle].member < member);
    const fd_clock_part *part = &f->parts[low];
    return low < f->groups.list[group + 1] && part->member == member ? part
                                                                     : NULL;
}

/* Count the collectives that each unplaced member shares with the first placed
 * member of its groups. Collectives without numbers are matched by their
 * position within their kind, if both members recorded equally many. */
static void
find_candidates(fitting *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        f->nodes[i].candidate = NO_MEMBER;
        f->nodes[i].common = 0;
    }
    for (uint32_t g = 0; g + 1 < f->groups.count; g++) {
        const fd_clock_part *placed = NULL;
        for (uint32_t i = f->groups.list[g]; i < f->groups.list[g + 1]; i++) {
            const fd_clock_part *part = &f->parts[i];
            if (placed == NULL && f->nodes[part->member].placed) {
                placed = part;
            }
        }
        for (uint32_t i = f->groups.list[g];
             placed != NULL && i < f->groups.list[g + 1]; i++) {
            node *n = &f->nodes[f->parts[i].member];
            if (!n->placed && f->parts[i].total == placed->total) {
                n->candidate =
                    n->candidate == NO_MEMBER ? placed->member : n->candidate;
                n->common += n->candidate == placed->member;
            }
        }
    }
}

static fd_status
find_pairs(fitting *f, uint32_t member)
{
    node *n = &f->nodes[member];
    n->pairs = fd_calloc(n->common, sizeof *n->pairs);
    if (n->pairs == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t g = 0; g + 1 < f->groups.count; g++) {
        const fd_clock_part *own = part_of(f, g, member);
        const fd_clock_part *other =
            own != NULL ? part_of(f, g, n->candidate) : NULL;
        if (other != NULL && own->total == other->total
            && n->pair_count < n->common) {
            double at = fd_clock_between(own->end, n->origin);
            double there =
                fd_clock_between(other->end, f->nodes[n->candidate].origin);
            n->pairs[n->pair_count++] = (pair){(uint32_t)(own - f->parts),
                                               (uint32_t)(other - f->parts),
                                               g,
                                               {at, there - at}};
        }
    }
    return FD_OK;
}

/* Return the median line through pairs, and its standard error. */
static fd_clock_line
fit_pairs(fitting *f, const pair *pairs, size_t count, double *deviation,
          double *error)
{
    for (size_t i = 0; i < count; i++) {
        f->points[i] = pairs[i].point;
    }
    bool sloped =
        pairs[count - 1].point.at - pairs[0].point.at >= FD_CLOCK_SPAN_NS;
    fd_clock_line line =
        fd_clock_median_line(f->points, count, sloped, f->numbers);
    for (size_t i = 0; i < count; i++) {
        f->numbers[i] =
            fabs(f->points[i].value - on_line(&line, f->points[i].at));
    }
    *deviation = fd_clock_median(f->numbers, count);
    *error = MEDIAN_ERROR * *deviation / sqrt((double)count);
    return line;
}

/* Find the line of the kind that fits best. Different collectives that cannot
 * be distinguished, because the name of their group is unknown, scatter
 * more. */
static bool
best_kind(fitting *f, const node *n, fd_clock_line *line, double *deviation)
{
    double least = INFINITY;
    for (size_t i = 0, next; i < n->pair_count; i = next) {
        uint64_t kind = f->parts[n->pairs[i].own].kind;
        double spread;
        double error;
        for (next = i;
             next < n->pair_count && f->parts[n->pairs[next].own].kind == kind;
             next++) {
        }
        if (next - i >= FD_CLOCK_LEAST_COLLECTIVES) {
            fd_clock_line found =
                fit_pairs(f, n->pairs + i, next - i, &spread, &error);
            if (error < least) {
                least = error;
                *line = found;
                *deviation = spread;
            }
        }
    }
    return least < INFINITY;
}

static void
drop_far_pairs(node *n, const fd_clock_line *line, double deviation)
{
    double far = FAR_DEVIATIONS * deviation + FAR_NS;
    size_t kept = 0;
    for (size_t i = 0; i < n->pair_count; i++) {
        fd_clock_point point = n->pairs[i].point;
        if (fabs(point.value - on_line(line, point.at)) <= far) {
            n->pairs[kept++] = n->pairs[i];
        }
    }
    n->pair_count = kept;
    qsort(n->pairs, kept, sizeof *n->pairs, by_end);
}

/* Return whether in too many pairs one member ended before the other began. */
static bool
is_absurd(const fitting *f, const node *n)
{
    const node *parent = &f->nodes[n->parent];
    size_t violated = 0;
    for (size_t i = 0; i < n->pair_count; i++) {
        const fd_clock_part *own = &f->parts[n->pairs[i].own];
        const fd_clock_part *other = &f->parts[n->pairs[i].other];
        double end = n->pairs[i].point.at;
        double begin = fd_clock_between(own->begin, n->origin);
        end += on_line(&n->to_parent, end);
        begin += on_line(&n->to_parent, begin);
        double least = fd_clock_between(other->begin, parent->origin);
        double most = fd_clock_between(other->end, parent->origin);
        violated += end + n->scatter < least || most + n->scatter < begin;
    }
    return violated * MOST_VIOLATED > n->pair_count;
}

static void
to_reference_by_parent(fitting *f, node *n)
{
    const node *parent = &f->nodes[n->parent];
    const fd_clock_line *own = &n->to_parent;
    const fd_clock_line *next = &parent->to_reference;
    n->to_reference =
        (fd_clock_line){own->value + on_line(next, own->value),
                        own->slope + next->slope * (1 + own->slope)};
}

/* Make the first estimate of a member; return false if it has too few
 * collectives in common with its parent. */
static bool
place_member(fitting *f, uint32_t member)
{
    node *n = &f->nodes[member];
    fd_clock_line line = {0, 0};
    double deviation = 0;
    if (!best_kind(f, n, &line, &deviation)) {
        return false;
    }
    drop_far_pairs(n, &line, deviation);
    if (n->pair_count < FD_CLOCK_LEAST_COLLECTIVES) {
        return false;
    }
    n->parent = n->candidate;
    n->sloped = n->pairs[n->pair_count - 1].point.at - n->pairs[0].point.at
             >= FD_CLOCK_SPAN_NS;
    n->to_parent =
        fit_pairs(f, n->pairs, n->pair_count, &deviation, &n->scatter);
    to_reference_by_parent(f, n);
    return !is_absurd(f, n);
}

static fd_status
place_more(fitting *f, bool *any)
{
    uint32_t before = f->order.count;
    find_candidates(f);
    for (uint32_t i = 0; i < f->count; i++) {
        node *n = &f->nodes[i];
        if (n->placed || n->common < FD_CLOCK_LEAST_COLLECTIVES) {
            continue;
        }
        fd_status status = find_pairs(f, i);
        if (status == FD_OK && place_member(f, i)) {
            status = fd_vector_push(&f->order, i);
        }
        else {
            fd_free(n->pairs);
            n->pairs = NULL;
            n->pair_count = 0;
        }
        if (status != FD_OK) {
            return status;
        }
    }
    for (uint32_t i = before; i < f->order.count; i++) {
        f->nodes[f->order.list[i]].placed = true;
    }
    *any = f->order.count > before;
    return FD_OK;
}

/* Find the last start and the first end of each collective, by the current
 * estimates. */
static void
find_extremes(fitting *f)
{
    for (uint32_t g = 0; g + 1 < f->groups.count; g++) {
        f->last[g] = -INFINITY;
        f->first[g] = INFINITY;
        for (uint32_t i = f->groups.list[g]; i < f->groups.list[g + 1]; i++) {
            const fd_clock_part *part = &f->parts[i];
            if (part->joined) {
                f->last[g] = fmax(f->last[g], time_of(f, part, part->begin));
                f->first[g] = fmin(f->first[g], time_of(f, part, part->end));
            }
        }
    }
}

/* Return the line of the minimum delays after the last start (side 1), or of
 * the maximum delays (side -1), over own time. */
static fd_clock_line
edge_line(fitting *f, const node *n, bool parents, double side)
{
    for (size_t i = 0; i < n->pair_count; i++) {
        const pair *p = &n->pairs[i];
        const fd_clock_part *part = &f->parts[parents ? p->other : p->own];
        f->numbers[i] =
            side * (time_of(f, part, part->end) - f->last[p->group]);
        f->points[i] = (fd_clock_point){p->point.at, f->numbers[i]};
    }
    fd_clock_line line =
        fd_clock_lower_line(f->points, n->pair_count, n->sloped);
    return (fd_clock_line){side * line.value, side * line.slope};
}

/* Return the error of an edge: about the distance of the next delay from
 * it. */
static double
edge_error(fitting *f, const node *n, bool parents, double side)
{
    size_t count = n->pair_count;
    fd_clock_line line = edge_line(f, n, parents, side);
    for (size_t i = 0; i < count; i++) {
        f->numbers[i] -= side * on_line(&line, n->pairs[i].point.at);
    }
    fd_clock_median(f->numbers, count); /* sorts the numbers */
    return f->numbers[count > NEAR ? NEAR : count - 1];
}

/* Set the weight of each estimate to the inverse of its variance. Delays have
 * the same distribution on all members, so the largest error of an edge
 * applies to all. As long as clocks differ by the scatter of the medians,
 * edges appear less sharp than they are; `medians` is true in later rounds
 * only. */
static void
weigh_estimates(fitting *f, bool medians)
{
    double least = 0;
    double most = 0;
    for (uint32_t i = 1; i < f->order.count; i++) {
        const node *n = &f->nodes[f->order.list[i]];
        for (int parents = 0; parents < 2; parents++) {
            least = fmax(least, edge_error(f, n, parents != 0, 1));
            most = fmax(most, edge_error(f, n, parents != 0, -1));
        }
    }
    f->least_weight = 1 / (least * least + 1);
    f->most_weight = 1 / (most * most + 1);
    for (uint32_t i = 1; i < f->order.count; i++) {
        node *n = &f->nodes[f->order.list[i]];
        n->weight = medians ? 1 / (n->scatter * n->scatter + 1) : 0;
        n->error = 1 / sqrt(f->least_weight + f->most_weight + n->weight);
    }
}

static void
add_difference(fd_clock_line *to, double weight, fd_clock_line a,
               fd_clock_line b)
{
    to->value += weight * (a.value - b.value);
    to->slope += weight * (a.slope - b.slope);
}

/* Align the delays of a member with those of its parent by their minimum,
 * maximum and median, with their weights. */
static void
level_member(fitting *f, node *n)
{
    const fd_clock_line now = n->to_reference;
    fd_clock_line move = {0, 0};
    double all = f->least_weight + f->most_weight + n->weight;
    add_difference(&move, f->least_weight / all, edge_line(f, n, true, 1),
                   edge_line(f, n, false, 1));
    add_difference(&move, f->most_weight / all, edge_line(f, n, true, -1),
                   edge_line(f, n, false, -1));
    to_reference_by_parent(f, n);
    add_difference(&move, n->weight / all, n->to_reference, now);
    n->to_reference =
        (fd_clock_line){now.value + move.value, now.slope + move.slope};
}

/* Mark the parts of matched collectives. */
static void
join_parts(fitting *f)
{
    for (uint32_t i = 0; i < f->part_count; i++) {
        f->parts[i].joined = false;
    }
    for (uint32_t i = 1; i < f->order.count; i++) {
        const node *n = &f->nodes[f->order.list[i]];
        for (size_t k = 0; k < n->pair_count; k++) {
            f->parts[n->pairs[k].own].joined = true;
            f->parts[n->pairs[k].other].joined = true;
        }
    }
}

/* Move a clock by the minimum after which no collective ends before it has
 * begun on another member, if such a move exists. */
static void
obey_causes(fitting *f, node *n)
{
    double least = -INFINITY;
    double most = INFINITY;
    for (size_t i = 0; i < n->pair_count; i++) {
        const fd_clock_part *own = &f->parts[n->pairs[i].own];
        double begin = time_of(f, own, own->begin);
        double end = time_of(f, own, own->end);
        uint32_t group = n->pairs[i].group;
        if (f->last[group] > begin) {
            least = fmax(least, f->last[group] - end);
        }
        if (f->first[group] < end) {
            most = fmin(most, f->first[group] - begin);
        }
    }
    double move = fmin(fmax(least + MARGIN_NS, 0), most - MARGIN_NS);
    if (least + MARGIN_NS <= most - MARGIN_NS) {
        n->to_reference.value += move;
        n->moved += fabs(move);
    }
}

static void
refine_fit(fitting *f)
{
    join_parts(f);
    find_extremes(f);
    for (int round = 0; round < ROUNDS && f->order.count > 1; round++) {
        weigh_estimates(f, round >= ROUNDS / 2);
        for (uint32_t i = 1; i < f->order.count; i++) {
            level_member(f, &f->nodes[f->order.list[i]]);
        }
        find_extremes(f);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 1; i < f->order.count; i++) {
            obey_causes(f, &f->nodes[f->order.list[i]]);
        }
        find_extremes(f);
    }
}

/* Count matched collectives that end before their last start. */
static uint64_t
count_violations(const fitting *f, const node *n)
{
    uint64_t found = 0;
    for (size_t i = 0; i < n->pair_count; i++) {
        const fd_clock_part *own = &f->parts[n->pairs[i].own];
        found += time_of(f, own, own->end) < f->last[n->pairs[i].group];
    }
    return found;
}

/* Convert the result to integer nanoseconds, at the middle of the member's
 * time. */
static void
conclude_member(fitting *f, uint32_t member, fd_clock_member *to)
{
    node *n = &f->nodes[member];
    const node *reference = &f->nodes[f->reference];
    const node *parent = &f->nodes[n->parent];
    fd_clock_line least = edge_line(f, n, false, 1);
    double middle =
        (n->pairs[0].point.at + n->pairs[n->pair_count - 1].point.at) / 2;
    int64_t at = n->origin + fd_clock_round(middle);
    __int128 offset = (__int128)reference->origin - n->origin
                    + fd_clock_round(on_line(&n->to_reference, middle));
    n->uncertainty = parent->uncertainty + 2 * n->error + n->moved
                   + fmax(on_line(&least, middle), 0);
    to->found = offset >= INT64_MIN && offset <= INT64_MAX;
    to->fit.map = (fd_clock_map){at, (int64_t)offset,
                                 fd_clock_round(n->to_reference.slope * 1e12)};
    to->fit.uncertainty_ns = fd_clock_round(ceil(n->uncertainty));
    to->used = n->pair_count;
    to->violations = count_violations(f, n);
}

static fd_status
fit_members(fitting *f, fd_clock_member *members)
{
    bool any = true;
    fd_status status = group_parts(f);
    f->last = fd_calloc(f->groups.count + 1, sizeof *f->last);
    f->first = fd_calloc(f->groups.count + 1, sizeof *f->first);
    f->numbers = fd_calloc(f->part_count + 1, sizeof *f->numbers);
    f->points = fd_calloc(f->part_count + 1, sizeof *f->points);
    if (f->last == NULL || f->first == NULL || f->numbers == NULL
        || f->points == NULL) {
        return FD_ENOMEM;
    }
    f->nodes[f->reference].placed = true;
    fd_then(status, fd_vector_push(&f->order, f->reference));
    while (status == FD_OK && any) {
        status = place_more(f, &any);
    }
    if (status == FD_OK) {
        refine_fit(f);
        members[f->reference].found = true;
        for (uint32_t i = 1; i < f->order.count; i++) {
            conclude_member(f, f->order.list[i], &members[f->order.list[i]]);
        }
    }
    return status;
}

fd_status
fd_clock_fit_collectives(fd_clock_part *parts, size_t part_count,
                         uint32_t reference, fd_clock_member *members,
                         uint32_t count)
{
    fitting f = {.parts = parts,
                 .part_count = (uint32_t)part_count,
                 .count = count,
                 .reference = reference,
                 .nodes = fd_calloc(count, sizeof *f.nodes)};
    memset(members, 0, count * sizeof *members);
    fd_status status = f.nodes != NULL ? fit_members(&f, members) : FD_ENOMEM;
    for (uint32_t i = 0; f.nodes != NULL && i < count; i++) {
        fd_free(f.nodes[i].pairs);
    }
    fd_vector_clear(&f.groups);
    fd_vector_clear(&f.order);
    fd_free(f.nodes);
    fd_free(f.last);
    fd_free(f.first);
    fd_free(f.numbers);
    fd_free(f.points);
    return status;
}
