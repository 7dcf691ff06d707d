#include "pipeline/cuts/layer_chain.h"

#include "pipeline/cuts/bit_sets.h"

#include <stdlib.h>
#include <string.h>

void
fd_layers_clear(fd_layers *layers)
{
    fd_free(layers->nodes);
    fd_free(layers->layer_of);
    fd_free(layers->within);
    fd_free(layers->parents);
    fd_free(layers->children);
    fd_free(layers->leaving);
    fd_free(layers->parent_words);
    fd_free(layers->child_words);
    memset(layers, 0, sizeof *layers);
}

static size_t
digits_of(const char *text)
{
    return strspn(text, "0123456789");
}

int
fd_id_order(const char *a, const char *b)
{
    const char *x = a;
    const char *y = b;
    while (*x != '\0' && *y != '\0') {
        if (digits_of(x) > 0 && digits_of(y) > 0) {
            x += strspn(x, "0");
            y += strspn(y, "0");
            size_t more = digits_of(x);
            size_t other = digits_of(y);
            int order =
                more != other ? (more < other ? -1 : 1) : strncmp(x, y, more);
            if (order != 0) {
                return order;
            }
            x += more;
            y += other;
        }
        else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        }
        else {
            x++;
            y++;
        }
    }
    int rest = (*x != '\0') - (*y != '\0');
    return rest != 0 ? rest : strcmp(a, b);
}

typedef struct named {
    const char *id;
    uint32_t node;
} named;

FD_ORDER_AS(by_id, named, fd_id_order(one->id, other->id))

static bool
begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool
is_left_out(const fd_model *model, uint32_t node)
{
    const char *name = fd_model_text(model, model->nodes.list[node].name);
    bool source = model->in_first[node] == model->in_first[node + 1];
    bool sink = model->out_first[node] == model->out_first[node + 1];
    return (source && begins_with(name, "Input"))
        || (sink && begins_with(name, "__getitem__"));
}

static fd_status
choose_layers(fd_layers *layers, const fd_model *model, fd_error *error)
{
    uint32_t nodes = model->nodes.count;
    named *list = fd_calloc((size_t)nodes + 1, sizeof *list);
    if (list == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        if (!is_left_out(model, i)) {
            list[layers->count++] =
                (named){fd_model_text(model, model->nodes.list[i].id), i};
        }
    }
    qsort(list, layers->count, sizeof *list, by_id);
    for (uint32_t i = 0; i < nodes; i++) {
        layers->layer_of[i] = layers->count;
    }
    for (uint32_t i = 0; i < layers->count; i++) {
        layers->nodes[i] = list[i].node;
        layers->layer_of[list[i].node] = i;
    }
    fd_free(list);
    return layers->count > 0
             ? FD_OK
             : fd_fail(error, FD_EINVAL, "the graph has no layer");
}

static void
relate_layers(const fd_layers *layers, const fd_model *model)
{
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        uint32_t node = model->order[i];
        uint32_t layer = layers->layer_of[node];
        if (layer == layers->count) {
            continue;
        }
        uint64_t *within = fd_layers_row(layers, layers->within, layer);
        fd_bits_add(within, layer);
        for (uint32_t at = model->in_first[node];
             at < model->in_first[node + 1]; at++) {
            uint32_t other = layers->layer_of[model->in_list[at]];
            if (other < layers->count) {
                fd_bits_join(within,
                             fd_layers_row(layers, layers->within, other),
                             layers->words);
                fd_bits_add(fd_layers_row(layers, layers->parents, layer),
                            other);
                fd_bits_add(fd_layers_row(layers, layers->children, other),
                            layer);
            }
        }
    }
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
    size_t nodes = (size_t)model->nodes.count + 1;
    *layers = (fd_layers){.count = 0};
    layers->nodes = fd_calloc(nodes, sizeof *layers->nodes);
    layers->layer_of = fd_calloc(nodes, sizeof *layers->layer_of);
    if (layers->nodes == NULL || layers->layer_of == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = choose_layers(layers, model, error);
    if (status != FD_OK) {
        return status;
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
    relate_layers(layers, model);
    find_ranges(layers, layers->parents, layers->parent_words);
    find_ranges(layers, layers->children, layers->child_words);
    find_leaving(layers);
    return FD_OK;
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
