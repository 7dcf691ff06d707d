#include "et/tools/et_collapse.h"

#include "base/rows.h"
#include "et/et_edges.h"

#include <stdlib.h>

void
fd_et_collapsed_clear(fd_et_collapsed *collapsed)
{
    fd_vector_clear(&collapsed->boxes);
    fd_vector_clear(&collapsed->lines);
    fd_free(collapsed->box_of);
    collapsed->box_of = NULL;
}

static void
add_node(fd_et_box *box, const fd_et_node *node)
{
    box->count++;
    box->ns += (node->flags & FD_ET_TIMED) != 0 ? node->dur_ns : 0;
    box->gpu = box->gpu || (node->flags & FD_ET_GPU) != 0;
}

static uint64_t
key_of(const fd_et_collapsed *collapsed, const fd_et_node *node,
       uint32_t index)
{
    if (collapsed->mode == FD_ET_EACH) {
        return (uint64_t)index + 1;
    }
    uint32_t parent = collapsed->mode == FD_ET_BY_PARENT && node->parent != 0
                        ? collapsed->box_of[node->parent - 1] + 1
                        : 0;
    return ((uint64_t)parent << 32 | node->name) + 1;
}

/* Make the boxes. In `calls`, parents precede children. FD_EFULL: more than
 * `most`. */
static fd_status
make_boxes(fd_et_collapsed *collapsed, const fd_et *et, const uint32_t *calls,
           uint32_t most)
{
    fd_map seen = {.entries = NULL};
    fd_status status = FD_OK;
    collapsed->boxes.count = 0;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[calls[i]];
        fd_et_box *box =
            fd_row(&collapsed->boxes, &seen, key_of(collapsed, node, calls[i]),
                   &(fd_et_box){.node = calls[i]});
        status = box == NULL                   ? FD_ENOMEM
               : collapsed->boxes.count > most ? FD_EFULL
                                               : FD_OK;
        if (status == FD_OK) {
            collapsed->box_of[calls[i]] =
                (uint32_t)(box - collapsed->boxes.list);
            add_node(box, node);
        }
    }
    fd_map_clear(&seen);
    return status;
}

typedef struct weight {
    int64_t ns;
    uint64_t count;
    uint32_t box;
} weight;

FD_ORDER_AS(heavier_first, weight, FD_DOWN(ns), FD_DOWN(count), FD_UP(box))

/* Keep the heaviest `most` - 1 boxes in their order, and merge the others into
 * the last. `to` has one entry per box. */
static fd_status
choose_boxes(fd_et_collapsed *collapsed, uint32_t most, uint32_t *to)
{
    uint32_t count = collapsed->boxes.count;
    weight *weights = fd_calloc((size_t)count + 1, sizeof *weights);
    if (weights == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const fd_et_box *box = &collapsed->boxes.list[i];
        weights[i] = (weight){box->ns, box->count, i};
    }
    qsort(weights, count, sizeof *weights, heavier_first);
    for (uint32_t i = 0; i < count; i++) {
        to[weights[i].box] = i < most - 1;
    }
    fd_free(weights);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool stays = to[i] != 0;
        to[i] = stays ? kept : most - 1;
        if (stays) {
            collapsed->boxes.list[kept++] = collapsed->boxes.list[i];
        }
    }
    collapsed->names = count - kept;
    return FD_OK;
}

static fd_status
keep_largest(fd_et_collapsed *collapsed, const fd_et *et, uint32_t most)
{
    uint32_t *to = fd_calloc((size_t)collapsed->boxes.count + 1, sizeof *to);
    fd_status status =
        to == NULL ? FD_ENOMEM : choose_boxes(collapsed, most, to);
    if (status == FD_OK) {
        fd_et_box *last = &collapsed->boxes.list[most - 1];
        bool first = true;
        collapsed->boxes.count = most;
        *last = (fd_et_box){.others = true};
        for (uint32_t i = 0; i < et->nodes.count; i++) {
            collapsed->box_of[i] = to[collapsed->box_of[i]];
            if (collapsed->box_of[i] == most - 1) {
                last->node = first ? i : last->node;
                first = false;
                add_node(last, &et->nodes.list[i]);
            }
        }
    }
    fd_free(to);
    return status;
}

static fd_status
make_any(fd_et_collapsed *collapsed, const fd_et *et, const uint32_t *calls,
         uint32_t most)
{
    fd_status status = FD_EFULL;
    for (int mode = FD_ET_EACH; mode <= FD_ET_BY_NAME && status == FD_EFULL;
         mode++) {
        collapsed->mode = (fd_et_collapse_mode)mode;
        status = make_boxes(collapsed, et, calls, most);
    }
    if (status == FD_EFULL) {
        status = make_boxes(collapsed, et, calls, UINT32_MAX);
        collapsed->mode = FD_ET_BY_SIZE;
        fd_then(status, keep_largest(collapsed, et, most));
    }
    return status;
}

/* Find or add the line between the boxes of two nodes. Return NULL after a
 * failed allocation. */
static fd_et_line *
line_of(fd_et_collapsed *collapsed, fd_map *seen, uint32_t from, uint32_t to)
{
    const fd_et_line added = {.from = collapsed->box_of[from],
                              .to = collapsed->box_of[to]};
    return fd_row(&collapsed->lines, seen,
                  (uint64_t)(added.from + 1) << 32 | added.to, &added);
}

static fd_status
make_lines(fd_et_collapsed *collapsed, const fd_et *et)
{
    fd_map seen = {.entries = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        uint32_t parent = et->nodes.list[i].parent;
        if (parent == 0
            || collapsed->box_of[parent - 1] == collapsed->box_of[i]) {
            continue;
        }
        fd_et_line *line = line_of(collapsed, &seen, parent - 1, i);
        if (line == NULL) {
            status = FD_ENOMEM;
            break;
        }
        line->calls++;
    }
    for (uint32_t i = 0; i < et->edges.count && status == FD_OK; i++) {
        const fd_et_edge *edge = &et->edges.list[i];
        if (collapsed->box_of[edge->from] == collapsed->box_of[edge->to]) {
            continue;
        }
        fd_et_line *line = line_of(collapsed, &seen, edge->from, edge->to);
        status = line == NULL ? FD_ENOMEM : FD_OK;
        for (int kind = 0; kind < FD_ET_KINDS && status == FD_OK; kind++) {
            line->counts[kind] += (edge->kinds & 1U << kind) != 0;
        }
    }
    fd_map_clear(&seen);
    return status;
}

fd_status
fd_et_collapse(fd_et_collapsed *collapsed, const fd_et *et, uint32_t most)
{
    size_t count = (size_t)et->nodes.count + 1;
    uint32_t *calls = fd_calloc(count, sizeof *calls);
    *collapsed = (fd_et_collapsed){
        .box_of = fd_calloc(count, sizeof *collapsed->box_of)};
    fd_status status = calls == NULL || collapsed->box_of == NULL
                         ? FD_ENOMEM
                         : fd_et_walk(et, calls);
    fd_then(status, make_any(collapsed, et, calls, most));
    fd_free(calls);
    return fd_then(status, make_lines(collapsed, et));
}
