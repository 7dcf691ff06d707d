#include "pipeline/planner/layer_graph.h"

#include "base/hash.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void
fd_model_clear(fd_model *model)
{
    fd_buffer_clear(&model->texts);
    fd_index_clear(&model->ids);
    fd_vector_clear(&model->nodes);
    fd_vector_clear(&model->edges);
    fd_vector_clear(&model->sizes);
    fd_free(model->in_first);
    fd_free(model->in_list);
    fd_free(model->out_first);
    fd_free(model->out_list);
    fd_free(model->order);
    memset(model, 0, sizeof *model);
}

uint32_t
fd_model_keep(fd_model *model, const char *text, size_t size)
{
    if (model->texts.size == 0) {
        fd_buffer_bytes(&model->texts, "", 1);
    }
    size_t at = model->texts.size;
    if (size == 0) {
        return 0;
    }
    if (at + size >= UINT32_MAX) {
        model->texts.status = FD_ENOMEM;
    }
    fd_buffer_bytes(&model->texts, text, size);
    fd_buffer_bytes(&model->texts, "", 1);
    return model->texts.status == FD_OK ? (uint32_t)at : 0;
}

uint32_t
fd_model_find(const fd_model *model, const char *id, size_t size)
{
    fd_probe probe = fd_index_probe(&model->ids, fd_hash_bytes(id, size));
    uint32_t index;
    while ((index = fd_index_next(&model->ids, &probe)) != 0) {
        const char *other =
            fd_model_text(model, model->nodes.list[index - 1].id);
        if (strlen(other) == size && memcmp(other, id, size) == 0) {
            return index - 1;
        }
    }
    return model->nodes.count;
}

static fd_status
check_texts(const fd_model *model, const fd_model_node *node, fd_error *error)
{
    const char *id = fd_model_text(model, node->id);
    const char *texts[] = {id, fd_model_text(model, node->name)};
    if (*id == '\0') {
        return fd_fail(error, FD_EINVAL, "a node has no id");
    }
    if (strpbrk(id, "\t\r\n") != NULL || strstr(id, " -- ") != NULL) {
        return fd_fail(error, FD_EINVAL,
                       "node '%.60s': an id has no tab, newline or ' -- '",
                       id);
    }
    for (size_t i = 0; i < 2; i++) {
        size_t rest = strlen(texts[i]);
        size_t length = 1;
        for (const char *at = texts[i]; rest > 0 && length > 0;
             at += length, rest -= length) {
            length = fd_utf8_length(at, rest);
        }
        if (length == 0) {
            return fd_fail(error, FD_EINVAL, "a text is not UTF-8");
        }
    }
    if (fd_model_find(model, id, strlen(id)) < model->nodes.count) {
        return fd_fail(error, FD_EINVAL, "node '%.60s': duplicate id", id);
    }
    return FD_OK;
}

static fd_status
check_figures(const fd_model *model, const fd_model_node *node,
              fd_error *error)
{
    const struct {
        const char *name;
        double value;
        bool may_lack;
    } figures[] = {
        {"forward_compute_time", node->forward, false},
        {"backward_compute_time", node->backward, false},
        {"activation_size", node->activation, false},
        {"parameter_size", node->parameters, false},
        {"forward_spread", node->forward_spread, true},
        {"backward_spread", node->backward_spread, true},
        {"saved", node->saved, true},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double value = figures[i].value;
        bool lacks =
            figures[i].may_lack && value <= FD_UNKNOWN && value >= FD_UNKNOWN;
        if (!lacks && !(value >= 0 && isfinite(value))) {
            return fd_fail(
                error, FD_EINVAL,
                "node '%.60s': %s is %g: not a finite non-negative number",
                fd_model_text(model, node->id), figures[i].name, value);
        }
    }
    if (node->stage < FD_NO_STAGE || node->stage > FD_MODEL_NODES_MAX) {
        return fd_fail(error, FD_EINVAL,
                       "node '%.60s': stage_id is %d: a number from 0 to %d",
                       fd_model_text(model, node->id), (int)node->stage,
                       FD_MODEL_NODES_MAX);
    }
    return FD_OK;
}

fd_status
fd_model_add(fd_model *model, const fd_model_node *node, fd_error *error)
{
    fd_status status = model->texts.status;
    if (status == FD_OK && model->nodes.count == FD_MODEL_NODES_MAX) {
        status = fd_fail(error, FD_EINVAL, "more than %d nodes",
                         FD_MODEL_NODES_MAX);
    }
    fd_then(status, check_texts(model, node, error));
    fd_then(status, check_figures(model, node, error));
    fd_then(status, fd_vector_push(&model->nodes, *node));
    if (status == FD_OK) {
        const char *id = fd_model_text(model, node->id);
        status = fd_index_add(&model->ids, fd_hash_bytes(id, strlen(id)),
                              model->nodes.count);
    }
    return status;
}

/* List the neighbours of each node in the order of the edges. */
static void
sort_edges(const fd_model *model, bool in, uint32_t *first, uint32_t *list)
{
    uint32_t nodes = model->nodes.count;
    for (uint32_t i = 0; i < model->edges.count; i++) {
        fd_model_edge edge = model->edges.list[i];
        first[(in ? edge.to : edge.from) + 1]++;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        first[i + 1] += first[i];
    }
    for (uint32_t i = model->edges.count; i-- > 0;) {
        fd_model_edge edge = model->edges.list[i];
        list[--first[(in ? edge.to : edge.from) + 1]] =
            in ? edge.from : edge.to;
    }
    memmove(first, first + 1, nodes * sizeof *first);
    first[nodes] = model->edges.count;
}

/* Add to a heap of nodes whose inputs are placed, the smallest on top. */
static void
heap_push(uint32_t *heap, uint32_t *count, uint32_t node)
{
    uint32_t at = (*count)++;
    while (at > 0 && heap[(at - 1) / 2] > node) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = node;
}

static uint32_t
heap_pop(uint32_t *heap, uint32_t *count)
{
    uint32_t least = heap[0];
    uint32_t last = heap[--(*count)];
    uint32_t at = 0;
    for (uint32_t child = 1; child < *count; child = 2 * at + 1) {
        if (child + 1 < *count && heap[child + 1] < heap[child]) {
            child++;
        }
        if (heap[child] >= last) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return least;
}

/* Return an input of this node that is not placed yet. */
static uint32_t
waiting_input(const fd_model *model, const uint32_t *waits, uint32_t node)
{
    const uint32_t *inputs = &model->in_list[model->in_first[node]];
    while (waits[*inputs] == 0) {
        inputs++;
    }
    return *inputs;
}

/* Report a cycle: follow unplaced nodes backward. After as many steps as there
 * are nodes, the node is on a cycle. */
static fd_status
tell_cycle(const fd_model *model, const uint32_t *waits, fd_error *error)
{
    char path[320];
    uint32_t node = 0;
    while (waits[node] == 0) {
        node++;
    }
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        node = waiting_input(model, waits, node);
    }
    uint32_t start = node;
    int size = snprintf(path, sizeof path, "%.60s",
                        fd_model_text(model, model->nodes.list[node].id));
    do {
        node = waiting_input(model, waits, node);
        if (size < 200) {
            size += snprintf(path + size, sizeof path - (size_t)size,
                             " needs %.60s",
                             fd_model_text(model, model->nodes.list[node].id));
        }
        else if (size < 300) {
            size += snprintf(path + size, sizeof path - (size_t)size, "...");
            size = 300;
        }
    } while (node != start);
    return fd_fail(error, FD_EINVAL, "a cycle: %s", path);
}

/* Sort topologically by Kahn's algorithm. */
static fd_status
find_order(fd_model *model, uint32_t *waits, uint32_t *heap, fd_error *error)
{
    uint32_t nodes = model->nodes.count;
    uint32_t ready = 0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        waits[i] = model->in_first[i + 1] - model->in_first[i];
        if (waits[i] == 0) {
            heap_push(heap, &ready, i);
        }
    }
    while (ready > 0) {
        uint32_t node = heap_pop(heap, &ready);
        model->order[done++] = node;
        for (uint32_t i = model->out_first[node];
             i < model->out_first[node + 1]; i++) {
            if (--waits[model->out_list[i]] == 0) {
                heap_push(heap, &ready, model->out_list[i]);
            }
        }
    }
    return done == nodes ? FD_OK : tell_cycle(model, waits, error);
}

fd_status
fd_model_close(fd_model *model, fd_error *error)
{
    size_t nodes = model->nodes.count;
    size_t edges = model->edges.count;
    uint32_t *waits = fd_calloc(nodes + 1, sizeof *waits);
    uint32_t *heap = fd_calloc(nodes + 1, sizeof *heap);
    model->in_first = fd_calloc(nodes + 2, sizeof *model->in_first);
    model->in_list = fd_calloc(edges + 1, sizeof *model->in_list);
    model->out_first = fd_calloc(nodes + 2, sizeof *model->out_first);
    model->out_list = fd_calloc(edges + 1, sizeof *model->out_list);
    model->order = fd_calloc(nodes + 1, sizeof *model->order);
    fd_status status = FD_ENOMEM;
    if (waits != NULL && heap != NULL && model->in_first != NULL
        && model->in_list != NULL && model->out_first != NULL
        && model->out_list != NULL && model->order != NULL) {
        sort_edges(model, true, model->in_first, model->in_list);
        sort_edges(model, false, model->out_first, model->out_list);
        status = find_order(model, waits, heap, error);
    }
    fd_free(waits);
    fd_free(heap);
    return status;
}
