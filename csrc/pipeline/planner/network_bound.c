#include "pipeline/planner/network_bound.h"

#include <math.h>
#include <string.h>

/* Each step raises the bound by this share of the distance to its limit, and
 * at least by this ratio. */
#define STEP 0.25
#define LEAST_STEP 1.005

/* Regions longer than this share of a stage are divided by time. */
#define SHARE (1.0 / 16)

/* Sets of numbers of machines: bit m for m machines. */
typedef uint64_t machine_set;

enum { MOST_MACHINES = 63 };

/* The paths of plans of at most `cap` seconds through the regions. */
typedef struct ways {
    fd_network_bound *bound;
    const fd_cut_region *list;
    double cap;
    double width;    /* seconds of the longest open region */
    uint32_t *open;  /* owned; open regions, sorted by least time */
    uint32_t count;  /* number of open regions */
    uint32_t *order; /* owned, like the following arrays; temporary, for
                      * sorting */
    double *times;
    machine_set *front;      /* per region: possible numbers of machines before
                              * it */
    machine_set *back;       /* per region: possible numbers of machines after
                              * it */
    machine_set *allowed;    /* per region: supersets of `front` and `back` */
    machine_set *completing; /* per region: numbers of machines before it that
                              * complete a plan */
    uint16_t *transfer;      /* per region: minimum number of machines that
                              * pass its bytes */
} ways;

static double
machines_at(const fd_costs *costs, uint32_t level)
{
    return level > 0 ? costs->machines[level - 1] : 1;
}

/* Find the minimum of machine seconds per byte over all products of machines
 * per level. */
static void
find_shares(fd_network_bound *b, uint32_t level, uint32_t machines,
            double share)
{
    const fd_costs *costs = b->costs;
    if (level == costs->levels) {
        b->shares[machines] = fmin(b->shares[machines], share);
        return;
    }
    uint32_t most = costs->straight ? 1 : costs->machines[level];
    for (uint32_t m = 1; m <= most; m++) {
        double reduce =
            4 * (m - 1.0)
            / (costs->bandwidths[level] * m * machines_at(costs, level));
        find_shares(b, level + 1, machines * m, share + reduce * machines);
    }
}

fd_status
fd_network_bound_make(fd_network_bound *b, const fd_model *model,
                      const fd_layers *layers, const fd_costs *costs,
                      double time)
{
    *b = (fd_network_bound){.costs = costs, .time = time, .machines = 1};
    for (uint32_t i = 0; i < costs->levels; i++) {
        b->machines *= costs->machines[i];
    }
    b->shares = fd_malloc((b->machines + 1) * sizeof *b->shares);
    fd_status status = fd_cut_regions_make(&b->regions, model, layers);
    if (b->shares == NULL || status != FD_OK) {
        return FD_ENOMEM;
    }
    for (uint32_t m = 0; m <= b->machines; m++) {
        b->shares[m] = INFINITY;
    }
    find_shares(b, 0, 1, 0);
    return FD_OK;
}

void
fd_network_bound_clear(fd_network_bound *b)
{
    fd_free(b->shares);
    fd_cut_regions_clear(&b->regions);
    *b = (fd_network_bound){.machines = 0};
}

/* Return all numbers of machines from `least` to `most`. */
static machine_set
numbers(uint32_t least, uint32_t most)
{
    return least > most ? 0
                        : ((machine_set)2 << most) - ((machine_set)1 << least);
}

/* Return the numbers in `some` that are sufficient for a stage of at least
 * this time and these parameters. */
static machine_set
machines_for(const ways *w, double time, double parameters, machine_set some)
{
    const double *shares = w->bound->shares;
    machine_set set = 0;
    time = time > 0 ? time : 0;
    parameters = parameters > 0 ? parameters : 0;
    for (; some != 0; some &= some - 1) {
        uint32_t m = (uint32_t)__builtin_ctzll(some);
        machine_set fits = time + shares[m] * parameters <= m * w->cap;
        set |= fits << m;
    }
    return set;
}

static uint32_t
machines_for_bytes(const ways *w, double bytes)
{
    const fd_costs *costs = w->bound->costs;
    double fastest = 0;
    for (uint32_t i = 0; i < costs->levels; i++) {
        fastest = fmax(fastest, costs->bandwidths[i]);
    }
    double least = costs->ratio > 0
                     ? ceil(2 * bytes / (fastest * costs->ratio * w->cap))
                     : 1;
    return least <= 1                  ? 1
         : least <= w->bound->machines ? (uint32_t)least
                                       : w->bound->machines + 1;
}

/* Return the number of machines that pass the bytes of both cuts. With several
 * levels, the first stage within a stage sends its output without time. */
static uint32_t
machines_to_pass(const ways *w, uint32_t from, uint32_t to)
{
    uint32_t least = w->transfer[from];
    return w->bound->costs->levels == 1 && w->transfer[to] > least
             ? w->transfer[to]
             : least;
}

/* Return the numbers of machines that remain after those in a set; if machines
 * may be unused, also fewer. */
static machine_set
rest_of(const ways *w, machine_set set)
{
    machine_set rest = 0;
    if (w->bound->costs->fewer && set != 0) {
        uint32_t least = (uint32_t)__builtin_ctzll(set);
        return numbers(1, w->bound->machines - least);
    }
    for (; set != 0; set &= set - 1) {
        rest |= (machine_set)1
             << (w->bound->machines - (uint32_t)__builtin_ctzll(set));
    }
    return rest;
}

/* Set the numbers of machines of the first and of the last stage. */
static void
set_ends(ways *w, uint32_t region)
{
    const fd_cut_regions *r = &w->bound->regions;
    const fd_cut_region *at = &w->list[region];
    uint32_t most = w->bound->machines - 1;
    w->front[region] = machines_for(w, at->least_time, at->least_parameters,
                                    w->allowed[region]);
    w->back[region] = machines_for(w, r->time - at->most_time,
                                   r->bytes - at->most_parameters,
                                   numbers(w->transfer[region], most));
}

/* Return the first open region that may follow one with this least time. */
static uint32_t
first_open(const ways *w, double time)
{
    uint32_t low = 0;
    uint32_t high = w->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->list[w->open[middle]].least_time < time) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Extend paths by a stage: add numbers of machines to the regions after (or
 * before) a region that has `done` machines. */
static void
extend(ways *w, uint32_t from, uint32_t done, bool forward)
{
    const fd_cut_region *list = w->list;
    machine_set *to = forward ? w->front : w->back;
    uint32_t machines = w->bound->machines;
    double margin = (machines - done) * w->cap;
    double begin = list[from].least_time - w->width - (forward ? 0 : margin);
    double end = list[from].most_time + (forward ? margin : 0);
    uint32_t at = first_open(w, begin);
    for (; at < w->count && list[w->open[at]].least_time <= end; at++) {
        uint32_t next = w->open[at];
        uint32_t first = forward ? from : next;
        uint32_t second = forward ? next : from;
        machine_set completing =
            (forward ? w->allowed[next] : w->completing[next]) & ~to[next];
        machine_set some =
            completing >> done
            & numbers(machines_to_pass(w, first, second), machines - 1);
        w->bound->looked++;
        if (some == 0 || (next == from && list[from].single)) {
            continue;
        }
        machine_set found =
            machines_for(w, list[second].least_time - list[first].most_time,
                         list[second].least_parameters
                             - list[first].most_parameters,
                         some)
            << done;
        if (found != 0
            && fd_cut_regions_in_order(&w->bound->regions, first, second)) {
            to[next] |= found;
        }
    }
}

static void
extend_all(ways *w, bool forward)
{
    const machine_set *to = forward ? w->front : w->back;
    for (uint32_t done = 1; done < w->bound->machines; done++) {
        for (uint32_t i = 0; i < w->count; i++) {
            uint32_t region = w->open[i];
            if ((to[region] >> done & 1) != 0) {
                extend(w, region, done, forward);
            }
        }
    }
}

/* Sort the open regions by their least time. */
static fd_status
sort_open(ways *w)
{
    w->width = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const fd_cut_region *region = &w->list[w->open[i]];
        w->times[i] = region->least_time;
        w->width = fmax(w->width, region->most_time - region->least_time);
    }
    fd_status status = fd_time_order(w->order, w->times, w->count);
    for (uint32_t i = 0; i < w->count && status == FD_OK; i++) {
        w->order[i] = w->open[w->order[i]];
    }
    uint32_t *swap = w->open;
    w->open = w->order;
    w->order = swap;
    return status;
}

/* Return whether there are enough machines for all layers before a region, and
 * for all after it. */
static bool
may_be_passed(ways *w, uint32_t region)
{
    const fd_cut_region *at = &w->list[region];
    if (!isfinite(at->bytes)) {
        return false;
    }
    w->transfer[region] = (uint16_t)machines_for_bytes(w, at->bytes);
    double rest = w->bound->regions.time - at->most_time;
    double before = fmax(1, ceil(at->least_time / w->cap));
    double behind = fmax(w->transfer[region], ceil(rest / w->cap));
    if (before + behind > w->bound->machines) {
        return false;
    }
    w->allowed[region] &=
        numbers((uint32_t)before, w->bound->machines - (uint32_t)behind);
    return w->allowed[region] != 0;
}

static void
keep_open(ways *w, bool (*is_kept)(ways *, uint32_t))
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t region = w->open[i];
        w->open[kept] = region;
        kept += is_kept(w, region);
    }
    w->count = kept;
}

/* Return whether machines before and after a region can add up to all
 * machines. Parts of the region have no other numbers. */
static bool
is_open(ways *w, uint32_t region)
{
    w->allowed[region] = w->front[region] & rest_of(w, w->back[region]);
    return w->allowed[region] != 0;
}

/* Find the open regions: those on the path of any plan within the cap. */
static fd_status
find_open(ways *w)
{
    keep_open(w, may_be_passed);
    fd_status status = sort_open(w);
    if (status != FD_OK) {
        return status;
    }
    for (uint32_t i = 0; i < w->count; i++) {
        set_ends(w, w->open[i]);
    }
    extend_all(w, true);
    for (uint32_t i = 0; i < w->count; i++) {
        w->completing[w->open[i]] = rest_of(w, w->front[w->open[i]]);
        w->back[w->open[i]] &= w->completing[w->open[i]];
    }
    extend_all(w, false);
    keep_open(w, is_open);
    return FD_OK;
}

/* Divide the open regions; new regions are open. */
static fd_status
divide(ways *w, bool *any)
{
    fd_cut_regions *r = &w->bound->regions;
    double speed = w->bound->costs->bandwidths[0];
    fd_cut_region_scale scale = {SHARE * w->cap, SHARE * w->cap * speed / 2};
    uint32_t count = w->count;
    fd_status status = FD_OK;
    *any = false;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        uint32_t other = r->list.count;
        if (!r->list.list[w->open[i]].single) {
            *any = true;
            status = fd_cut_regions_divide(r, w->open[i], scale);
            w->allowed[other] = w->allowed[w->open[i]];
            w->open[w->count++] = other;
        }
    }
    w->list = r->list.list;
    return status;
}

static void
open_all(ways *w)
{
    w->count = 0;
    for (uint32_t i = 0; i < w->bound->regions.list.count; i++) {
        w->allowed[w->count] = ~(machine_set)0;
        w->open[w->count++] = i;
    }
}

/* Raise the bound to the cap if there is no plan within the cap. */
static fd_status
decide(ways *w, uint32_t most, uint64_t effort, bool *proven)
{
    fd_network_bound *b = w->bound;
    bool any = true;
    *proven = false;
    uint32_t least = b->costs->fewer ? 1 : b->machines;
    if (machines_for(w, b->regions.time, b->regions.bytes,
                     numbers(least, b->machines))
        != 0) {
        b->exact = true;
        return FD_OK;
    }
    open_all(w);
    while (any) {
        fd_status status = find_open(w);
        if (status != FD_OK || w->count == 0) {
            *proven = status == FD_OK;
            return status;
        }
        if (b->regions.list.count + w->count > most || b->looked > effort) {
            return FD_OK;
        }
        status = divide(w, &any);
        if (status != FD_OK) {
            return status;
        }
    }
    b->exact = true;
    return FD_OK;
}

fd_status
fd_network_bound_raise(fd_network_bound *b, double most, uint32_t regions,
                       uint64_t effort)
{
    ways w = {.bound = b, .list = b->regions.list.list};
    size_t capacity = (size_t)regions + 1;
    capacity =
        capacity > b->regions.list.count ? capacity : b->regions.list.count;
    w.open = fd_malloc(capacity * sizeof *w.open);
    w.order = fd_malloc(capacity * sizeof *w.order);
    w.times = fd_malloc(capacity * sizeof *w.times);
    w.front = fd_calloc(capacity, sizeof *w.front);
    w.back = fd_calloc(capacity, sizeof *w.back);
    w.allowed = fd_calloc(capacity, sizeof *w.allowed);
    w.completing = fd_calloc(capacity, sizeof *w.completing);
    w.transfer = fd_calloc(capacity, sizeof *w.transfer);
    bool made = w.open != NULL && w.order != NULL && w.times != NULL
             && w.front != NULL && w.back != NULL && w.allowed != NULL
             && w.completing != NULL && w.transfer != NULL;
    fd_status status = made ? FD_OK : FD_ENOMEM;
    double step = STEP;
    bool possible = b->machines > 1 && b->machines <= MOST_MACHINES;
    while (possible && status == FD_OK && b->time < most
           && step > STEP / 100) {
        double time = b->time + step * (most - b->time);
        time = fmin(fmax(time, b->time * LEAST_STEP), most);
        bool proven;
        w.cap = time * (1 + 1e-9);
        status = decide(&w, regions, effort, &proven);
        b->time = proven ? time : b->time;
        step = proven ? step : step / 4;
    }
    fd_free(w.open);
    fd_free(w.order);
    fd_free(w.times);
    fd_free(w.front);
    fd_free(w.back);
    fd_free(w.allowed);
    fd_free(w.completing);
    fd_free(w.transfer);
    return status;
}
