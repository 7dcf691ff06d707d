#include "pipeline/planner/antichain_states.h"

#include "base/hash.h"
#include "pipeline/planner/bit_sets.h"
#include "pipeline/planner/minimum_cuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* States while they are found: a set of rows. */
typedef struct family {
    const fd_model *model;
    const fd_layers *layers;
    uint64_t *rows; /* owned */
    uint32_t count;
    uint32_t room;
    fd_index index;      /* row + 1 */
    uint64_t *next;      /* owned; a row to work in */
    double *least_times; /* taken over by the states, as the one below */
    double *least_parameters;
} family;

static void
clear(family *f)
{
    fd_free(f->rows);
    fd_free(f->next);
    fd_index_clear(&f->index);
}

static const uint64_t *
row_of(const family *f, uint32_t state)
{
    return &f->rows[(size_t)state * f->layers->words];
}

/* The place of `next` among the rows; a new one is appended. */
static fd_status
put(family *f, uint32_t *place)
{
    uint32_t words = f->layers->words;
    uint64_t hash = fd_hash_bytes(f->next, words * sizeof *f->next);
    fd_probe probe = fd_index_probe(&f->index, hash);
    uint32_t found;
    while ((found = fd_index_next(&f->index, &probe)) != 0) {
        if (memcmp(row_of(f, found - 1), f->next, words * sizeof *f->next)
            == 0) {
            *place = found - 1;
            return FD_OK;
        }
    }
    if (f->count == f->room) {
        size_t room = f->room > 0 ? (size_t)f->room * 2 : 64;
        uint64_t *rows = room > UINT32_MAX
                           ? NULL
                           : fd_realloc(f->rows, room * words * sizeof *rows);
        if (rows == NULL) {
            return FD_ENOMEM;
        }
        f->rows = rows;
        f->room = (uint32_t)room;
    }
    memcpy(&f->rows[(size_t)f->count * words], f->next,
           words * sizeof *f->next);
    *place = f->count++;
    return fd_index_add(&f->index, hash, f->count);
}

/* Whether a layer outside of a state has an input inside. Without such a
 * layer, the first source outside is next. */
static bool
may_follow(const family *f, const uint64_t *state, uint32_t layer)
{
    return !fd_bits_has(state, layer)
        && fd_layers_parent_in(f->layers, layer, state);
}

static uint32_t
first_source(const family *f, const uint64_t *state)
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

static double
time_of(const fd_model_node *node)
{
    return (node->forward + node->backward) / 1000;
}

/* Layers of `next` outside of `state` are added together. */
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
                const fd_model_node *node =
                    &f->model->nodes.list[layers->nodes[layer]];
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

static void
join(const family *f, const uint64_t *state, uint32_t layer)
{
    uint32_t words = f->layers->words;
    memcpy(f->next, state, words * sizeof *f->next);
    fd_bits_join(f->next, fd_layers_row(f->layers, f->layers->within, layer),
                 words);
}

/* Add all states that follow a state. */
static fd_status
follow(family *f, uint32_t state)
{
    uint32_t place;
    bool any = false;
    fd_status status = FD_OK;
    for (uint32_t c = 0; c < f->layers->count && status == FD_OK; c++) {
        if (may_follow(f, row_of(f, state), c)) {
            any = true;
            join(f, row_of(f, state), c);
            note_step(f, row_of(f, state));
            status = put(f, &place);
        }
    }
    if (!any && status == FD_OK) {
        uint32_t source = first_source(f, row_of(f, state));
        if (source < f->layers->count) {
            join(f, row_of(f, state), source);
            note_step(f, row_of(f, state));
            status = put(f, &place);
        }
    }
    return status;
}

static fd_status
begin(family *f, uint32_t *place)
{
    memset(f->next, 0, f->layers->words * sizeof *f->next);
    uint32_t source = first_source(f, f->next);
    join(f, f->next, source);
    return put(f, place);
}

/* The cost of the next state of a chain: its time, or the bytes at its cut. */
typedef enum chain_cost { BY_TIME, BY_CUT, BY_WIDE_CUT } chain_cost;

static double
step_cost(family *f, uint64_t *work, chain_cost by)
{
    if (by != BY_TIME) {
        return fd_cut_bytes(f->model, f->layers, f->next, work,
                            by == BY_WIDE_CUT);
    }
    double time = 0;
    for (uint32_t i = 0; i < f->layers->count; i++) {
        if (fd_bits_has(f->next, i)) {
            time += time_of(&f->model->nodes.list[f->layers->nodes[i]]);
        }
    }
    return time;
}

/* The layer with the lowest cost after a state, among those in `target` (NULL:
 * all); the number of layers if no layer qualifies. */
static uint32_t
cheapest(family *f, uint64_t *work, uint32_t state, const uint64_t *target,
         chain_cost by)
{
    uint32_t best = f->layers->count;
    double least = INFINITY;
    for (uint32_t c = 0; c < f->layers->count; c++) {
        if ((target == NULL || fd_bits_has(target, c))
            && may_follow(f, row_of(f, state), c)) {
            join(f, row_of(f, state), c);
            double cost = step_cost(f, work, by);
            if (best == f->layers->count || cost < least) {
                best = c;
                least = cost;
            }
        }
    }
    return best;
}

/* A chain of states, through those of the `targets` that contain the ones
 * before them. */
static fd_status
walk(family *f, uint64_t *work, const fd_minimum_cuts *targets, chain_cost by)
{
    uint32_t words = f->layers->words;
    uint32_t state;
    uint32_t at = 0;
    fd_status status = begin(f, &state);
    while (status == FD_OK) {
        uint32_t best = f->layers->count;
        for (; at < targets->count && best == f->layers->count; at++) {
            const uint64_t *target = &targets->sets[(size_t)at * words];
            if (fd_bits_within(row_of(f, state), target, words)) {
                best = cheapest(f, work, state, target, by);
            }
        }
        at -= best < f->layers->count;
        if (best == f->layers->count) {
            best = cheapest(f, work, state, NULL, by);
        }
        if (best == f->layers->count) {
            best = first_source(f, row_of(f, state));
        }
        if (best == f->layers->count) {
            return FD_OK;
        }
        join(f, row_of(f, state), best);
        status = put(f, &state);
    }
    return status;
}

/* One chain by time, one by the bytes at each cut, and two through cuts with
 * the fewest bytes. */
static fd_status
walk_chains(family *f, uint64_t *work, bool few)
{
    enum { WINDOWS = 64 };
    fd_minimum_cuts targets = {.count = 0};
    fd_status status = walk(f, work, &targets, BY_TIME);
    if (status == FD_OK) {
        status = walk(f, work, &targets, BY_CUT);
    }
    if (status == FD_OK && !few) {
        status = fd_minimum_cuts_make(&targets, f->model, f->layers, WINDOWS);
    }
    if (status == FD_OK && targets.count > 0) {
        status = walk(f, work, &targets, BY_CUT);
    }
    if (status == FD_OK && targets.count > 0) {
        status = walk(f, work, &targets, BY_WIDE_CUT);
    }
    fd_minimum_cuts_clear(&targets);
    return status;
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

/* Order of rows that begin with their size. */
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

static fd_status
sort_rows(const family *f, uint64_t *sets)
{
    uint32_t words = f->layers->words;
    size_t width = words + 2;
    uint64_t *sized = fd_malloc(f->count * width * sizeof *sized);
    if (sized == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        uint64_t *to = &sized[i * width];
        to[0] = size_of(row_of(f, i), words);
        to[1] = words;
        memcpy(&to[2], row_of(f, i), words * sizeof *to);
    }
    qsort(sized, f->count, width * sizeof *sized, by_size);
    for (uint32_t i = 0; i < f->count; i++) {
        memcpy(&sets[(size_t)i * words], &sized[i * width + 2],
               words * sizeof *sets);
    }
    fd_free(sized);
    return FD_OK;
}

/* Whether all layers outside depend on all layers inside: each state is then
 * inside or around this one. Layers with a parent outside depend on all inputs
 * of it. */
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
                const fd_model_node *node =
                    &f->model->nodes.list[layers->nodes[i]];
                states->times[s] += time_of(node);
                states->forward[s] += node->forward / 1000;
                states->activations[s] += node->activation;
                states->parameters[s] += node->parameters;
                states->saved[s] +=
                    node->saved < 0 ? node->activation : node->saved;
            }
        }
        states->waists[s] = is_waist(layers, set);
        states->cuts[s] = fd_cut_bytes(f->model, layers, set, f->next, false);
        states->wide_cuts[s] =
            fd_cut_bytes(f->model, layers, set, f->next, true);
    }
}

static fd_status
fill(fd_states *states, const family *f)
{
    size_t count = f->count;
    states->count = f->count;
    states->words = f->layers->words;
    states->sets = fd_calloc(count * states->words, sizeof *states->sets);
    states->by_time = fd_calloc(count, sizeof *states->by_time);
    states->waists = fd_calloc(count, sizeof *states->waists);
    double **const columns[] = {&states->times,       &states->forward,
                                &states->activations, &states->parameters,
                                &states->saved,       &states->cuts,
                                &states->wide_cuts};
    bool made = states->sets != NULL && states->by_time != NULL
             && states->waists != NULL;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        *columns[i] = fd_calloc(count, sizeof **columns[i]);
        made = made && *columns[i] != NULL;
    }
    fd_status status = made ? sort_rows(f, states->sets) : FD_ENOMEM;
    if (status == FD_OK) {
        add_up(states, f);
        status = fd_time_order(states->by_time, states->times, states->count);
    }
    return status;
}

static double
time_of_set(const family *f, const uint64_t *set)
{
    double time = 0;
    for (uint32_t word = 0; word < f->layers->words; word++) {
        for (uint64_t left = set[word]; left != 0; left &= left - 1) {
            uint32_t layer = word * 64 + (uint32_t)__builtin_ctzll(left);
            time += time_of(&f->model->nodes.list[f->layers->nodes[layer]]);
        }
    }
    return time;
}

/* Whether a plan within the cap may be cut after `time`. */
static bool
is_within(double cap, double machines, double time, double whole)
{
    double slack = 1e-9 * whole;
    double before = ceil((time - slack) / cap);
    return whole - time <= (machines - fmax(before, 1)) * cap + slack;
}

static bool
is_wanted(const fd_states_limits *limits, double time, double whole)
{
    return is_within(limits->cap, limits->machines, time, whole)
        || (limits->more_machines > 0
            && is_within(limits->more_cap, limits->more_machines, time,
                         whole));
}

/* Keep the rows within the limits, and the whole graph. */
static void
keep_wanted(family *f, const fd_states_limits *limits)
{
    uint32_t words = f->layers->words;
    double whole = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->layers->count; i++) {
        whole += time_of(&f->model->nodes.list[f->layers->nodes[i]]);
    }
    for (uint32_t i = 0; i < f->count; i++) {
        const uint64_t *row = row_of(f, i);
        if (size_of(row, words) == f->layers->count
            || is_wanted(limits, time_of_set(f, row), whole)) {
            memmove(&f->rows[(size_t)kept * words], row, words * sizeof *row);
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
        whole += time_of(&f->model->nodes.list[f->layers->nodes[i]]);
    }
    for (uint32_t i = 0; i < f->count; i++) {
        const uint64_t *row = row_of(f, i);
        bool last = size_of(row, words) == f->layers->count;
        double time = time_of_set(f, row);
        next = time < before ? 0 : next;
        before = time;
        if (last || time >= next) {
            memmove(&f->rows[(size_t)kept * words], row, words * sizeof *row);
            kept++;
            next = whole * (floor(time / whole * most) + 1) / most;
        }
    }
    f->count = kept;
}

/* For any set of states: each layer alone. */
static void
each_alone(const family *f)
{
    for (uint32_t i = 0; i < f->layers->count; i++) {
        const fd_model_node *node = &f->model->nodes.list[f->layers->nodes[i]];
        f->least_times[i] = time_of(node);
        f->least_parameters[i] = node->parameters;
    }
}

/* The first state is a source alone. */
static void
note_start(const family *f)
{
    uint32_t layer = 0;
    while (!fd_bits_has(row_of(f, 0), layer)) {
        layer++;
    }
    const fd_model_node *node = &f->model->nodes.list[f->layers->nodes[layer]];
    f->least_times[layer] = time_of(node);
    f->least_parameters[layer] = node->parameters;
}

static fd_status
find_all(family *f, uint32_t most, bool *complete)
{
    uint32_t place;
    fd_status status = begin(f, &place);
    uint32_t at = 0;
    if (status != FD_OK) {
        return status;
    }
    for (uint32_t i = 0; i < f->layers->count; i++) {
        f->least_times[i] = INFINITY;
        f->least_parameters[i] = INFINITY;
    }
    note_start(f);
    for (; at < f->count && f->count <= most && status == FD_OK; at++) {
        status = follow(f, at);
    }
    *complete = at == f->count && f->count <= most;
    return status;
}

fd_status
fd_states_make(fd_states *states, const fd_model *model,
               const fd_layers *layers, const fd_states_limits *limits)
{
    *states = (fd_states){.count = 0};
    family f = {.model = model, .layers = layers};
    f.next = fd_calloc(layers->words, sizeof *f.next);
    uint64_t *work = fd_calloc(layers->words, sizeof *work);
    f.least_times = fd_calloc(layers->count, sizeof *f.least_times);
    f.least_parameters = fd_calloc(layers->count, sizeof *f.least_parameters);
    states->least_times = f.least_times;
    states->least_parameters = f.least_parameters;
    bool made = f.next != NULL && work != NULL && f.least_times != NULL
             && f.least_parameters != NULL;
    fd_status status = made ? FD_OK : FD_ENOMEM;
    if (status == FD_OK && limits->found > 0) {
        status = find_all(&f, limits->found, &states->complete);
        states->found = f.count;
        fd_index_clear(&f.index);
    }
    if (status == FD_OK && states->complete && f.count > limits->few
        && isfinite(limits->cap) && isfinite(limits->more_cap)) {
        keep_wanted(&f, limits);
    }
    states->complete = states->complete && f.count <= limits->kept;
    if (status == FD_OK && !states->complete) {
        f.count = 0;
        each_alone(&f);
        status = walk_chains(&f, work, limits->few_chains);
        if (status == FD_OK && limits->chain > 0 && f.count > limits->chain) {
            thin_out(&f, limits->chain);
        }
    }
    if (status == FD_OK) {
        status = fill(states, &f);
    }
    fd_free(work);
    clear(&f);
    return status;
}

uint32_t
fd_states_until(const fd_states *states, double time)
{
    uint32_t low = 0;
    uint32_t high = states->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (states->times[states->by_time[middle]] <= time) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

void
fd_states_clear(fd_states *states)
{
    fd_free(states->sets);
    fd_free(states->times);
    fd_free(states->forward);
    fd_free(states->activations);
    fd_free(states->parameters);
    fd_free(states->saved);
    fd_free(states->cuts);
    fd_free(states->wide_cuts);
    fd_free(states->by_time);
    fd_free(states->waists);
    fd_free(states->least_times);
    fd_free(states->least_parameters);
    memset(states, 0, sizeof *states);
}
