#include "columns/deep_paths.h"

#include "trace/canonical_order.h"
#include "trace/trace_merge.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS, ASYNCHRONOUS, DEEP_NODES };

static const char *const names[DEEP_NODES] = {"<deep>", "<deep asynchronous>"};

/* Where the calls of a folded context are counted. */
typedef struct fold {
    uint32_t caller; /* the nearest kept one; 0: the context is kept */
    uint32_t node;   /* CALLS or ASYNCHRONOUS */
} fold;

typedef struct folding {
    const fd_trace *from;
    fd_trace *to;
    uint32_t *depths;
    fold *folds;
    bool *kept;
    fd_merge_ids ids;
} folding;

static bool
is_deep(const fd_trace *trace, uint32_t context)
{
    const fd_trace_node *node =
        &trace->nodes.list[trace->contexts.list[context].node];
    if (node->kind != FD_NODE_OVERFLOW) {
        return false;
    }
    const char *name = fd_trace_text(trace, node->name);
    return strcmp(name, names[CALLS]) == 0
        || strcmp(name, names[ASYNCHRONOUS]) == 0;
}

static uint32_t
larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Compute depths. Parents precede their children; a forward call may follow,
 * so that the depths are computed again until none changes. */
static void
find_depths(folding *f)
{
    const fd_trace *trace = f->from;
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 1; i < trace->contexts.count; i++) {
            const fd_trace_context *context = &trace->contexts.list[i];
            uint32_t depth = 1
                           + larger(f->depths[context->parent],
                                    f->depths[context->origin]);
            changed = changed || depth != f->depths[i];
            f->depths[i] = depth;
        }
    }
}

/* Get the largest depth to which there are at most `limit` call paths, at
 * least 1; 0 if all call paths are kept. */
static fd_status
deepest(const folding *f, uint32_t limit, uint32_t *to)
{
    uint32_t most = 0;
    uint32_t sum = 0;
    uint32_t depth = 1;
    for (uint32_t i = 1; i < f->from->contexts.count; i++) {
        most = larger(most, f->depths[i]);
    }
    uint32_t *counts = fd_calloc((size_t)most + 1, sizeof *counts);
    if (counts == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 1; i < f->from->contexts.count; i++) {
        counts[f->depths[i]] += !is_deep(f->from, i);
    }
    while (depth <= most && (sum += counts[depth]) <= limit) {
        depth++;
    }
    fd_free(counts);
    *to = depth > most ? 0 : larger(depth - 1, 1);
    return FD_OK;
}

/* Determine what is kept, and where the calls of the rest are counted. Return
 * whether something is not kept. */
static bool
find_folds(folding *f, uint32_t depth)
{
    const fd_trace *trace = f->from;
    bool any = false;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        uint32_t parent = context->parent;
        f->kept[i] =
            f->depths[i] <= depth || (is_deep(trace, i) && f->kept[parent]);
        if (!f->kept[i]) {
            any = true;
            f->folds[i] =
                f->kept[parent] ? (fold){parent, CALLS} : f->folds[parent];
            if ((context->flags & FD_CONTEXT_ASYNC) != 0) {
                f->folds[i].node = ASYNCHRONOUS;
            }
        }
    }
    return any;
}

static fd_status
add_nodes(folding *f, uint32_t *nodes)
{
    fd_status status = FD_OK;
    for (int i = 0; i < DEEP_NODES && status == FD_OK; i++) {
        fd_trace_node node = {.kind = FD_NODE_OVERFLOW};
        status = fd_text_pool_add(&f->to->texts, names[i], strlen(names[i]),
                                  &node.name);
        if (status == FD_OK) {
            status = fd_trace_add_node(f->to, &node, &nodes[i]);
        }
    }
    return status;
}

/* Add the contexts that count the calls of folded ones. */
static fd_status
add_deep(folding *f)
{
    uint32_t nodes[DEEP_NODES];
    fd_status status = add_nodes(f, nodes);
    for (uint32_t i = 1; i < f->from->contexts.count && status == FD_OK; i++) {
        uint32_t caller = f->folds[i].caller;
        uint32_t async =
            f->folds[i].node == ASYNCHRONOUS ? FD_CONTEXT_ASYNC : 0;
        if (caller != 0) {
            uint32_t phase =
                f->from->contexts.list[caller].flags & FD_CONTEXT_PHASE;
            fd_trace_context context = {
                .parent = f->ids.contexts[caller],
                .node = nodes[f->folds[i].node],
                .flags = phase | FD_CONTEXT_ABSORBS | async,
            };
            status =
                fd_trace_add_context(f->to, &context, &f->ids.contexts[i]);
        }
    }
    return status;
}

static int
by_context(const void *left, const void *right)
{
    /* the first member of figures of the CPU and of the GPU */
    const uint32_t *a = left;
    const uint32_t *b = right;
    return (*a > *b) - (*a < *b);
}

/* Add up the figures of each context. Those of "<deep>" have no squares, whose
 * sums would depend on the order. */
static void
add_figures(const fd_trace *trace, fd_trace_rank *rank)
{
    fd_figure *list = rank->figures.list;
    uint32_t kept = 0;
    if (rank->figures.count == 0) {
        return;
    }
    qsort(list, rank->figures.count, sizeof *list, by_context);
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        if (is_deep(trace, list[i].context)) {
            list[i].self_squares = 0;
            list[i].total_squares = 0;
        }
        if (i > 0 && list[i].context == list[kept].context) {
            fd_figure_add(&list[kept], &list[i]);
        }
        else {
            kept += i > 0;
            list[kept] = list[i];
        }
    }
    rank->figures.count = kept + 1;
}

static void
add_gpu(fd_trace_rank *rank)
{
    fd_gpu_figure *list = rank->gpu.list;
    uint32_t kept = 0;
    if (rank->gpu.count == 0) {
        return;
    }
    qsort(list, rank->gpu.count, sizeof *list, by_context);
    for (uint32_t i = 1; i < rank->gpu.count; i++) {
        if (list[i].context != list[kept].context) {
            list[++kept] = list[i];
            continue;
        }
        fd_gpu_figure_add(&list[kept], &list[i]);
    }
    rank->gpu.count = kept + 1;
}

/* Remove the spreads and ranges of "<deep>": minimum and maximum over ranks
 * of a sum are not those of its parts. */
static void
remove_spreads(const fd_trace *trace, fd_trace_rank *rank)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rank->spreads.count; i++) {
        if (!is_deep(trace, rank->spreads.list[i].context)) {
            rank->spreads.list[kept++] = rank->spreads.list[i];
        }
    }
    rank->spreads.count = kept;
    kept = 0;
    for (uint32_t i = 0; i < rank->buckets.count; i++) {
        if (!is_deep(trace, rank->buckets.list[i].context)) {
            rank->buckets.list[kept++] = rank->buckets.list[i];
        }
    }
    rank->buckets.count = kept;
    for (uint32_t i = 0; i < rank->measures.count; i++) {
        fd_trace_measure *measure = &rank->measures.list[i];
        if (is_deep(trace, measure->context)) {
            measure->ranks = 0;
            measure->range = (fd_rank_range){.min = 0};
        }
    }
}

static fd_status
copy_folded(folding *f)
{
    f->ids.wanted = f->kept;
    fd_status status = fd_merge_shared(f->to, f->from, &f->ids);
    if (status == FD_OK) {
        status = add_deep(f);
    }
    if (status == FD_OK) {
        status = fd_merge_ranks(f->to, f->from, &f->ids);
    }
    if (status == FD_OK) {
        fd_trace_rank *rank = &f->to->ranks.list[0];
        add_figures(f->to, rank);
        add_gpu(rank);
        fd_measures_fold(rank);
        remove_spreads(f->to, rank);
        status = fd_trace_sort(f->to);
    }
    return status;
}

static fd_status
fold_below(folding *f, uint32_t limit)
{
    uint32_t depth;
    uint32_t *known = &f->from->ranks.list[0].deepest;
    find_depths(f);
    fd_status status = deepest(f, limit, &depth);
    if (status != FD_OK) {
        return status;
    }
    if (depth == 0 || (*known != 0 && *known < depth)) {
        depth = *known;
    }
    *known = depth;
    if (depth == 0 || !find_folds(f, depth)) {
        return FD_OK;
    }
    f->to = fd_trace_new();
    return f->to != NULL ? copy_folded(f) : FD_ENOMEM;
}

fd_status
fd_deep_paths_fold(fd_trace **trace, uint32_t limit)
{
    uint32_t count = (*trace)->contexts.count;
    folding f = {.from = *trace,
                 .depths = fd_calloc(count, sizeof *f.depths),
                 .folds = fd_calloc(count, sizeof *f.folds),
                 .kept = fd_calloc(count, sizeof *f.kept)};
    bool ready = f.depths != NULL && f.folds != NULL && f.kept != NULL;
    fd_status status = ready ? fold_below(&f, limit) : FD_ENOMEM;
    fd_free(f.depths);
    fd_free(f.folds);
    fd_free(f.kept);
    fd_merge_ids_clear(&f.ids);
    if (status == FD_OK && f.to != NULL) {
        fd_trace_free(*trace);
        *trace = f.to;
    }
    else if (f.to != NULL) {
        fd_trace_free(f.to);
    }
    return status;
}
