#include "pipeline/cuts/layer_chain.h"

#include "pipeline/cuts/bit_sets.h"

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
static void
relate_layers(const fd_layers *layers, fd_arena *arena, fd_layer_edge edge)
{
    if (edge.from >= layers->count || edge.to >= layers->count
        || edge.from == edge.to || has_children(layers, edge.to)) {
        fd_arena_fail(arena, fd_fail(arena->error, FD_EINVAL,
                                     "the edges are not in order"));
    }
    fd_bits_join(fd_layers_row(layers, layers->within, edge.to),
                 fd_layers_row(layers, layers->within, edge.from),
                 layers->words);
    fd_bits_add(fd_layers_row(layers, layers->parents, edge.to), edge.from);
    fd_bits_add(fd_layers_row(layers, layers->children, edge.from), edge.to);
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

void
fd_layers_make(fd_layers *layers, fd_arena *arena, const fd_model *model)
{
    uint32_t count = model->count;
    uint32_t words = (count + 63) / 64;
    if (count == 0) {
        fd_arena_fail(
            arena, fd_fail(arena->error, FD_EINVAL, "the graph has no layer"));
    }
    size_t size = (size_t)count * words;
    *layers = (fd_layers){
        .count = count,
        .words = words,
        .within = fd_arena_new(arena, size, sizeof(uint64_t)),
        .parents = fd_arena_new(arena, size, sizeof(uint64_t)),
        .children = fd_arena_new(arena, size, sizeof(uint64_t)),
        .leaving = fd_arena_new(arena, size, sizeof(uint64_t)),
        .parent_words = fd_arena_new(arena, count, sizeof(fd_word_range)),
        .child_words = fd_arena_new(arena, count, sizeof(fd_word_range))};
    for (uint32_t i = 0; i < count; i++) {
        fd_bits_add(fd_layers_row(layers, layers->within, i), i);
    }
    for (uint32_t i = 0; i < model->edge_count; i++) {
        relate_layers(layers, arena, model->edges[i]);
    }
    find_ranges(layers, layers->parents, layers->parent_words);
    find_ranges(layers, layers->children, layers->child_words);
    find_leaving(layers);
}
