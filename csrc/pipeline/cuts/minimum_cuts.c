#include "pipeline/cuts/minimum_cuts.h"

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

/* Nodes of the flow: source, sink, and each free layer with its output. */
enum { INSIDE, OUTSIDE, FIRST_FREE };

static fd_status
add_edge(fd_cut_flow *f, uint32_t from, uint32_t to, double capacity)
{
    const fd_flow_edge both[2] = {{to, f->heads[from], capacity},
                                  {from, f->heads[to], 0}};
    fd_status status = FD_OK;
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        status = fd_vector_push(&f->edges, both[i]);
        f->heads[i == 0 ? from : to] = f->edges.count;
    }
    return status;
}

static void
place_layers(fd_cut_flow *f, const uint64_t *inside, const uint64_t *outside)
{
    f->nodes = FIRST_FREE;
    for (uint32_t i = 0; i < f->layers->count; i++) {
        f->node_of[i] = fd_bits_has(inside, i)  ? (uint32_t)INSIDE
                      : fd_bits_has(outside, i) ? (uint32_t)OUTSIDE
                                                : f->nodes;
        f->nodes += f->node_of[i] >= FIRST_FREE ? 2 : 0;
    }
}

/* Add the edges of an output. An output that crosses counts once; an output
 * without users crosses; all inputs of a layer inside are inside. */
static fd_status
add_output(fd_cut_flow *f, uint32_t layer)
{
    const fd_model *model = f->model;
    uint32_t node = f->layers->nodes[layer];
    uint32_t own = f->node_of[layer];
    uint32_t output = own >= FIRST_FREE ? own + 1 : f->nodes;
    bool crosses = false;
    bool used = false;
    fd_status status = FD_OK;
    for (uint32_t at = model->out_first[node];
         at < model->out_first[node + 1] && status == FD_OK; at++) {
        uint32_t other = f->layers->layer_of[model->out_list[at]];
        uint32_t to =
            other < f->layers->count ? f->node_of[other] : (uint32_t)INSIDE;
        used = used || other < f->layers->count;
        if (to == INSIDE) {
            continue;
        }
        crosses = true;
        status = add_edge(f, output, to, INFINITY);
        if (status == FD_OK && own >= FIRST_FREE && to >= FIRST_FREE) {
            status = add_edge(f, to, own, INFINITY);
        }
    }
    if (!used && status == FD_OK) {
        status = add_edge(f, own, OUTSIDE, model->nodes.list[node].activation);
    }
    if (crosses && status == FD_OK) {
        f->nodes += output == f->nodes;
        status = add_edge(f, own, output, model->nodes.list[node].activation);
    }
    return status;
}

static fd_status
add_edges(fd_cut_flow *f)
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

/* Search an augmenting path, and mark the nodes that residual edges from the
 * inside reach. */
static bool
find_path(fd_cut_flow *f)
{
    uint32_t count = 1;
    memset(f->reached, 0, f->nodes * sizeof *f->reached);
    f->queue[0] = INSIDE;
    f->reached[INSIDE] = UINT32_MAX;
    for (uint32_t i = 0; i < count && f->reached[OUTSIDE] == 0; i++) {
        for (uint32_t at = f->heads[f->queue[i]]; at != 0;
             at = f->edges.list[at - 1].next) {
            const fd_flow_edge *e = &f->edges.list[at - 1];
            if (e->left > 0 && f->reached[e->to] == 0) {
                f->reached[e->to] = at;
                f->queue[count++] = e->to;
            }
        }
    }
    return f->reached[OUTSIDE] != 0;
}

/* Add a flow along the path, and return its bytes. */
static double
add_flow(fd_cut_flow *f)
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
    return most;
}

fd_status
fd_cut_flow_make(fd_cut_flow *f, const fd_model *model,
                 const fd_layers *layers)
{
    size_t nodes = 3 * (size_t)layers->count + FIRST_FREE;
    *f = (fd_cut_flow){.model = model, .layers = layers};
    f->node_of = fd_calloc(layers->count, sizeof *f->node_of);
    f->heads = fd_calloc(nodes, sizeof *f->heads);
    f->reached = fd_calloc(nodes, sizeof *f->reached);
    f->queue = fd_calloc(nodes, sizeof *f->queue);
    return f->node_of != NULL && f->heads != NULL && f->reached != NULL
                && f->queue != NULL
             ? FD_OK
             : FD_ENOMEM;
}

void
fd_cut_flow_clear(fd_cut_flow *f)
{
    fd_free(f->node_of);
    fd_free(f->heads);
    fd_free(f->reached);
    fd_free(f->queue);
    fd_vector_clear(&f->edges);
    *f = (fd_cut_flow){.nodes = 0};
}

fd_status
fd_cut_flow_find(fd_cut_flow *f, const uint64_t *inside,
                 const uint64_t *outside, double *bytes, uint64_t *cut)
{
    place_layers(f, inside, outside);
    fd_status status = add_edges(f);
    if (status != FD_OK) {
        return status;
    }
    *bytes = 0;
    while (find_path(f)) {
        *bytes += add_flow(f);
    }
    memset(cut, 0, f->layers->words * sizeof *cut);
    for (uint32_t i = 0; i < f->layers->count; i++) {
        if (f->reached[f->node_of[i]] != 0) {
            fd_bits_add(cut, i);
        }
    }
    return FD_OK;
}
