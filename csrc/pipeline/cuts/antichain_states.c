#include "pipeline/cuts/antichain_states.h"

#include "base/hash.h"
#include "base/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The set of states during the search for them, one row each. */
typedef struct family {
    const fd_model *model; /* borrowed, like `layers` */
    const fd_layers *layers;
    fd_arena *arena; /* of the following memory */
    FD_VECTOR(uint64_t) rows;
    uint32_t count;      /* of rows */
    fd_index *index;     /* row -> index + 1 */
    uint64_t *next;      /* a temporary row */
    double *least_times; /* see fd_states, like the next */
    double *least_parameters;
} family;

static const uint64_t *
family_row(const family *f, uint32_t state)
{
    return &f->rows.list[(size_t)state * f->layers->words];
}

static void
release_index(void *index)
{
    fd_index_clear(index);
}

static family
make_family(fd_arena *arena, const fd_model *model, const fd_layers *layers)
{
    return (family){
        .model = model,
        .layers = layers,
        .arena = arena,
        .index = fd_arena_owned(arena, sizeof(fd_index), release_index),
        .next = fd_arena_new(arena, layers->words, sizeof(uint64_t))};
}

/* Find or add the row `next`; return its index. */
static uint32_t
put_row(family *f)
{
    uint32_t words = f->layers->words;
    size_t bytes = words * sizeof *f->next;
    uint64_t hash = fd_hash_bytes(f->next, bytes);
    fd_probe probe = fd_index_probe(f->index, hash);
    uint32_t found;
    while ((found = fd_index_next(f->index, &probe)) != 0) {
        if (memcmp(family_row(f, found - 1), f->next, bytes) == 0) {
            return found - 1;
        }
    }
    fd_arena_reserve(f->arena, &f->rows, words);
    memcpy(&f->rows.list[f->rows.count], f->next, bytes);
    f->rows.count += words;
    f->count++;
    fd_arena_check(f->arena, fd_index_add(f->index, hash, f->count));
    return f->count - 1;
}

/* Return whether a layer outside of a state has an input inside. If there is
 * no such layer, the first source outside follows; if there is no source, no
 * layer does. */
static bool
layer_follows(const family *f, const uint64_t *state, uint32_t layer)
{
    return !fd_bits_has(state, layer)
        && fd_layers_parent_in(f->layers, layer, state);
}

static uint32_t
next_source(const family *f, const uint64_t *state)
{
    const fd_layers *layers = f->layers;
    uint32_t layer = 0;
    for (; layer < layers->count; layer++) {
        const uint64_t *within = fd_layers_row(layers, layers->within, layer);
        bool source = true;
        for (uint32_t i = 0; i < layers->words; i++) {
            source = source
                  && (i == layer / 64 ? within[i] == UINT64_C(1) << layer % 64
                                      : within[i] == 0);
        }
        if (source && !fd_bits_has(state, layer)) {
            break;
        }
    }
    return layer;
}

/* Set `next` to the union of a state, a layer and its dependencies. */
static void
join_layer(const family *f, const uint64_t *state, uint32_t layer)
{
    uint32_t words = f->layers->words;
    memcpy(f->next, state, words * sizeof *f->next);
    fd_bits_join(f->next, fd_layers_row(f->layers, f->layers->within, layer),
                 words);
}

/* Add the first state, a single source; return its index. */
static uint32_t
begin_family(family *f)
{
    memset(f->next, 0, f->layers->words * sizeof *f->next);
    uint32_t source = next_source(f, f->next);
    join_layer(f, f->next, source);
    return put_row(f);
}

static double
time_of(const fd_layer *node)
{
    return (node->forward + node->backward) / 1000;
}

/* Note the minimum times and parameters of a step: the layers of `next` outside
 * of `state`, which are added together. */
static void
note_step(const family *f, const uint64_t *state)
{
    const fd_layers *layers = f->layers;
    double time = 0;
    double parameters = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t word = 0; word < layers->words; word++) {
            uint64_t added = f->next[word] & ~state[word];
            for (; added != 0; added &= added - 1) {
                uint32_t layer = word * 64 + (uint32_t)__builtin_ctzll(added);
                const fd_layer *node = &f->model->layers[layer];
                if (pass == 0) {
                    time += time_of(node);
                    parameters += node->parameters;
                    continue;
                }
                f->least_times[layer] = fmin(f->least_times[layer], time);
                f->least_parameters[layer] =
                    fmin(f->least_parameters[layer], parameters);
            }
        }
    }
}

/* Add the state that `layer` extends. */
static void
add_next(family *f, uint32_t state, uint32_t layer)
{
    join_layer(f, family_row(f, state), layer);
    note_step(f, family_row(f, state));
    put_row(f);
}

/* Add all states that follow a state. */
static void
follow_state(family *f, uint32_t state)
{
    bool any = false;
    for (uint32_t c = 0; c < f->layers->count; c++) {
        if (layer_follows(f, family_row(f, state), c)) {
            any = true;
            add_next(f, state, c);
        }
    }
    uint32_t source =
        any ? f->layers->count : next_source(f, family_row(f, state));
    if (source < f->layers->count) {
        add_next(f, state, source);
    }
}

/* Return the bytes that cross the border of a set of layers: each output that
 * crosses counts once. `wide`: PipeDream's count, which includes some tensors
 * that only layers inside use. `work` is memory for one set. */
static double
cut_bytes(const family *f, const uint64_t *set, uint64_t *work, bool wide)
{
    const fd_layers *layers = f->layers;
    double bytes = 0;
    memset(work, 0, layers->words * sizeof *work);
    for (uint32_t i = 0; i < layers->count; i++) {
        if (!fd_bits_has(set, i)) {
            continue;
        }
        bool last = !fd_layers_child_in(layers, i, set);
        if (last || (!wide && !fd_layers_children_in(layers, i, set))) {
            fd_bits_add(work, i);
        }
        if (last && wide) {
            fd_bits_join(work, fd_layers_row(layers, layers->leaving, i),
                         layers->words);
        }
    }
    for (uint32_t i = 0; i < layers->count; i++) {
        if (fd_bits_has(work, i)) {
            bytes += f->model->layers[i].activation;
        }
    }
    return bytes;
}

/* The cost of the next state of a chain: its time, or the bytes at its cut. */
typedef enum chain_cost { BY_TIME, BY_CUT } chain_cost;

static double
step_cost(family *f, uint64_t *work, chain_cost by)
{
    if (by == BY_CUT) {
        return cut_bytes(f, f->next, work, false);
    }
    double time = 0;
    for (uint32_t i = 0; i < f->layers->count; i++) {
        if (fd_bits_has(f->next, i)) {
            time += time_of(&f->model->layers[i]);
        }
    }
    return time;
}

/* Return the layer with the lowest cost after a state, or the number of layers
 * if no layer qualifies. */
static uint32_t
cheapest_layer(family *f, uint64_t *work, uint32_t state, chain_cost by)
{
    uint32_t best = f->layers->count;
    double least = INFINITY;
    for (uint32_t c = 0; c < f->layers->count; c++) {
        if (layer_follows(f, family_row(f, state), c)) {
            join_layer(f, family_row(f, state), c);
            double cost = step_cost(f, work, by);
            if (best == f->layers->count || cost < least) {
                best = c;
                least = cost;
            }
        }
    }
    return best;
}

/* Add a chain of states. */
static void
walk_chain(family *f, uint64_t *work, chain_cost by)
{
    uint32_t state = begin_family(f);
    for (;;) {
        uint32_t best = cheapest_layer(f, work, state, by);
        if (best == f->layers->count) {
            best = next_source(f, family_row(f, state));
        }
        if (best == f->layers->count) {
            return;
        }
        join_layer(f, family_row(f, state), best);
        state = put_row(f);
    }
}

static uint32_t
size_of(const uint64_t *set, uint32_t words)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < words; i++) {
        size += (uint32_t)__builtin_popcountll(set[i]);
    }
    return size;
}

/* Compare rows, which begin with their size. */
static int
by_size(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    if (x[0] != y[0]) {
        return x[0] < y[0] ? -1 : 1;
    }
    uint64_t words = x[1];
    for (uint64_t i = 2; i < words + 2; i++) {
        if (x[i] != y[i]) {
            /* Compare by the first layer that only one of the sets
             * contains. */
            uint64_t differ = x[i] ^ y[i];
            return (x[i] & (differ & -differ)) != 0 ? -1 : 1;
        }
    }
    return 0;
}

static void
sort_rows(const family *f, uint64_t *sets)
{
    uint32_t words = f->layers->words;
    size_t width = words + 2;
    uint64_t *sized = fd_arena_new(f->arena, f->count * width, sizeof *sized);
    for (uint32_t i = 0; i < f->count; i++) {
        uint64_t *to = &sized[i * width];
        to[0] = size_of(family_row(f, i), words);
        to[1] = words;
        memcpy(&to[2], family_row(f, i), words * sizeof *to);
    }
    qsort(sized, f->count, width * sizeof *sized, by_size);
    for (uint32_t i = 0; i < f->count; i++) {
        memcpy(&sets[(size_t)i * words], &sized[i * width + 2],
               words * sizeof *sets);
    }
    fd_arena_drop(sized);
}

/* Return whether all layers outside depend on all layers inside: each other
 * state is then a subset or superset. It is sufficient that layers with a
 * parent outside have only such inputs. */
static bool
is_waist(const fd_layers *layers, const uint64_t *state)
{
    for (uint32_t i = 0; i < layers->count; i++) {
        if (!fd_bits_has(state, i) && fd_layers_parents_in(layers, i, state)
            && !fd_bits_within(state, fd_layers_row(layers, layers->within, i),
                               layers->words)) {
            return false;
        }
    }
    return true;
}

static void
add_up(fd_states *states, const family *f)
{
    const fd_layers *layers = f->layers;
    for (uint32_t s = 0; s < states->count; s++) {
        const uint64_t *set = fd_state_set(states, s);
        for (uint32_t i = 0; i < layers->count; i++) {
            if (fd_bits_has(set, i)) {
                const fd_layer *node = &f->model->layers[i];
                states->times[s] += time_of(node);
                states->forward[s] += node->forward / 1000;
                states->activations[s] += node->activation;
                states->parameters[s] += node->parameters;
                states->saved[s] +=
                    node->saved < 0 ? node->activation : node->saved;
            }
        }
        states->waists[s] = is_waist(layers, set);
        states->cuts[s] = cut_bytes(f, set, f->next, false);
        states->wide_cuts[s] = cut_bytes(f, set, f->next, true);
    }
}

typedef struct timed {
    double time;
    uint32_t index;
} timed;

FD_ORDER_BY(by_time, timed, time, index)

static void
order_by_time(const fd_states *states, fd_arena *work)
{
    timed *list = fd_arena_new(work, states->count, sizeof *list);
    for (uint32_t i = 0; i < states->count; i++) {
        list[i] = (timed){states->times[i], i};
    }
    qsort(list, states->count, sizeof *list, by_time);
    for (uint32_t i = 0; i < states->count; i++) {
        states->by_time[i] = list[i].index;
    }
}

static void
fill_states(fd_states *states, fd_arena *arena, const family *f)
{
    size_t count = f->count;
    states->count = f->count;
    states->words = f->layers->words;
    states->sets =
        fd_arena_new(arena, count * states->words, sizeof *states->sets);
    states->by_time = fd_arena_new(arena, count, sizeof *states->by_time);
    states->waists = fd_arena_new(arena, count, sizeof *states->waists);
    double **const columns[] = {&states->times,       &states->forward,
                                &states->activations, &states->parameters,
                                &states->saved,       &states->cuts,
                                &states->wide_cuts};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        *columns[i] = fd_arena_new(arena, count, sizeof **columns[i]);
    }
    sort_rows(f, states->sets);
    add_up(states, f);
    order_by_time(states, f->arena);
}

static double
time_of_set(const family *f, const uint64_t *set)
{
    double time = 0;
    for (uint32_t word = 0; word < f->layers->words; word++) {
        for (uint64_t left = set[word]; left != 0; left &= left - 1) {
            uint32_t layer = word * 64 + (uint32_t)__builtin_ctzll(left);
            time += time_of(&f->model->layers[layer]);
        }
    }
    return time;
}

/* Return whether a plan within the cap may be cut after `time`. */
static bool
is_wanted(const fd_states_limits *limits, double time, double whole)
{
    double slack = 1e-9 * whole;
    double before = fmax(ceil((time - slack) / limits->cap), 1);
    return whole - time <= (limits->machines - before) * limits->cap + slack;
}

/* Keep the rows within the limits, and the whole graph. */
static void
keep_wanted(family *f, const fd_states_limits *limits)
{
    uint32_t words = f->layers->words;
    double whole = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->layers->count; i++) {
        whole += time_of(&f->model->layers[i]);
    }
    for (uint32_t i = 0; i < f->count; i++) {
        const uint64_t *row = family_row(f, i);
        if (size_of(row, words) == f->layers->count
            || is_wanted(limits, time_of_set(f, row), whole)) {
            memmove(&f->rows.list[(size_t)kept * words], row,
                    words * sizeof *row);
            kept++;
        }
    }
    f->count = kept;
}

/* Keep at most `most` rows of each chain, evenly spaced in time, and the whole
 * graph. */
static void
thin_out(family *f, uint32_t most)
{
    uint32_t words = f->layers->words;
    double whole = 0;
    uint32_t kept = 0;
    double next = 0;
    double before = 0;
    for (uint32_t i = 0; i < f->layers->count; i++) {
        whole += time_of(&f->model->layers[i]);
    }
    for (uint32_t i = 0; i < f->count; i++) {
        const uint64_t *row = family_row(f, i);
        bool last = size_of(row, words) == f->layers->count;
        double time = time_of_set(f, row);
        next = time < before ? 0 : next;
        before = time;
        if (last || time >= next) {
            memmove(&f->rows.list[(size_t)kept * words], row,
                    words * sizeof *row);
            kept++;
            next = whole * (floor(time / whole * most) + 1) / most;
        }
    }
    f->count = kept;
}

/* Note each layer alone, a lower bound for any set of states. */
static void
each_alone(const family *f)
{
    for (uint32_t i = 0; i < f->layers->count; i++) {
        const fd_layer *node = &f->model->layers[i];
        f->least_times[i] = time_of(node);
        f->least_parameters[i] = node->parameters;
    }
}

/* Note the first state, a single source. */
static void
note_start(const family *f)
{
    uint32_t layer = 0;
    while (!fd_bits_has(family_row(f, 0), layer)) {
        layer++;
    }
    const fd_layer *node = &f->model->layers[layer];
    f->least_times[layer] = time_of(node);
    f->least_parameters[layer] = node->parameters;
}

/* Find the family, and keep the states within the limits. */
static fd_status
find_all(family *f, const fd_states_limits *limits, uint32_t *found)
{
    for (uint32_t i = 0; i < f->layers->count; i++) {
        f->least_times[i] = INFINITY;
        f->least_parameters[i] = INFINITY;
    }
    begin_family(f);
    note_start(f);
    for (uint32_t at = 0; at < f->count && f->count <= limits->found; at++) {
        follow_state(f, at);
    }
    *found = f->count;
    if (f->count > limits->found) {
        return FD_EFULL;
    }
    if (f->count > limits->few && isfinite(limits->cap)) {
        keep_wanted(f, limits);
    }
    return f->count > limits->kept ? FD_EFULL : FD_OK;
}

/* Find one chain by time, and one by the bytes at each cut. */
static void
find_chains(family *f, uint32_t most)
{
    uint64_t *work = fd_arena_new(f->arena, f->layers->words, sizeof *work);
    each_alone(f);
    walk_chain(f, work, BY_TIME);
    walk_chain(f, work, BY_CUT);
    if (f->count > most) {
        thin_out(f, most);
    }
}

fd_status
fd_states_make(fd_states *states, fd_arena *arena, const fd_model *model,
               const fd_layers *layers, const fd_states_limits *limits)
{
    fd_arena *work = fd_arena_part(arena);
    family f = make_family(work, model, layers);
    fd_status status = FD_OK;
    f.least_times = fd_arena_new(arena, layers->count, sizeof *f.least_times);
    f.least_parameters =
        fd_arena_new(arena, layers->count, sizeof *f.least_parameters);
    *states = (fd_states){.complete = limits->found > 0,
                          .least_times = f.least_times,
                          .least_parameters = f.least_parameters};
    if (states->complete) {
        status = find_all(&f, limits, &states->found);
    }
    else {
        find_chains(&f, limits->chain);
    }
    if (status == FD_OK) {
        fill_states(states, arena, &f);
    }
    fd_arena_drop(work);
    return status;
}

uint32_t
fd_states_until(const fd_states *states, double time)
{
    uint32_t low = 0;
    uint32_t high = states->count;
    FD_BISECT(low, high, states->times[states->by_time[middle]] <= time);
    return low;
}
