#include "events/alignment/clock_estimates.h"

#include <string.h>

typedef FD_VECTOR(fd_clock_bound) bound_list;
typedef FD_VECTOR(fd_clock_ping) ping_list;

enum { NO_INPUT = UINT32_MAX };

static uint32_t
input_of(const fd_timeline_estimates *e, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = e->count;
    FD_BISECT(low, high, e->inputs[middle].rank < rank);
    return low < e->count && e->inputs[low].rank == rank ? low : NO_INPUT;
}

static void
add_estimate(fd_timeline_estimate *to, const fd_clock_fit *fit,
             const fd_timeline_estimate *parent)
{
    to->found = true;
    to->fit.map = fd_clock_compose(&fit->map, &parent->fit.map);
    to->fit.uncertainty_ns = fit->uncertainty_ns + parent->fit.uncertainty_ns;
}

static int64_t
less_time(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) ? 0 : result;
}

static int64_t
plus_time(int64_t a, int64_t b)
{
    int64_t result;
    return __builtin_add_overflow(a, b, &result) ? 0 : result;
}

/* Fit the pings between two inputs. Pings compare the clocks of machines, but
 * times of traces are counted from another time. */
static bool
fit_pings(const fd_timeline_sync *own, const fd_timeline_sync *other,
          const ping_list *pings, fd_clock_fit *fit)
{
    if (!own->has_boot || !other->has_boot
        || !fd_clock_fit_pings(pings->list, pings->count, fit)) {
        return false;
    }
    fit->map.at_ns = less_time(fit->map.at_ns, own->boottime_ns);
    fit->map.offset_ns = plus_time(
        fit->map.offset_ns, less_time(own->boottime_ns, other->boottime_ns));
    return true;
}

/* Collect the pings of `from` to `to`; `backwards`: from the point of view of
 * `to`. */
static fd_status
ping_by(const fd_timeline_estimates *e, uint32_t from, uint32_t to,
        bool backwards, ping_list *pings)
{
    const fd_timeline_sync *sync = e->inputs[backwards ? to : from].sync;
    uint32_t peer = e->inputs[backwards ? from : to].rank;
    fd_status status = FD_OK;
    pings->count = 0;
    for (uint32_t i = 0; i < sync->pings.count && status == FD_OK; i++) {
        const fd_timeline_ping *ping = &sync->pings.list[i];
        if (ping->peer == peer) {
            status = fd_vector_push(pings, ping->ping);
        }
    }
    return status;
}

/* Return the inverse of a fit, at the same time. */
static fd_clock_fit
inverse_fit(const fd_clock_fit *fit)
{
    const fd_clock_map *map = &fit->map;
    __int128 drift = (__int128)map->drift_ppt * map->drift_ppt / 1000000000000;
    return (fd_clock_fit){{fd_clock_apply(map, map->at_ns), -map->offset_ns,
                           (int64_t)(drift - map->drift_ppt)},
                          fit->uncertainty_ns};
}

static fd_status
try_ping(fd_timeline_estimates *e, uint32_t own, uint32_t other,
         bool backwards, ping_list *pings, bool *any)
{
    fd_timeline_estimate *list = e->of[FD_METHOD_PINGPONG];
    fd_clock_fit fit;
    fd_status status = ping_by(e, own, other, backwards, pings);
    const fd_timeline_sync *requester =
        e->inputs[backwards ? other : own].sync;
    const fd_timeline_sync *peer = e->inputs[backwards ? own : other].sync;
    if (status == FD_OK && fit_pings(requester, peer, pings, &fit)) {
        fit = backwards ? inverse_fit(&fit) : fit;
        add_estimate(&list[own], &fit, &list[other]);
        *any = true;
    }
    return status;
}

/* Extend the fits by one step: to ranks that pinged an aligned rank, and to
 * ranks that an aligned rank pinged. */
static fd_status
spread_pings(fd_timeline_estimates *e, ping_list *pings, bool *any)
{
    fd_timeline_estimate *list = e->of[FD_METHOD_PINGPONG];
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < e->count && status == FD_OK; i++) {
        const fd_timeline_sync *sync = e->inputs[i].sync;
        for (uint32_t k = 0; k < sync->pings.count && status == FD_OK; k++) {
            uint32_t peer = sync->pings.list[k].peer;
            if (k > 0 && peer == sync->pings.list[k - 1].peer) {
                continue;
            }
            uint32_t other = input_of(e, peer);
            if (other != NO_INPUT && list[i].found != list[other].found) {
                status = list[i].found
                           ? try_ping(e, other, i, true, pings, any)
                           : try_ping(e, i, other, false, pings, any);
            }
        }
    }
    return status;
}

static fd_status
estimate_pings(fd_timeline_estimates *e)
{
    ping_list pings = {NULL, 0, 0};
    fd_status status = FD_OK;
    bool any = true;
    while (status == FD_OK && any) {
        any = false;
        status = spread_pings(e, &pings, &any);
    }
    fd_vector_clear(&pings);
    return status;
}

static fd_status
collect_parts(fd_timeline_estimates *e)
{
    size_t count = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        count += e->inputs[i].sync->parts.count;
    }
    e->parts = fd_calloc(count + 1, sizeof *e->parts);
    if (e->parts == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < e->count; i++) {
        const fd_timeline_sync *sync = e->inputs[i].sync;
        for (uint32_t k = 0; k < sync->parts.count; k++) {
            e->parts[e->part_count] = sync->parts.list[k];
            e->parts[e->part_count++].member = i;
        }
    }
    return FD_OK;
}

static fd_status
estimate_collectives(fd_timeline_estimates *e, uint32_t reference)
{
    fd_clock_member *members = fd_calloc(e->count, sizeof *members);
    fd_status status = members != NULL ? collect_parts(e) : FD_ENOMEM;
    fd_then(status, fd_clock_fit_collectives(e->parts, e->part_count,
                                             reference, members, e->count));
    for (uint32_t i = 0; i < e->count && status == FD_OK; i++) {
        e->of[FD_METHOD_COLLECTIVE][i] =
            (fd_timeline_estimate){members[i].found, members[i].fit};
    }
    fd_free(members);
    return status;
}

/* Compare messages in the order in which the lists are sorted: peer,
 * direction, tag, index. */
static int
compare_messages(const fd_timeline_message *a, const fd_timeline_message *b)
{
    int order = FD_ORDER(a->peer, b->peer);
    order = order != 0 ? order : FD_ORDER(a->received, b->received);
    order = order != 0 ? order : FD_ORDER(a->tag, b->tag);
    return order != 0 ? order : FD_ORDER(a->order, b->order);
}

static const fd_timeline_message *
find_message(const fd_timeline_sync *sync, const fd_timeline_message *like)
{
    uint32_t low = 0;
    uint32_t high = sync->messages.count;
    FD_BISECT(low, high,
              compare_messages(&sync->messages.list[middle], like) < 0);
    const fd_timeline_message *found = &sync->messages.list[low];
    return low < sync->messages.count && compare_messages(found, like) == 0
                && found->total == like->total
             ? found
             : NULL;
}

/* Return the other end of a message, or NULL if it is unknown. */
static const fd_timeline_message *
other_end(const fd_timeline_estimates *e, uint32_t own,
          const fd_timeline_message *message, uint32_t *other)
{
    *other = input_of(e, message->peer);
    if (*other == NO_INPUT || *other == own) {
        return NULL;
    }
    fd_timeline_message like = *message;
    like.peer = e->inputs[own].rank;
    like.received = !message->received;
    return find_message(e->inputs[*other].sync, &like);
}

/* Fit the messages from index `from` up to `to`, all with one peer. */
static fd_status
try_messages(fd_timeline_estimates *e, uint32_t own, uint32_t from,
             uint32_t to, bound_list *bounds, bool *any)
{
    const fd_timeline_sync *sync = e->inputs[own].sync;
    fd_timeline_estimate *list = e->of[FD_METHOD_P2P];
    uint32_t other = NO_INPUT;
    fd_status status = FD_OK;
    fd_clock_fit fit;
    bounds->count = 0;
    for (uint32_t i = from; i < to && status == FD_OK; i++) {
        const fd_timeline_message *message = &sync->messages.list[i];
        const fd_timeline_message *end = other_end(e, own, message, &other);
        if (end != NULL) {
            status = fd_vector_push(bounds,
                                    (fd_clock_bound){message->time, end->time,
                                                     !message->received});
        }
    }
    if (status == FD_OK && other != NO_INPUT && list[other].found
        && fd_clock_fit_bounds(bounds->list, bounds->count, &fit) == FD_OK) {
        add_estimate(&list[own], &fit, &list[other]);
        *any = true;
    }
    return status;
}

static fd_status
spread_messages(fd_timeline_estimates *e, uint32_t own, bound_list *bounds,
                bool *any)
{
    const fd_timeline_sync *sync = e->inputs[own].sync;
    fd_status status = FD_OK;
    for (uint32_t i = 0, next; i < sync->messages.count && status == FD_OK
                               && !e->of[FD_METHOD_P2P][own].found;
         i = next) {
        for (next = i;
             next < sync->messages.count
             && sync->messages.list[next].peer == sync->messages.list[i].peer;
             next++) {
        }
        uint32_t other = input_of(e, sync->messages.list[i].peer);
        if (other != NO_INPUT && e->of[FD_METHOD_P2P][other].found) {
            status = try_messages(e, own, i, next, bounds, any);
        }
    }
    return status;
}

static fd_status
estimate_messages(fd_timeline_estimates *e)
{
    bound_list bounds = {NULL, 0, 0};
    fd_status status = FD_OK;
    bool any = true;
    while (status == FD_OK && any) {
        any = false;
        for (uint32_t i = 0; i < e->count && status == FD_OK; i++) {
            status = spread_messages(e, i, &bounds, &any);
        }
    }
    fd_vector_clear(&bounds);
    return status;
}

fd_status
fd_timeline_estimates_make(fd_timeline_estimates *e, fd_estimate_input *inputs,
                           uint32_t count, uint32_t reference)
{
    *e = (fd_timeline_estimates){.inputs = inputs, .count = count};
    for (int method = 0; method < FD_METHODS; method++) {
        e->of[method] = fd_calloc(count, sizeof *e->of[method]);
        if (e->of[method] == NULL) {
            return FD_ENOMEM;
        }
        e->of[method][reference].found = true;
    }
    fd_status status = estimate_pings(e);
    fd_then(status, estimate_collectives(e, reference));
    return fd_then(status, estimate_messages(e));
}

void
fd_timeline_estimates_clear(fd_timeline_estimates *e)
{
    for (int method = 0; method < FD_METHODS; method++) {
        fd_free(e->of[method]);
    }
    fd_free(e->parts);
    fd_free(e->inputs);
    *e = (fd_timeline_estimates){.inputs = NULL};
}

/* Count violations of one collective, given by its consecutive parts. */
static void
check_collective(const fd_clock_part *parts, uint32_t count,
                 const fd_clock_map *maps, uint64_t *found)
{
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        int64_t begin = fd_clock_apply(&maps[parts[i].member], parts[i].begin);
        last = parts[i].joined && begin > last ? begin : last;
    }
    for (uint32_t i = 0; i < count; i++) {
        const fd_clock_map *map = &maps[parts[i].member];
        found[parts[i].member] +=
            parts[i].joined && fd_clock_apply(map, parts[i].end) < last;
    }
}

static void
check_messages(const fd_timeline_estimates *e, uint32_t own,
               const fd_clock_map *maps, uint64_t *found)
{
    const fd_timeline_sync *sync = e->inputs[own].sync;
    for (uint32_t i = 0; i < sync->messages.count; i++) {
        const fd_timeline_message *message = &sync->messages.list[i];
        uint32_t other;
        const fd_timeline_message *sent =
            message->received ? other_end(e, own, message, &other) : NULL;
        found[own] += sent != NULL
                   && fd_clock_apply(&maps[own], message->time)
                          < fd_clock_apply(&maps[other], sent->time);
    }
}

void
fd_timeline_violations(const fd_timeline_estimates *e,
                       const fd_clock_map *maps, uint64_t *found)
{
    memset(found, 0, e->count * sizeof *found);
    for (uint32_t i = 0, next; i < e->part_count; i = next) {
        for (next = i;
             next < e->part_count && e->parts[next].kind == e->parts[i].kind
             && e->parts[next].order == e->parts[i].order;
             next++) {
        }
        check_collective(e->parts + i, next - i, maps, found);
    }
    for (uint32_t i = 0; i < e->count; i++) {
        check_messages(e, i, maps, found);
    }
}
