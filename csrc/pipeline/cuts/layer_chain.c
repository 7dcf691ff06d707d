#include "pipeline/cuts/layer_chain.h"

#include "pipeline/cuts/bit_sets.h"

#include <stdlib.h>
#include <string.h>

void
fd_layers_clear(fd_layers *layers)
{
    fd_free(layers->within);
    fd_free(layers->parents);
    fd_free(layers->children);
    fd_free(layers->leaving);
    fd_free(layers->parent_words);
    fd_free(layers->child_words);
    memset(layers, 0, sizeof *layers);
}

static bool
has_children(const fd_layers *layers, uint32_t layer)
{
    const uint64_t *children = fd_layers_row(layers, layers->children, layer);
    uint64_t any = 0;
    for (uint32_t i = 0; i < layers->words; i++) {
        any |= children[i];
    }
    return any != 0;
}

/* Add an edge. All layers before `from` are in its row of `within`, since the
 * edges into a layer precede those out of it. */
static fd_status
relate_layers(const fd_layers *layers, fd_layer_edge edge, fd_error *error)
{
    if (edge.from >= layers->count || edge.to >= layers->count
        || edge.from == edge.to || has_children(layers, edge.to)) {
        return fd_fail(error, FD_EINVAL, "the edges are not in order");
    }
    fd_bits_join(fd_layers_row(layers, layers->within, edge.to),
                 fd_layers_row(layers, layers->within, edge.from),
                 layers->words);
    fd_bits_add(fd_layers_row(layers, layers->parents, edge.to), edge.from);
    fd_bits_add(fd_layers_row(layers, layers->children, edge.from), edge.to);
    return FD_OK;
}

static fd_status
relate_all(const fd_layers *layers, const fd_model *model, fd_error *error)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < layers->count; i++) {
        fd_bits_add(fd_layers_row(layers, layers->within, i), i);
    }
    for (uint32_t i = 0; i < model->edge_count && status == FD_OK; i++) {
        status = relate_layers(layers, model->edges[i], error);
    }
    return status;
}

static void
find_ranges(const fd_layers *layers, const uint64_t *rows,
            fd_word_range *ranges)
{
    for (uint32_t i = 0; i < layers->count; i++) {
        const uint64_t *row = &rows[(size_t)i * layers->words];
        fd_word_range *range = &ranges[i];
        for (uint32_t word = layers->words; word-- > 0;) {
            if (row[word] != 0) {
                range->first = word;
                range->end = range->end > 0 ? range->end : word + 1;
            }
        }
    }
}

static void
find_leaving(const fd_layers *layers)
{
    for (uint32_t i = 0; i < layers->count; i++) {
        const uint64_t *within = fd_layers_row(layers, layers->within, i);
        for (uint32_t j = 0; j < layers->count; j++) {
            if (j != i && fd_bits_has(within, j)
                && !fd_layers_children_in(layers, j, within)) {
                fd_bits_add(fd_layers_row(layers, layers->leaving, i), j);
            }
        }
    }
}

fd_status
fd_layers_make(fd_layers *layers, const fd_model *model, fd_error *error)
{
    *layers = (fd_layers){.count = model->count};
    if (model->count == 0) {
        return fd_fail(error, FD_EINVAL, "the graph has no layer");
    }
    layers->words = (layers->count + 63) / 64;
    size_t size = (size_t)layers->count * layers->words;
    layers->within = fd_calloc(size, sizeof(uint64_t));
    layers->parents = fd_calloc(size, sizeof(uint64_t));
    layers->children = fd_calloc(size, sizeof(uint64_t));
    layers->leaving = fd_calloc(size, sizeof(uint64_t));
    layers->parent_words =
        fd_calloc(layers->count, sizeof *layers->parent_words);
    layers->child_words =
        fd_calloc(layers->count, sizeof *layers->child_words);
    if (layers->within == NULL || layers->parents == NULL
        || layers->children == NULL || layers->leaving == NULL
        || layers->parent_words == NULL || layers->child_words == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = relate_all(layers, model, error);
    if (status == FD_OK) {
        find_ranges(layers, layers->parents, layers->parent_words);
        find_ranges(layers, layers->children, layers->child_words);
        find_leaving(layers);
    }
    return status;
}

typedef struct timed {
    double time;
    uint32_t index;
} timed;

FD_ORDER_BY(by_time, timed, time, index)

fd_status
fd_time_order(uint32_t *order, const double *times, uint32_t count)
{
    timed *list = fd_calloc((size_t)count + 1, sizeof *list);
    if (list == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i] = (timed){times[i], i};
    }
    qsort(list, count, sizeof *list, by_time);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = list[i].index;
    }
    fd_free(list);
    return FD_OK;
}
