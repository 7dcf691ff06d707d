#include "et/tools/et_simulator.h"

#include "et/et_names.h"

#include <string.h>

static void
clear_jobs(fd_et_simulation *s)
{
    fd_sim_clear(&s->jobs);
    fd_vector_clear(&s->lags);
    fd_vector_clear(&s->sources);
    fd_free(s->durations);
    s->durations = NULL;
}

void
fd_et_sim_clear(fd_et_simulation *s)
{
    for (uint32_t r = 0; s->ranks != NULL && r < s->count; r++) {
        fd_free(s->ranks[r].nodes);
        fd_free(s->ranks[r].factors);
    }
    fd_free(s->ranks);
    fd_free(s->members);
    fd_free(s->gathers);
    fd_free(s->first);
    clear_jobs(s);
}

/* Sort the calls of all ranks by match. */
static fd_status
find_members(fd_et_simulation *s, const fd_et_ranks *ranks)
{
    size_t calls = 0;
    s->matches = ranks->matches;
    s->first = fd_calloc((size_t)ranks->matches + 3, sizeof *s->first);
    for (uint32_t r = 0; r < s->count; r++) {
        calls += ranks->ranks.list[r].calls.count;
    }
    s->members = fd_calloc(calls + 1, sizeof *s->members);
    s->gathers = fd_calloc((size_t)ranks->matches + 1, sizeof *s->gathers);
    if (s->first == NULL || s->members == NULL || s->gathers == NULL) {
        return FD_ENOMEM;
    }
    /* Counts are stored two entries further on, so that after filling,
     * first[m] is the first member. */
    for (uint32_t r = 0; r < s->count; r++) {
        const fd_et_rank *rank = &ranks->ranks.list[r];
        for (uint32_t i = 0; i < rank->calls.count; i++) {
            s->first[rank->calls.list[i].match + 2]++;
        }
    }
    for (uint32_t m = 2; m < ranks->matches + 3; m++) {
        s->first[m] += s->first[m - 1];
    }
    for (uint32_t r = 0; r < s->count; r++) {
        const fd_et_rank *rank = &ranks->ranks.list[r];
        for (uint32_t i = 0; i < rank->calls.count; i++) {
            const fd_et_call *call = &rank->calls.list[i];
            s->ranks[r].nodes[call->index].match = call->match;
            s->members[s->first[call->match + 1]++] =
                (fd_et_ref){r, call->index + 1};
        }
    }
    return FD_OK;
}

static void
find_bounds(fd_et_simulation *s)
{
    s->measured_begin = INT64_MAX;
    s->measured_end = INT64_MIN;
    for (uint32_t r = 0; r < s->count; r++) {
        const fd_et_sim_rank *rank = &s->ranks[r];
        for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
            if (rank->et->nodes.list[i].start_ns <= 0) {
                continue;
            }
            int64_t start = rank->nodes[i].measured;
            int64_t end = fd_et_measured_end(rank, i);
            s->measured_begin =
                start < s->measured_begin ? start : s->measured_begin;
            s->measured_end = end > s->measured_end ? end : s->measured_end;
        }
    }
    if (s->measured_begin == INT64_MAX) {
        s->measured_begin = s->measured_end = 0; /* no node started */
    }
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

/* Return the factor of the call around a node. */
static double
factor_around(const fd_et_sim_rank *rank, uint32_t index)
{
    uint32_t parent = rank->et->nodes.list[index].parent;
    return parent == 0 || parent > index ? 1 : rank->factors[parent - 1];
}

/* Set the factors of nodes: that of an operator applies to all nodes it
 * encloses. */
static void
find_factors(fd_et_sim_rank *rank, const fd_et_changes *changes)
{
    for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
        rank->factors[i] =
            factor_around(rank, i)
            * factor_of(rank->et, &rank->et->nodes.list[i], changes);
    }
}

static int64_t
number_of(const fd_et_simulation *s, fd_et_ref at)
{
    return s->ranks[at.rank].et->rank;
}

/* Return whether a member of a match waits for another. It does not if it left
 * before the other arrived, or if the root is known and the other is not a
 * sender. */
static bool
waits_for(const fd_et_simulation *s, fd_et_ref one, fd_et_ref other)
{
    const fd_et_sim_rank *rank = &s->ranks[one.rank];
    const fd_et_node *node = &rank->et->nodes.list[one.index - 1];
    const fd_et_comm *comm = fd_et_comm_of(rank->et, node);
    uint32_t match = rank->nodes[one.index - 1].match;
    if (fd_et_measured_end(rank, one.index - 1)
        < s->ranks[other.rank].nodes[other.index - 1].measured) {
        return false;
    }
    /* The root is a rank in the group, which equals the global rank only if
     * the group has all ranks. */
    if (node->type != FD_ET_COLL || comm->src < 0
        || s->first[match + 1] - s->first[match] != s->count) {
        return true;
    }
    switch (comm->type) {
    case FD_ET_BROADCAST:
    case FD_ET_SCATTER:
        return number_of(s, other) == comm->src;
    case FD_ET_REDUCE:
    case FD_ET_GATHER:
        return number_of(s, one) == comm->src;
    default:
        return true;
    }
}

/* Find the nodes that wait for all others of their match, and number the job
 * that ends when all have arrived. With two members, a dependency on the other
 * one is sufficient. */
static void
find_gathers(fd_et_simulation *s, uint32_t next)
{
    for (uint32_t m = 1; m <= s->matches; m++) {
        uint32_t members = s->first[m + 1] - s->first[m];
        bool any = false;
        for (uint32_t i = s->first[m]; i < s->first[m + 1]; i++) {
            fd_et_ref me = s->members[i];
            bool all = members > 2;
            for (uint32_t k = s->first[m]; k < s->first[m + 1] && all; k++) {
                all = k == i || waits_for(s, me, s->members[k]);
            }
            s->ranks[me.rank].nodes[me.index - 1].all = all;
            any = any || all;
        }
        s->gathers[m] = any ? next++ : 0;
    }
}

fd_status
fd_et_sim_make(fd_et_simulation *s, const fd_et *traces, uint32_t count,
               const fd_et_ranks *ranks)
{
    *s = (fd_et_simulation){.count = count};
    s->ranks = fd_calloc((size_t)count + 1, sizeof *s->ranks);
    uint32_t jobs = 0;
    if (s->ranks == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t r = 0; r < count; r++) {
        fd_et_sim_rank *rank = &s->ranks[r];
        size_t nodes = (size_t)traces[r].nodes.count + 1;
        rank->et = &traces[r];
        rank->nodes = fd_calloc(nodes, sizeof *rank->nodes);
        rank->factors = fd_calloc(nodes, sizeof *rank->factors);
        if (rank->nodes == NULL || rank->factors == NULL) {
            return FD_ENOMEM;
        }
        fd_et_measure(rank);
        rank->first_job = jobs;
        jobs += 2 * traces[r].nodes.count;
    }
    find_bounds(s);
    fd_status status = find_members(s, ranks);
    if (status == FD_OK) {
        find_gathers(s, jobs);
    }
    return status;
}

/* Return the arrival job of a node. There are two jobs per node, one rank
 * after the other. */
static uint32_t
arrival_of(const fd_et_simulation *s, fd_et_ref at)
{
    return s->ranks[at.rank].first_job + 2 * (at.index - 1);
}

static fd_status
add_dependency(fd_et_simulation *s, uint32_t job, int64_t lag,
               fd_et_ref source)
{
    fd_status status = fd_vector_push(&s->lags, lag);
    status = status == FD_OK ? fd_vector_push(&s->sources, source) : status;
    return status == FD_OK ? fd_sim_depend(&s->jobs, job, s->lags.count - 1)
                           : status;
}

/* Add the arrival of a node, after all its edges. */
static fd_status
add_arrival(fd_et_simulation *s, uint32_t r, uint32_t index, uint32_t *edge)
{
    const fd_et_sim_rank *rank = &s->ranks[r];
    uint32_t end = fd_et_edges_end(rank->et, index, *edge);
    fd_status status = fd_sim_add_job(&s->jobs, s->jobs.jobs.count);
    for (; *edge < end && status == FD_OK; ++*edge) {
        fd_et_point point;
        if (!fd_et_edge_point(rank, &rank->et->edges.list[*edge], &point)) {
            continue;
        }
        fd_et_ref source = {r, point.source + 1};
        if (point.end != 0) {
            uint32_t job = arrival_of(s, (fd_et_ref){r, point.end}) + 1;
            status = add_dependency(s, job, point.lag, source);
        }
        if (point.start != 0 && status == FD_OK) {
            uint32_t job = arrival_of(s, (fd_et_ref){r, point.start});
            status = add_dependency(s, job, point.lag, source);
        }
    }
    return status;
}

static bool
is_same(fd_et_ref one, fd_et_ref other)
{
    return one.rank == other.rank && one.index == other.index;
}

/* Add the completion of a node, after its arrival and the arrivals it waits
 * for. */
static fd_status
add_completion(fd_et_simulation *s, fd_et_ref me)
{
    const fd_et_sim_node *node = &s->ranks[me.rank].nodes[me.index - 1];
    fd_status status = fd_sim_add_job(&s->jobs, s->jobs.jobs.count);
    if (status == FD_OK) {
        status =
            add_dependency(s, arrival_of(s, me), 0, (fd_et_ref){me.rank, 0});
    }
    if (status != FD_OK || node->match == 0 || node->alone) {
        return status;
    }
    if (node->all) {
        return add_dependency(s, s->gathers[node->match], 0,
                              (fd_et_ref){me.rank, 0});
    }
    for (uint32_t i = s->first[node->match];
         i < s->first[node->match + 1] && status == FD_OK; i++) {
        fd_et_ref other = s->members[i];
        if (!is_same(me, other) && waits_for(s, me, other)) {
            status = add_dependency(s, arrival_of(s, other), 0, other);
        }
    }
    return status;
}

/* Add the jobs for the arrival of all members, each on its own resource. */
static fd_status
add_gathers(fd_et_simulation *s)
{
    fd_status status = FD_OK;
    for (uint32_t m = 1; m <= s->matches && status == FD_OK; m++) {
        if (s->gathers[m] == 0) {
            continue;
        }
        status = fd_sim_add_resource(&s->jobs);
        status = status == FD_OK ? fd_sim_add_job(&s->jobs, s->jobs.jobs.count)
                                 : status;
        for (uint32_t i = s->first[m]; i < s->first[m + 1] && status == FD_OK;
             i++) {
            status = add_dependency(s, arrival_of(s, s->members[i]), 0,
                                    s->members[i]);
        }
    }
    return status;
}

static fd_status
add_jobs(fd_et_simulation *s)
{
    fd_status status = FD_OK;
    for (uint32_t r = 0; r < s->count && status == FD_OK; r++) {
        uint32_t edge = 0;
        status = fd_sim_add_resource(&s->jobs);
        for (uint32_t i = 0;
             i < s->ranks[r].et->nodes.count && status == FD_OK; i++) {
            status = add_arrival(s, r, i, &edge);
            status = status == FD_OK ? add_completion(s, (fd_et_ref){r, i + 1})
                                     : status;
        }
    }
    status = status == FD_OK ? add_gathers(s) : status;
    return status == FD_OK ? fd_sim_prepare(&s->jobs) : status;
}

/* Order all jobs. In a deadlock between ranks, the last of them continues
 * without waiting. */
static void
order_jobs(fd_et_simulation *s)
{
    while (!fd_sim_order(&s->jobs)) {
        uint32_t r = s->count - 1;
        while (r > 0 && s->jobs.next[r] == fd_sim_end_of(&s->jobs, r)) {
            r--;
        }
        uint32_t job = s->jobs.next[r];
        uint32_t index = (job - s->ranks[r].first_job) / 2;
        s->ranks[r].nodes[index].alone = true;
        s->jobs.jobs.list[job].count = 1; /* only its own arrival */
        s->broken++;
    }
}

/* Return the measured arrival of the last node that a node waits for. */
static int64_t
measured_arrival(const fd_et_simulation *s, fd_et_ref me)
{
    const fd_et_sim_node *node = &s->ranks[me.rank].nodes[me.index - 1];
    int64_t last = node->measured;
    if (node->match == 0 || node->alone) {
        return last;
    }
    for (uint32_t i = s->first[node->match]; i < s->first[node->match + 1];
         i++) {
        fd_et_ref at = s->members[i];
        int64_t other = s->ranks[at.rank].nodes[at.index - 1].measured;
        if (other > last && waits_for(s, me, at)) {
            last = other;
        }
    }
    return last;
}

/* Return the duration of a node after `begun`. A transfer was measured from
 * the arrival of the last rank. */
static int64_t
length_of(const fd_et_simulation *s, fd_et_ref me, const fd_et_changes *c)
{
    const fd_et_sim_rank *rank = &s->ranks[me.rank];
    uint32_t index = me.index - 1;
    double factor = rank->factors[index];
    int64_t end = fd_et_measured_end(rank, index);
    if (!fd_et_communicates(&rank->et->nodes.list[index])) {
        int64_t length = fd_minus(end, rank->nodes[index].measured);
        return fd_et_scaled(length, factor);
    }
    int64_t sent = fd_minus(end, measured_arrival(s, me));
    int64_t time =
        fd_plus(fd_et_scaled(sent, factor / c->bandwidth), c->latency_ns);
    return time > 0 ? time : 0;
}

/* Return the time from the last dependency to the arrival: own time of the
 * call around it, for nodes on a thread. Without dependencies, return the
 * measured start. */
static int64_t
delay_of(const fd_et_simulation *s, uint32_t r, uint32_t index)
{
    const fd_et_sim_rank *rank = &s->ranks[r];
    const fd_et_sim_node *node = &rank->nodes[index];
    if (s->jobs.jobs.list[rank->first_job + 2 * index].count == 0) {
        return node->measured;
    }
    return fd_et_is_gpu(&rank->et->nodes.list[index])
             ? node->delay
             : fd_et_scaled(node->delay, factor_around(rank, index));
}

static fd_status
find_durations(fd_et_simulation *s, const fd_et_changes *changes)
{
    size_t count = (size_t)s->jobs.jobs.count + 1;
    s->durations = fd_calloc(count, sizeof *s->durations);
    if (s->durations == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t r = 0; r < s->count; r++) {
        int64_t *durations = &s->durations[s->ranks[r].first_job];
        for (uint32_t i = 0; i < s->ranks[r].et->nodes.count; i++) {
            durations[2 * i] = delay_of(s, r, i);
            durations[2 * i + 1] =
                length_of(s, (fd_et_ref){r, i + 1}, changes);
        }
    }
    return FD_OK;
}

/* Return the last arrival that a completion waited for. */
static fd_et_ref
last_arrival(const fd_et_simulation *s, uint32_t completion)
{
    const fd_simulation *jobs = &s->jobs;
    uint32_t cause = jobs->causes[completion];
    if (cause == jobs->jobs.list[completion].first) {
        return s->sources.list[cause]; /* its own arrival */
    }
    uint32_t by = jobs->dependencies.list[cause].job;
    uint32_t gather = jobs->resources.count > s->count
                        ? jobs->resources.list[s->count]
                        : UINT32_MAX;
    return s->sources.list[by >= gather ? jobs->causes[by] : cause];
}

static void
collect(fd_et_simulation *s)
{
    for (uint32_t r = 0; r < s->count; r++) {
        fd_et_sim_rank *rank = &s->ranks[r];
        for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
            fd_et_sim_node *node = &rank->nodes[i];
            uint32_t job = rank->first_job + 2 * i;
            uint32_t cause = s->jobs.causes[job];
            bool free = cause == FD_SIM_NONE;
            node->after = free ? (fd_et_ref){r, 0} : s->sources.list[cause];
            node->start = s->jobs.ends[job];
            node->ready = free ? node->start : s->jobs.starts[job];
            node->begun = s->jobs.starts[job + 1];
            node->end = s->jobs.ends[job + 1];
            node->late = last_arrival(s, job + 1);
        }
    }
}

/* Find the node with the last end; of equal ends, the innermost. */
static void
find_end(fd_et_simulation *s)
{
    s->end = INT64_MIN;
    s->last = (fd_et_ref){0, 0};
    for (uint32_t r = 0; r < s->count; r++) {
        const fd_et_sim_rank *rank = &s->ranks[r];
        for (uint32_t i = 0; i < rank->et->nodes.count; i++) {
            /* Roots of threads keep their measured times. */
            uint8_t flags = rank->et->nodes.list[i].flags;
            bool works =
                (flags & (FD_ET_GUESSED | FD_ET_THREAD | FD_ET_PROCESS)) == 0;
            int64_t end = works ? fd_et_simulated_end(rank, i) : INT64_MIN;
            if (end > INT64_MIN && end >= s->end) {
                s->end = end;
                s->last = (fd_et_ref){r, i + 1};
            }
        }
    }
    if (s->last.index == 0) {
        s->end = s->measured_begin; /* there are only roots */
    }
}

fd_status
fd_et_sim_run(fd_et_simulation *s, const fd_et_changes *changes)
{
    clear_jobs(s);
    for (uint32_t r = 0; r < s->count; r++) {
        find_factors(&s->ranks[r], changes);
    }
    fd_status status = add_jobs(s);
    if (status == FD_OK) {
        order_jobs(s);
        status = find_durations(s, changes);
    }
    if (status == FD_OK) {
        fd_sim_run(&s->jobs, s->durations, s->lags.list);
        collect(s);
        find_end(s);
    }
    return status;
}
