#include "pipeline/cuts/cut_regions.h"

#include <math.h>
#include <string.h>

static double
sum_without(const fd_cut_regions *r, const double *of, const uint64_t *set,
            const uint64_t *without)
{
    double sum = 0;
    for (uint32_t word = 0; word < r->layers->words; word++) {
        uint64_t left = set[word] & ~without[word];
        for (; left != 0; left &= left - 1) {
            sum += of[word * 64 + (uint32_t)__builtin_ctzll(left)];
        }
    }
    return sum;
}

static const uint64_t *
within(const fd_cut_regions *r, uint32_t layer)
{
    return fd_layers_row(r->layers, r->layers->within, layer);
}

static const uint64_t *
after(const fd_cut_regions *r, uint32_t layer)
{
    return fd_layers_row(r->layers, r->after, layer);
}

/* Return more than the rounding error of sums of times. */
static double
slack(const fd_cut_regions *r)
{
    return 1e-9 * r->time;
}

/* A region and its sets during a change. */
typedef struct change {
    fd_cut_region *region;
    uint64_t *inside;
    uint64_t *outside;
    double before; /* seconds of the layers inside */
    double behind; /* seconds of the layers outside */
} change;

/* Move a free layer inside or outside if the times of the region require it.
 * Return false if no state is left. */
static bool
place(const fd_cut_regions *r, change *c, uint32_t layer, bool *changed)
{
    double more = sum_without(r, r->times, within(r, layer), c->inside);
    double less = sum_without(r, r->times, after(r, layer), c->outside);
    bool out = c->before + more > c->region->most_time + slack(r);
    bool in = r->time - c->behind - less < c->region->least_time - slack(r);
    if (in && out) {
        return false;
    }
    if (in) {
        fd_bits_join(c->inside, within(r, layer), r->layers->words);
        c->before += more;
    }
    if (out) {
        fd_bits_join(c->outside, after(r, layer), r->layers->words);
        c->behind += less;
    }
    *changed = *changed || in || out;
    return true;
}

static bool
is_free(const change *c, uint32_t layer)
{
    return !fd_bits_has(c->inside, layer) && !fd_bits_has(c->outside, layer);
}

/* Place all layers that the times decide. */
static bool
place_all(const fd_cut_regions *r, change *c)
{
    bool changed = true;
    bool possible = true;
    while (changed && possible) {
        changed = false;
        for (uint32_t i = 0; i < r->layers->count && possible; i++) {
            possible = !is_free(c, i) || place(r, c, i, &changed);
        }
    }
    return possible
        && !fd_bits_meet_in(c->inside, c->outside,
                            (fd_word_range){0, r->layers->words});
}

/* Set the bounds of a region from its layers inside and outside, after placing
 * the layers that the times decide. */
static fd_status
narrow(fd_cut_regions *r, uint32_t at)
{
    uint64_t *inside = fd_cut_region_set(r, at, FD_CUT_REGION_INSIDE);
    uint64_t *cut = fd_cut_region_set(r, at, FD_CUT_REGION_CUT);
    fd_cut_region *region = &r->list.list[at];
    memset(cut, 0, r->layers->words * sizeof *cut);
    change c = {.region = region,
                .inside = inside,
                .outside = fd_cut_region_set(r, at, FD_CUT_REGION_OUTSIDE)};
    c.before = sum_without(r, r->times, inside, cut);
    c.behind = sum_without(r, r->times, c.outside, cut);
    bool possible = place_all(r, &c);
    region->least_time = fmax(region->least_time, c.before - slack(r));
    region->most_time = fmin(region->most_time, r->time - c.behind + slack(r));
    if (!possible || region->least_time > region->most_time) {
        region->bytes = INFINITY;
        return FD_OK;
    }
    region->least_parameters = sum_without(r, r->parameters, inside, cut);
    region->most_parameters =
        r->bytes - sum_without(r, r->parameters, c.outside, cut);
    region->single = true;
    for (uint32_t i = 0; i < r->layers->count; i++) {
        region->single = region->single && !is_free(&c, i);
    }
    double bytes;
    fd_status status =
        fd_cut_flow_find(&r->flow, inside, c.outside, &bytes, cut);
    region->bytes = status == FD_OK ? bytes : 0;
    return status;
}

/* Append a copy of a region. */
static fd_status
copy(fd_cut_regions *r, uint32_t region)
{
    size_t row = (size_t)FD_CUT_REGION_SETS * r->layers->words;
    if (r->list.count == r->capacity) {
        uint32_t capacity = r->capacity > 0 ? 2 * r->capacity : 64;
        uint64_t *sets = fd_realloc(r->sets, capacity * row * sizeof *sets);
        if (sets == NULL) {
            return FD_ENOMEM;
        }
        r->sets = sets;
        r->capacity = capacity;
    }
    fd_cut_region same = r->list.count > 0
                           ? r->list.list[region]
                           : (fd_cut_region){.most_time = r->time,
                                             .most_parameters = r->bytes};
    uint64_t *to = &r->sets[r->list.count * row];
    if (r->list.count > 0) {
        memcpy(to, &r->sets[region * row], row * sizeof *to);
    }
    else {
        memset(to, 0, row * sizeof *to);
    }
    return fd_vector_push(&r->list, same);
}

static void
find_after(fd_cut_regions *r)
{
    for (uint32_t i = 0; i < r->layers->count; i++) {
        const uint64_t *set = within(r, i);
        for (uint32_t word = 0; word < r->layers->words; word++) {
            for (uint64_t left = set[word]; left != 0; left &= left - 1) {
                uint32_t layer = word * 64 + (uint32_t)__builtin_ctzll(left);
                fd_bits_add(fd_layers_row(r->layers, r->after, layer), i);
            }
        }
    }
}

fd_status
fd_cut_regions_make(fd_cut_regions *r, const fd_model *model,
                    const fd_layers *layers)
{
    *r = (fd_cut_regions){.layers = layers};
    r->times = fd_calloc(layers->count, sizeof *r->times);
    r->parameters = fd_calloc(layers->count, sizeof *r->parameters);
    r->after =
        fd_calloc((size_t)layers->count * layers->words, sizeof *r->after);
    fd_status status = fd_cut_flow_make(&r->flow, model, layers);
    if (r->times == NULL || r->parameters == NULL || r->after == NULL) {
        status = FD_ENOMEM;
    }
    if (status != FD_OK) {
        return status;
    }
    for (uint32_t i = 0; i < layers->count; i++) {
        const fd_model_node *node = &model->nodes.list[layers->nodes[i]];
        r->times[i] = (node->forward + node->backward) / 1000;
        r->parameters[i] = node->parameters;
        r->time += r->times[i];
        r->bytes += node->parameters;
    }
    find_after(r);
    status = copy(r, 0);
    return status == FD_OK ? narrow(r, 0) : status;
}

void
fd_cut_regions_clear(fd_cut_regions *r)
{
    fd_cut_flow_clear(&r->flow);
    fd_free(r->times);
    fd_free(r->parameters);
    fd_free(r->after);
    fd_free(r->sets);
    fd_vector_clear(&r->list);
    *r = (fd_cut_regions){.capacity = 0};
}

static double
weight_without(const fd_cut_regions *r, fd_cut_region_scale scale,
               const uint64_t *set, const uint64_t *without)
{
    double weight = 0;
    for (uint32_t word = 0; word < r->layers->words; word++) {
        uint64_t left = set[word] & ~without[word];
        for (; left != 0; left &= left - 1) {
            uint32_t layer = word * 64 + (uint32_t)__builtin_ctzll(left);
            weight += r->times[layer] / scale.time
                    + r->parameters[layer] / scale.parameters + 1e-2;
        }
    }
    return weight;
}

/* Return the free layer that decides the most other layers on either side. */
static uint32_t
dividing_layer(const fd_cut_regions *r, uint32_t region,
               fd_cut_region_scale scale)
{
    const uint64_t *inside =
        fd_cut_region_set(r, region, FD_CUT_REGION_INSIDE);
    const uint64_t *outside =
        fd_cut_region_set(r, region, FD_CUT_REGION_OUTSIDE);
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0; i < r->layers->count; i++) {
        if (fd_bits_has(inside, i) || fd_bits_has(outside, i)) {
            continue;
        }
        double weight = fmin(weight_without(r, scale, within(r, i), inside),
                             weight_without(r, scale, after(r, i), outside));
        if (weight > most) {
            most = weight;
            best = i;
        }
    }
    return best;
}

fd_status
fd_cut_regions_divide(fd_cut_regions *r, uint32_t region,
                      fd_cut_region_scale scale)
{
    uint32_t words = r->layers->words;
    uint32_t other = r->list.count;
    fd_status status = copy(r, region);
    if (status != FD_OK) {
        return status;
    }
    fd_cut_region *first = &r->list.list[region];
    fd_cut_region *second = &r->list.list[other];
    double middle =
        first->least_time + (first->most_time - first->least_time) / 2;
    if (first->most_time - first->least_time > scale.time) {
        first->most_time = middle;
        second->least_time = middle;
    }
    else {
        uint32_t layer = dividing_layer(r, region, scale);
        fd_bits_join(fd_cut_region_set(r, region, FD_CUT_REGION_INSIDE),
                     within(r, layer), words);
        fd_bits_join(fd_cut_region_set(r, other, FD_CUT_REGION_OUTSIDE),
                     after(r, layer), words);
    }
    status = narrow(r, region);
    return status == FD_OK ? narrow(r, other) : status;
}

bool
fd_cut_regions_in_order(const fd_cut_regions *r, uint32_t before,
                        uint32_t behind)
{
    return !fd_bits_meet_in(
        fd_cut_region_set(r, before, FD_CUT_REGION_INSIDE),
        fd_cut_region_set(r, behind, FD_CUT_REGION_OUTSIDE),
        (fd_word_range){0, r->layers->words});
}
