#include "trace/reader/recording_reading.h"
#include "trace/trace_merge.h"

#include <string.h>

/* Limit of times: a decade of ticks, whose sum of squares is finite in
 * nanoseconds. */
static const float LARGEST = 1e18F;
static const double LARGEST_SUM = 1e300;

static void
push_raw(fd_reading *r, const fd_trace_context *context,
         const fd_context *record, uint32_t owner)
{
    fd_arena_push(&r->arena, &r->raw, *context);
    fd_arena_push(&r->arena, &r->records, record);
    fd_arena_push(&r->arena, &r->owners, owner);
}

static void
collect_contexts(fd_reading *r)
{
    push_raw(r, &(fd_trace_context){.flags = 0}, NULL, 0);
    FOR_EACH_RECORD (r, FD_CHUNK_CONTEXTS, fd_context, c) {
        fd_trace_context context = {
            .parent = c->parent,
            .node = c->node,
            .module = c->module,
            .origin = c->origin,
            .flags = c->flags,
        };
        push_raw(r, &context, c, view->header.owner);
    }
}

static void
make_lost(fd_reading *r)
{
    fd_trace_node node = {.kind = FD_NODE_OVERFLOW};
    fd_arena_check(&r->arena, fd_text_pool_add(&r->trace->texts, "<lost>", 6,
                                               &node.name));
    fd_trace_context context = {.node = fd_reading_add_node(r, &node)};
    push_raw(r, &context, NULL, 0);
    r->lost = r->raw.count - 1;
}

/* Convert ids of the file to raw indexes; replace a parent or node that is
 * lost. */
static void
link_contexts(fd_reading *r)
{
    uint32_t count = r->raw.count;
    for (uint32_t i = 1; i < count; i++) {
        fd_trace_context *c = &r->raw.list[i];
        if (r->open != NULL && !r->open[i]) {
            continue;
        }
        c->node = fd_map_get(&r->nodes, c->node);
        c->module = fd_map_get(&r->modules, c->module);
        uint32_t parent = fd_reading_raw(r, c->parent);
        bool lost = (c->parent != 0 && parent == 0) || c->node == 0;
        if (lost && r->lost == 0) {
            make_lost(r);
            c = &r->raw.list[i];
        }
        c->parent = c->parent != 0 && parent == 0 ? r->lost : parent;
        c->origin = fd_reading_raw(r, c->origin);
        if (c->node == 0) {
            c->node = r->raw.list[r->lost].node;
        }
    }
}

static bool
is_active(const fd_context *record)
{
    return record != NULL
        && (record->calls > 0 || record->resumes > 0 || record->self > 0);
}

/* Merge the contexts. Skip those that never ran and have no descendant that
 * ran, or those on which no open call depends. */
static void
merge_contexts(fd_reading *r)
{
    bool *wanted = fd_arena_new(&r->arena, r->raw.count, sizeof *wanted);
    r->map = fd_arena_new(&r->arena, r->raw.count, sizeof *r->map);
    for (uint32_t i = 1; i < r->raw.count; i++) {
        wanted[i] =
            r->open != NULL ? r->open[i] : is_active(r->records.list[i]);
    }
    fd_arena_check(&r->arena, fd_contexts_merge(r->trace, r->raw.list, wanted,
                                                r->raw.count, r->map));
}

/* Return whether the numbers are valid; those of a damaged file can be NaN. */
static bool
is_sound(const fd_spread *spread)
{
    return spread->steps > 0 && spread->self_squares >= 0
        && spread->self_squares < LARGEST_SUM && spread->total_squares >= 0
        && spread->total_squares < LARGEST_SUM && spread->self_min >= 0
        && spread->total_min >= 0 && spread->self_max < LARGEST
        && spread->total_max < LARGEST && spread->self_min <= spread->self_max
        && spread->total_min <= spread->total_max;
}

static void
add_spread(const fd_reading *r, const fd_context *record, fd_figure *figure)
{
    const fd_spread *spread =
        fd_chunks_record(&r->file, FD_CHUNK_SPREADS, record->spread);
    if (spread == NULL || !is_sound(spread)) {
        return;
    }
    double ns = r->ns_per_tick;
    figure->steps = spread->steps;
    figure->last_step = spread->last_step;
    figure->stepped = fd_reading_ns(r, spread->self_mark);
    figure->self_min = fd_reading_whole(spread->self_min * ns);
    figure->self_max = fd_reading_whole(spread->self_max * ns);
    figure->total_min = fd_reading_whole(spread->total_min * ns);
    figure->total_max = fd_reading_whole(spread->total_max * ns);
    figure->self_squares = fd_reading_squares(r, spread->self_squares);
    figure->total_squares = fd_reading_squares(r, spread->total_squares);
}

/* Read the figures. Threads of one role share contexts of the trace, so their
 * figures are added up. */
static void
read_figures(fd_reading *r)
{
    uint32_t count = r->trace->contexts.count;
    fd_trace_rank *rank = r->rank;
    fd_arena_check(&r->arena, fd_vector_reserve(&rank->figures, count));
    fd_figure *sums = rank->figures.list;
    memset(sums, 0, count * sizeof *sums);
    for (uint32_t i = 1; i < r->raw.count; i++) {
        const fd_context *record = r->records.list[i];
        if (is_active(record) && r->map[i] != 0) {
            fd_figure figure = {.calls = record->calls,
                                .resumes = record->resumes,
                                .self = fd_reading_ns(r, record->self)};
            if (r->part == FD_PART_FIGURES || r->part == FD_PART_TIMELINE) {
                add_spread(r, record, &figure);
            }
            fd_figure_add(&sums[r->map[i]], &figure);
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        if (sums[i].calls + sums[i].resumes + sums[i].self > 0) {
            sums[i].context = i;
            sums[rank->figures.count++] = sums[i];
        }
    }
}

void
fd_read_contexts(fd_reading *r)
{
    collect_contexts(r);
    if (r->part == FD_PART_OPEN_CALLS) {
        fd_read_open_contexts(r);
    }
    link_contexts(r);
    merge_contexts(r);
    read_figures(r);
}
