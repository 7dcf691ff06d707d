#include "pipeline/planner/minimum_cuts.h"

#include <math.h>
#include <string.h>

double
fd_cut_bytes(const fd_model *model, const fd_layers *layers,
             const uint64_t *set, uint64_t *work, bool wide)
{
    double bytes = 0;
    uint32_t words = layers->words;
    memset(work, 0, words * sizeof *work);
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
                         words);
        }
    }
    for (uint32_t i = 0; i < layers->count; i++) {
        if (fd_bits_has(work, i)) {
            bytes += model->nodes.list[layers->nodes[i]].activation;
        }
    }
    return bytes;
}

enum { MOST_LAYERS = 8192 };

/* Nodes of the flow: these two, and each free layer with its output. */
enum { INSIDE, OUTSIDE, FIRST_FREE };

/* The reverse of an edge is the one with the other last bit. */
typedef struct edge {
    uint32_t to;
    uint32_t next; /* the next edge of the node, + 1; 0: the last */
    double left;
} edge;

typedef struct flow {
    const fd_model *model;
    const fd_layers *layers;
    double *before; /* owned; per layer: seconds of it and its dependencies */
    double *after;  /* owned; of it and the layers that depend on it */
    double whole;
    uint32_t *node_of; /* owned; per layer */
    uint32_t *heads;   /* owned; per node: its first edge, + 1 */
    uint32_t *reached; /* owned; per node: the edge that reached it, + 1 */
    uint32_t *queue;   /* owned */
    uint32_t nodes;
    FD_VECTOR(edge) edges;
} flow;

static double
time_of(const flow *f, uint32_t layer)
{
    const fd_model_node *node = &f->model->nodes.list[f->layers->nodes[layer]];
    return (node->forward + node->backward) / 1000;
}

static void
find_times(flow *f)
{
    for (uint32_t i = 0; i < f->layers->count; i++) {
        const uint64_t *within =
            fd_layers_row(f->layers, f->layers->within, i);
        double time = time_of(f, i);
        f->whole += time;
        for (uint32_t word = 0; word < f->layers->words; word++) {
            for (uint64_t left = within[word]; left != 0; left &= left - 1) {
                uint32_t other = word * 64 + (uint32_t)__builtin_ctzll(left);
                f->before[i] += time_of(f, other);
                f->after[other] += time;
            }
        }
    }
}

static fd_status
add_edge(flow *f, uint32_t from, uint32_t to, double capacity)
{
    const edge both[2] = {{to, f->heads[from], capacity},
                          {from, f->heads[to], 0}};
    fd_status status = FD_OK;
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        status = fd_vector_push(&f->edges, both[i]);
        f->heads[i == 0 ? from : to] = f->edges.count;
    }
    return status;
}

/* Set the node of each layer for states that take `from` to `until`; false: no
 * state does. */
static bool
place_layers(flow *f, double from, double until)
{
    double slack = 1e-9 * f->whole;
    bool possible = true;
    f->nodes = FIRST_FREE;
    for (uint32_t i = 0; i < f->layers->count; i++) {
        bool inside = from > f->whole - f->after[i] + slack;
        bool outside = until < f->before[i] - slack;
        possible = possible && !(inside && outside);
        f->node_of[i] = inside ? INSIDE : outside ? OUTSIDE : f->nodes;
        f->nodes += !inside && !outside ? 2 : 0;
    }
    return possible;
}

/* Each output that crosses counts once; all inputs of a layer inside are
 * inside. */
static fd_status
add_output(flow *f, uint32_t layer)
{
    const fd_model *model = f->model;
    uint32_t node = f->layers->nodes[layer];
    uint32_t own = f->node_of[layer];
    uint32_t output = own >= FIRST_FREE ? own + 1 : f->nodes;
    bool crosses = false;
    fd_status status = FD_OK;
    for (uint32_t at = model->out_first[node];
         at < model->out_first[node + 1] && status == FD_OK; at++) {
        uint32_t other = f->layers->layer_of[model->out_list[at]];
        uint32_t to =
            other < f->layers->count ? f->node_of[other] : (uint32_t)INSIDE;
        if (to == INSIDE) {
            continue;
        }
        crosses = true;
        status = add_edge(f, output, to, INFINITY);
        if (status == FD_OK && own >= FIRST_FREE && to >= FIRST_FREE) {
            status = add_edge(f, to, own, INFINITY);
        }
    }
    if (crosses && status == FD_OK) {
        f->nodes += output == f->nodes;
        status = add_edge(f, own, output, model->nodes.list[node].activation);
    }
    return status;
}

static fd_status
add_edges(flow *f)
{
    fd_status status = FD_OK;
    memset(f->heads, 0, (3 * (size_t)f->layers->count + 2) * sizeof *f->heads);
    f->edges.count = 0;
    for (uint32_t i = 0; i < f->layers->count && status == FD_OK; i++) {
        if (f->node_of[i] != OUTSIDE) {
            status = add_output(f, i);
        }
    }
    return status;
}

/* Search an augmenting path; marks the nodes that residual edges from the
 * inside reach. */
static bool
find_path(flow *f)
{
    uint32_t count = 1;
    memset(f->reached, 0, f->nodes * sizeof *f->reached);
    f->queue[0] = INSIDE;
    f->reached[INSIDE] = UINT32_MAX;
    for (uint32_t i = 0; i < count && f->reached[OUTSIDE] == 0; i++) {
        for (uint32_t at = f->heads[f->queue[i]]; at != 0;
             at = f->edges.list[at - 1].next) {
            const edge *e = &f->edges.list[at - 1];
            if (e->left > 0 && f->reached[e->to] == 0) {
                f->reached[e->to] = at;
                f->queue[count++] = e->to;
            }
        }
    }
    return f->reached[OUTSIDE] != 0;
}

static void
add_flow(flow *f)
{
    double most = INFINITY;
    for (uint32_t node = OUTSIDE; node != INSIDE;) {
        uint32_t at = f->reached[node] - 1;
        most = fmin(most, f->edges.list[at].left);
        node = f->edges.list[at ^ 1].to;
    }
    for (uint32_t node = OUTSIDE; node != INSIDE;) {
        uint32_t at = f->reached[node] - 1;
        f->edges.list[at].left -= most;
        f->edges.list[at ^ 1].left += most;
        node = f->edges.list[at ^ 1].to;
    }
}

/* Add the layers on the inner side of the cut, if they are a state and not the
 * last one again. */
static void
keep(flow *f, fd_minimum_cuts *cuts)
{
    uint64_t *row = &cuts->sets[(size_t)cuts->count * cuts->words];
    uint32_t inside = 0;
    memset(row, 0, cuts->words * sizeof *row);
    for (uint32_t i = 0; i < f->layers->count; i++) {
        if (f->reached[f->node_of[i]] != 0) {
            fd_bits_add(row, i);
            inside++;
        }
    }
    bool again =
        cuts->count > 0
        && memcmp(row - cuts->words, row, cuts->words * sizeof *row) == 0;
    cuts->count += inside > 0 && inside < f->layers->count && !again;
}

static fd_status
find_cut(flow *f, fd_minimum_cuts *cuts, double from, double until)
{
    if (!place_layers(f, from, until)) {
        return FD_OK;
    }
    fd_status status = add_edges(f);
    if (status == FD_OK) {
        while (find_path(f)) {
            add_flow(f);
        }
        keep(f, cuts);
    }
    return status;
}

fd_status
fd_minimum_cuts_make(fd_minimum_cuts *cuts, const fd_model *model,
                     const fd_layers *layers, uint32_t windows)
{
    *cuts = (fd_minimum_cuts){.words = layers->words};
    if (layers->count > MOST_LAYERS) {
        return FD_OK;
    }
    size_t nodes = 3 * (size_t)layers->count + FIRST_FREE;
    flow f = {.model = model, .layers = layers};
    f.before = fd_calloc(layers->count, sizeof *f.before);
    f.after = fd_calloc(layers->count, sizeof *f.after);
    f.node_of = fd_calloc(layers->count, sizeof *f.node_of);
    f.heads = fd_calloc(nodes, sizeof *f.heads);
    f.reached = fd_calloc(nodes, sizeof *f.reached);
    f.queue = fd_calloc(nodes, sizeof *f.queue);
    cuts->sets = fd_calloc((size_t)windows * layers->words, sizeof(uint64_t));
    bool made = f.before != NULL && f.after != NULL && f.node_of != NULL
             && f.heads != NULL && f.reached != NULL && f.queue != NULL
             && cuts->sets != NULL;
    fd_status status = made ? FD_OK : FD_ENOMEM;
    if (made) {
        find_times(&f);
    }
    for (uint32_t i = 0; i < windows && status == FD_OK; i++) {
        status = find_cut(&f, cuts, f.whole * i / windows,
                          f.whole * (i + 1) / windows);
    }
    fd_free(f.before);
    fd_free(f.after);
    fd_free(f.node_of);
    fd_free(f.heads);
    fd_free(f.reached);
    fd_free(f.queue);
    fd_vector_clear(&f.edges);
    return status;
}

void
fd_minimum_cuts_clear(fd_minimum_cuts *cuts)
{
    fd_free(cuts->sets);
    *cuts = (fd_minimum_cuts){.count = 0};
}
