#include "et/tools/et_diff.h"

#include "base/rows.h"
#include "et/call_signatures.h"
#include "et/et_edges.h"

#include <string.h>

/* Changes below this part of the total time are ignored: short calls differ
 * from run to run. */
enum { LEAST_PART = 100 };

void
fd_et_diff_clear(fd_et_diff *diff)
{
    fd_vector_clear(&diff->names);
    fd_vector_clear(&diff->changed);
    fd_vector_clear(&diff->only);
    fd_vector_clear(&diff->signatures);
    fd_text_pool_clear(&diff->texts);
    fd_text_pool_clear(&diff->keys);
    fd_map_clear(&diff->name_rows);
    fd_map_clear(&diff->changed_rows);
    fd_map_clear(&diff->only_rows[0]);
    fd_map_clear(&diff->only_rows[1]);
}

static void
on_rank(const fd_et_diff *diff, fd_et_diff_ranks *ranks, const fd_et *et)
{
    if (ranks->last != diff->ranks + 1) {
        ranks->first = ranks->count == 0 ? et->rank : ranks->first;
        ranks->count++;
        ranks->last = diff->ranks + 1;
    }
}

static bool
is_timed(const fd_et_node *node)
{
    return (node->flags & (FD_ET_TIMED | FD_ET_GUESSED)) == FD_ET_TIMED;
}

/* Count the names of one side. `*span`: time from the first start to the last
 * end, -1 without times. */
static fd_status
count_names(fd_et_diff *diff, const fd_et_match_side *side, int at,
            int64_t *span)
{
    const fd_et *et = side->et;
    int64_t begin = INT64_MAX;
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        uint32_t name = side->names[i];
        fd_et_diff_name *row =
            fd_row(&diff->names, &diff->name_rows, (uint64_t)name + 1,
                   &(fd_et_diff_name){.name = name});
        if (row == NULL) {
            return FD_ENOMEM;
        }
        row->rank_count[at]++;
        if (is_timed(node)) {
            row->rank_ns[at] += node->dur_ns;
            begin = node->start_ns < begin ? node->start_ns : begin;
            end = fd_et_end(node) > end ? fd_et_end(node) : end;
        }
    }
    *span = begin == INT64_MAX ? -1 : fd_minus(end, begin);
    return FD_OK;
}

static bool
is_slower(const fd_et_diff *diff, const int64_t ns[2], const int64_t spans[2])
{
    int64_t change = ns[1] > ns[0] ? ns[1] - ns[0] : ns[0] - ns[1];
    return diff->threshold >= 0 && spans[0] >= 0 && spans[1] >= 0
        && change > spans[0] / LEAST_PART
        && (double)change > diff->threshold * (double)ns[0];
}

/* Add the counts of this rank to the sums over all ranks. */
static void
fold_names(fd_et_diff *diff, const fd_et *et, const int64_t spans[2])
{
    for (uint32_t i = 0; i < diff->names.count; i++) {
        fd_et_diff_name *row = &diff->names.list[i];
        if (row->rank_count[0] != row->rank_count[1]) {
            on_rank(diff, &row->counts, et);
        }
        if (is_slower(diff, row->rank_ns, spans)) {
            on_rank(diff, &row->times, et);
        }
        for (int at = 0; at < 2; at++) {
            row->count[at] += row->rank_count[at];
            row->ns[at] += row->rank_ns[at];
            row->rank_count[at] = 0;
            row->rank_ns[at] = 0;
        }
    }
}

static fd_status
compare_names(fd_et_diff *diff, const fd_et_match_side sides[2])
{
    int64_t spans[2] = {-1, -1};
    fd_status status = FD_OK;
    for (int at = 0; at < 2 && status == FD_OK; at++) {
        status = count_names(diff, &sides[at], at, &spans[at]);
        diff->timed[at] += spans[at] >= 0;
    }
    if (status == FD_OK) {
        fold_names(diff, sides[0].et, spans);
    }
    return status;
}

static uint32_t
what_differs(const fd_et_signature *a, const fd_et_signature *b)
{
    bool shapes = memcmp(a->shapes, b->shapes, sizeof a->shapes) != 0;
    bool types = memcmp(a->types, b->types, sizeof a->types) != 0;
    return (uint32_t)shapes * FD_ET_SHAPES_DIFFER
         | (uint32_t)types * FD_ET_TYPES_DIFFER
         | (uint32_t)(a->comm != b->comm) * FD_ET_COMMS_DIFFER;
}

static fd_status
note_changed(fd_et_diff *diff, const fd_et_match_side sides[2], uint32_t index)
{
    uint32_t match = sides[0].matches[index] - 1;
    uint32_t signatures[] = {sides[0].signatures[index],
                             sides[1].signatures[match]};
    const fd_et_diff_change change = {
        .signatures = {signatures[0], signatures[1]},
        .what = what_differs(&diff->signatures.list[signatures[0] - 1],
                             &diff->signatures.list[signatures[1] - 1]),
        .id = {sides[0].et->nodes.list[index].id,
               sides[1].et->nodes.list[match].id}};
    fd_et_diff_change *row =
        fd_row(&diff->changed, &diff->changed_rows,
               (uint64_t)signatures[0] << 32 | signatures[1], &change);
    if (row == NULL) {
        return FD_ENOMEM;
    }
    row->count++;
    on_rank(diff, &row->ranks, sides[0].et);
    return FD_OK;
}

static fd_status
compare_signatures(fd_et_diff *diff, const fd_et_match_side sides[2])
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < sides[0].et->nodes.count && status == FD_OK;
         i++) {
        uint32_t match = sides[0].matches[i];
        diff->paired += match != 0;
        if (match != 0
            && sides[0].signatures[i] != sides[1].signatures[match - 1]) {
            status = note_changed(diff, sides, i);
        }
    }
    return status;
}

/* Find or add the row of the outermost call around a node that is only in this
 * trace. Return NULL after a failed allocation. */
static fd_et_diff_only *
only_row(fd_et_diff *diff, const fd_et_match_side *side, uint32_t at,
         uint32_t index)
{
    const fd_et_node *node = &side->et->nodes.list[index];
    const fd_et_diff_only added = {
        .side = at,
        .name = side->names[index],
        .parent = node->parent == 0 ? 0 : side->names[node->parent - 1],
        .id = node->id};
    return fd_row(&diff->only, &diff->only_rows[at],
                  (uint64_t)added.name << 32 | (added.parent + 1), &added);
}

static fd_status
note_only(fd_et_diff *diff, const fd_et_match_side *side, uint32_t at)
{
    const fd_et *et = side->et;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        uint32_t top = i;
        if (side->matches[i] != 0) {
            continue;
        }
        while (et->nodes.list[top].parent != 0
               && side->matches[et->nodes.list[top].parent - 1] == 0) {
            top = et->nodes.list[top].parent - 1;
        }
        fd_et_diff_only *row = only_row(diff, side, at, top);
        if (row == NULL) {
            return FD_ENOMEM;
        }
        row->nodes++;
        row->count += top == i;
        on_rank(diff, &row->ranks, et);
    }
    return FD_OK;
}

static uint64_t
edge_key(uint32_t from, uint32_t to)
{
    return (uint64_t)(from + 1) << 32 | to;
}

/* Count the edges of the first trace that the second has between matching
 * nodes. */
static fd_status
compare_edges(fd_et_diff *diff, const fd_et_match_side sides[2])
{
    const fd_et *et = sides[0].et;
    const fd_et *other = sides[1].et;
    fd_map kinds = {.entries = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < other->edges.count && status == FD_OK; i++) {
        const fd_et_edge *edge = &other->edges.list[i];
        status =
            fd_map_put(&kinds, edge_key(edge->from, edge->to), edge->kinds);
    }
    for (uint32_t i = 0; i < et->edges.count && status == FD_OK; i++) {
        const fd_et_edge *edge = &et->edges.list[i];
        uint32_t from = sides[0].matches[edge->from];
        uint32_t to = sides[0].matches[edge->to];
        uint32_t both =
            from == 0 || to == 0
                ? 0
                : edge->kinds & fd_map_get(&kinds, edge_key(from - 1, to - 1));
        for (int kind = 0; kind < FD_ET_KINDS; kind++) {
            diff->shared[kind] += (both & 1U << kind) != 0;
        }
    }
    fd_map_clear(&kinds);
    for (int at = 0; at < 2; at++) {
        uint64_t counts[FD_ET_KINDS];
        fd_et_count_edges(sides[at].et, counts);
        for (int kind = 0; kind < FD_ET_KINDS; kind++) {
            diff->edges[kind][at] += counts[kind];
        }
    }
    return status;
}

static fd_status
compare(fd_et_diff *diff, fd_et_match_side sides[2])
{
    fd_status status = fd_et_find_signatures(diff, &sides[0]);
    if (status == FD_OK) {
        status = fd_et_find_signatures(diff, &sides[1]);
    }
    if (status == FD_OK) {
        status = fd_et_match_nodes(sides);
    }
    if (status == FD_OK) {
        status = compare_names(diff, sides);
    }
    if (status == FD_OK) {
        status = compare_signatures(diff, sides);
    }
    for (uint32_t at = 0; at < 2 && status == FD_OK; at++) {
        status = note_only(diff, &sides[at], at);
    }
    return status == FD_OK ? compare_edges(diff, sides) : status;
}

fd_status
fd_et_diff_add(fd_et_diff *diff, const fd_et *before, const fd_et *after)
{
    fd_et_match_side sides[2] = {{.et = NULL}, {.et = NULL}};
    fd_status status = fd_et_match_side_make(&sides[0], before);
    if (status == FD_OK) {
        status = fd_et_match_side_make(&sides[1], after);
    }
    if (status == FD_OK) {
        status = compare(diff, sides);
    }
    diff->nodes[0] += before->nodes.count;
    diff->nodes[1] += after->nodes.count;
    diff->ranks++;
    fd_et_match_side_clear(&sides[0]);
    fd_et_match_side_clear(&sides[1]);
    return status;
}

bool
fd_et_diff_differs(const fd_et_diff_name *row)
{
    return row->counts.count > 0 || row->times.count > 0;
}

bool
fd_et_diff_any(const fd_et_diff *diff)
{
    bool any = diff->changed.count > 0 || diff->only.count > 0;
    for (uint32_t i = 0; i < diff->names.count; i++) {
        any = any || fd_et_diff_differs(&diff->names.list[i]);
    }
    for (int kind = 0; kind < FD_ET_KINDS; kind++) {
        any = any || diff->edges[kind][0] != diff->shared[kind]
           || diff->edges[kind][1] != diff->shared[kind];
    }
    return any;
}
