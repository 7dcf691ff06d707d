#include "columns/rank_reduction.h"

#include "base/hash.h"
#include "columns/deep_paths.h"
#include "columns/rank_sketch.h"
#include "columns/stream_tables.h"
#include "profile/totals.h"
#include "trace/canonical_order.h"
#include "trace/canonical_texts.h"
#include "trace/trace_merge.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of different shapes of a call path in a sum. */
enum { MOST_SHAPES = 64 };

typedef unsigned __int128 wide;

/* The sum so far; lists are sorted by context. */
typedef struct reducing {
    const fd_trace *trace;
    fd_trace_rank *sum;
    fd_figure *figures;
    fd_gpu_figure *gpu;
    fd_rank_spread *spreads;
    fd_sketch_list sketches;
} reducing;

static void
add_wide(uint64_t sum[2], wide more)
{
    wide all = ((wide)sum[1] << 64 | sum[0]) + more;
    sum[0] = (uint64_t)all;
    sum[1] = (uint64_t)(all >> 64);
}

static wide
whole(double squares)
{
    double most = 1e38; /* below 2^127 */
    return squares > 0 ? (wide)(squares < most ? squares : most) : 0;
}

static double
number(const uint64_t sum[2])
{
    return (double)((wide)sum[1] << 64 | sum[0]);
}

static void
add_spread(reducing *r, const fd_rank_spread *more)
{
    fd_rank_spread *spread = &r->spreads[more->context];
    bool first = spread->ranks == 0;
    spread->context = more->context;
    spread->ranks += more->ranks;
    fd_rank_range_widen(&spread->calls, &more->calls, first);
    fd_rank_range_widen(&spread->self, &more->self, first);
    fd_rank_range_widen(&spread->total, &more->total, first);
    add_wide(spread->self_squares,
             (wide)more->self_squares[1] << 64 | more->self_squares[0]);
    add_wide(spread->total_squares,
             (wide)more->total_squares[1] << 64 | more->total_squares[0]);
    spread->least += more->least;
    spread->late += more->late;
    add_wide(spread->late_squares,
             (wide)more->late_squares[1] << 64 | more->late_squares[0]);
}

static fd_rank_range
range_of(uint64_t value, uint32_t rank)
{
    return (fd_rank_range){value, value, rank, rank};
}

/* Add the steps of a context on one rank, as a comparison of runs needs
 * them. */
static void
add_steps(fd_rank_spread *one, const fd_figure *own, bool selected)
{
    if (own->steps > 1) {
        one->least = own->self_min * own->steps;
    }
    if (!selected) {
        fd_figure steady = fd_figure_steady(own);
        if (own->stepped > steady.stepped) {
            one->late = own->stepped - steady.stepped;
        }
        add_wide(one->late_squares,
                 whole(own->self_squares - steady.self_squares));
    }
}

/* Add the spread and the sketches of one rank. */
static fd_status
add_one_rank(reducing *r, const fd_trace_rank *rank, const fd_total *totals,
             const fd_figure *own)
{
    fd_sketch_list sketches = {.buckets = {NULL, 0, 0}};
    fd_status status = FD_OK;
    for (uint32_t i = 1; i < r->trace->contexts.count && status == FD_OK;
         i++) {
        const fd_total *total = &totals[i];
        if (own[i].context == 0 && !fd_total_has_figures(total)) {
            continue;
        }
        fd_rank_spread one = {.context = i, .ranks = 1};
        one.calls = range_of(total->calls, rank->rank);
        one.self = range_of(total->self, rank->rank);
        one.total = range_of(total->total, rank->rank);
        add_wide(one.self_squares, whole(own[i].self_squares));
        add_wide(one.total_squares, whole(own[i].total_squares));
        add_steps(&one, &own[i], rank->window.applied);
        add_spread(r, &one);
        fd_rank_bucket made[2];
        uint32_t count = fd_sketch_values(i, total->self, total->total, made);
        for (uint32_t k = 0; k < count && status == FD_OK; k++) {
            status = fd_vector_push(&sketches.buckets, made[k]);
        }
    }
    if (status == FD_OK) {
        status = fd_sketch_add(&r->sketches, sketches.buckets.list,
                               sketches.buckets.count);
    }
    fd_sketch_clear(&sketches);
    return status;
}

static fd_status
add_rank_spreads(reducing *r, uint32_t index)
{
    const fd_trace_rank *rank = &r->trace->ranks.list[index];
    fd_totals totals = {.list = NULL};
    fd_figure *own = fd_calloc(r->trace->contexts.count, sizeof *own);
    fd_status status =
        own != NULL ? fd_totals_sum(&totals, r->trace, (int)index) : FD_ENOMEM;
    for (uint32_t i = 0; status == FD_OK && i < rank->figures.count; i++) {
        own[rank->figures.list[i].context] = rank->figures.list[i];
    }
    if (status == FD_OK) {
        status = add_one_rank(r, rank, totals.list, own);
    }
    fd_free(own);
    fd_totals_clear(&totals);
    return status;
}

static fd_status
add_spreads(reducing *r, uint32_t index)
{
    const fd_trace_rank *rank = &r->trace->ranks.list[index];
    if (rank->reduced == 0) {
        return add_rank_spreads(r, index);
    }
    for (uint32_t i = 0; i < rank->spreads.count; i++) {
        add_spread(r, &rank->spreads.list[i]);
    }
    return fd_sketch_add(&r->sketches, rank->buckets.list,
                         rank->buckets.count);
}

static void
add_figures(reducing *r, const fd_trace_rank *rank)
{
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        const fd_figure *more = &rank->figures.list[i];
        fd_figure *figure = &r->figures[more->context];
        figure->context = more->context;
        fd_figure_add(figure, more);
    }
    for (uint32_t i = 0; i < rank->gpu.count; i++) {
        const fd_gpu_figure *more = &rank->gpu.list[i];
        fd_gpu_figure *figure = &r->gpu[more->context];
        figure->context = more->context;
        fd_gpu_figure_add(figure, more);
    }
}

static fd_status
add_thread(fd_trace_rank *sum, const fd_trace_thread *more)
{
    for (uint32_t i = 0; i < sum->threads.count; i++) {
        fd_trace_thread *thread = &sum->threads.list[i];
        if (thread->role == more->role && thread->root == more->root) {
            thread->running |= more->running;
            thread->served += more->served;
            thread->covered += more->covered;
            thread->self += more->self;
            thread->events += more->events;
            thread->events_lost += more->events_lost;
            thread->cpu += more->cpu;
            return FD_OK;
        }
    }
    return fd_vector_push(&sum->threads, (fd_trace_thread){
                                             .role = more->role,
                                             .root = more->root,
                                             .running = more->running,
                                             .served = more->served,
                                             .covered = more->covered,
                                             .self = more->self,
                                             .events = more->events,
                                             .events_lost = more->events_lost,
                                             .cpu = more->cpu,
                                         });
}

static void
add_states(fd_trace_rank *sum, const fd_trace_rank *more)
{
    if (sum->reduced == 0) {
        sum->state = more->state;
        sum->timing = more->timing;
        sum->window.applied = more->window.applied;
        sum->start.realtime_ns = more->start.realtime_ns;
    }
    /* different: unknown */
    sum->state = sum->state == more->state ? sum->state : 0;
    sum->timing = sum->timing != 0 && more->timing != 0;
    sum->window.applied = sum->window.applied && more->window.applied;
    sum->incomplete |= more->incomplete;
    if (more->deepest != 0
        && (sum->deepest == 0 || more->deepest < sum->deepest)) {
        sum->deepest = more->deepest;
    }
    if (more->steps_source > sum->steps_source) {
        sum->steps_source = more->steps_source;
    }
    if (more->start.realtime_ns < sum->start.realtime_ns) {
        sum->start.realtime_ns = more->start.realtime_ns;
    }
}

static void
add_scalars(fd_trace_rank *sum, const fd_trace_rank *more)
{
    add_states(sum, more);
    sum->world = more->world > sum->world ? more->world : sum->world;
    sum->steps += more->steps;
    sum->recorded += more->recorded;
    sum->whole += more->window.applied ? more->whole : more->recorded;
    sum->file_bytes += more->file_bytes;
    for (int i = 0; i < FD_COUNTERS; i++) {
        sum->counters[i] += more->counters[i];
    }
}

/* Return whether a measure is of memory, which is not summed over ranks. */
static bool
is_memory(const fd_trace_measure *measure)
{
    return measure->kind >= FD_MEASURE_ALLOCATED
        && measure->kind <= FD_MEASURE_UNFOLLOWED;
}

/* Return the row of the highest peak of memory; NULL without one. In a sum,
 * its `other` is the rank. */
static const fd_trace_measure *
highest_peak(const fd_trace_rank *rank)
{
    const fd_trace_measure *highest = NULL;
    for (uint32_t i = 0; i < rank->measures.count; i++) {
        const fd_trace_measure *measure = &rank->measures.list[i];
        if (measure->kind == FD_MEASURE_PEAK
            && (highest == NULL || measure->max > highest->max)) {
            highest = measure;
        }
    }
    return highest;
}

/* Return whether the memory of a rank replaces that of the sum: the peak is
 * higher, or equal and of a lower rank. */
static bool
is_higher(const fd_trace_rank *sum, const fd_trace_rank *more)
{
    const fd_trace_measure *old = highest_peak(sum);
    const fd_trace_measure *new = highest_peak(more);
    if (old == NULL || new == NULL) {
        return new != NULL;
    }
    uint64_t rank = more->reduced > 0 ? new->other : more->rank;
    return new->max > old->max || (new->max == old->max &&rank < old->other);
}

static void
remove_memory(fd_trace_rank *sum)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sum->measures.count; i++) {
        if (!is_memory(&sum->measures.list[i])) {
            sum->measures.list[kept++] = sum->measures.list[i];
        }
    }
    sum->measures.count = kept;
}

/* Give a measure of one rank its range, or the peak of memory its rank. */
static void
describe_rank(fd_trace_measure *measure, uint32_t rank, bool summed)
{
    if (measure->kind == FD_MEASURE_PEAK) {
        measure->other = rank;
    }
    if (summed) {
        bool sent =
            measure->kind == FD_MEASURE_COMM && measure->other > measure->sum;
        measure->ranks = 1;
        measure->range = range_of(sent ? measure->other : measure->sum, rank);
    }
}

/* Return the hash of the shapes of a measure; the row without detail is the
 * last one. */
static uint64_t
shapes_hash(const fd_trace *trace, const fd_trace_measure *measure)
{
    const char *text = fd_trace_text(trace, measure->detail);
    return measure->detail == 0 ? UINT64_MAX
                                : fd_hash_bytes(text, strlen(text));
}

/* Order shapes of a path: of too many, those with the smallest hashes remain,
 * so that the result does not depend on the order of the ranks. */
static int
by_shapes_hash(const void *left, const void *right, void *of)
{
    const fd_trace *const *trace = of;
    uint64_t a = shapes_hash(*trace, left);
    uint64_t b = shapes_hash(*trace, right);
    return a < b ? -1 : a > b;
}

/* Move the calls with further shapes of each path to its row without detail:
 * shapes would grow with the number of ranks. */
static void
bound_shapes(const fd_trace *trace, fd_trace_rank *sum)
{
    fd_trace_measure *list = sum->measures.list;
    bool moved = false;
    for (uint32_t i = 0, end; i < sum->measures.count; i = end) {
        for (end = i + 1;
             end < sum->measures.count && list[end].context == list[i].context
             && list[end].kind == list[i].kind;
             end++) {
        }
        if (list[i].kind != FD_MEASURE_SHAPES || end - i <= MOST_SHAPES) {
            continue;
        }
        qsort_r(&list[i], end - i, sizeof *list, by_shapes_hash, &trace);
        for (uint32_t k = i + MOST_SHAPES; k < end; k++, moved = true) {
            list[k].detail = 0;
            list[k].ranks = 0;
        }
    }
    if (moved) {
        fd_measures_fold(sum);
    }
}

/* Add the counts that can be summed over ranks, and store the memory of the
 * rank with the highest peak. The latest collectives cannot be summed. */
static fd_status
add_measures(const fd_trace *trace, fd_trace_rank *sum,
             const fd_trace_rank *more)
{
    fd_status status = FD_OK;
    bool higher = is_higher(sum, more);
    if (higher) {
        remove_memory(sum);
    }
    for (uint32_t i = 0; i < more->measures.count && status == FD_OK; i++) {
        fd_trace_measure measure = more->measures.list[i];
        bool summed = measure.kind <= FD_MEASURE_COMM;
        if (more->reduced == 0) {
            describe_rank(&measure, more->rank, summed);
        }
        if (summed || (higher && is_memory(&measure))) {
            status = fd_vector_push(&sum->measures, measure);
        }
    }
    fd_measures_fold(sum);
    bound_shapes(trace, sum);
    return status;
}

/* Take the facts of the lowest rank, without those of an earlier sum. */
static fd_status
take_facts(reducing *r, const fd_trace_rank *rank)
{
    fd_trace_rank *sum = r->sum;
    fd_status status = FD_OK;
    sum->meta.count = 0;
    for (uint32_t i = 0; i < rank->meta.count && status == FD_OK; i++) {
        const char *key = fd_trace_text(r->trace, rank->meta.list[i].key);
        if (strcmp(key, FD_REDUCED_FACT) != 0) {
            status = fd_vector_push(&sum->meta, rank->meta.list[i]);
        }
    }
    return status;
}

static fd_status
add_rank(reducing *r, uint32_t index)
{
    fd_trace_rank *sum = r->sum;
    const fd_trace_rank *more = &r->trace->ranks.list[index];
    uint32_t first = more->reduced > 0 ? more->first : more->rank;
    fd_status status = add_spreads(r, index);
    add_figures(r, more);
    add_scalars(sum, more);
    if (status == FD_OK) {
        status = add_measures(r->trace, sum, more);
    }
    for (uint32_t i = 0; i < more->threads.count && status == FD_OK; i++) {
        status = add_thread(sum, &more->threads.list[i]);
    }
    if (status == FD_OK && (sum->reduced == 0 || first < sum->first)) {
        sum->first = first;
        status = take_facts(r, more);
    }
    sum->reduced += more->reduced > 0 ? more->reduced : 1;
    return status;
}

static int
by_role(const void *left, const void *right)
{
    const fd_trace_thread *a = left;
    const fd_trace_thread *b = right;
    return a->role != b->role ? (a->role > b->role) - (a->role < b->role)
                              : (a->root > b->root) - (a->root < b->root);
}

/* Store the lists in the sum. */
static fd_status
keep_lists(reducing *r)
{
    fd_trace_rank *sum = r->sum;
    fd_status status = FD_OK;
    for (uint32_t i = 1; i < r->trace->contexts.count && status == FD_OK;
         i++) {
        const fd_rank_spread *spread = &r->spreads[i];
        if (r->figures[i].context != 0) {
            r->figures[i].self_squares = number(spread->self_squares);
            r->figures[i].total_squares = number(spread->total_squares);
            status = fd_vector_push(&sum->figures, r->figures[i]);
        }
        if (status == FD_OK && r->gpu[i].context != 0) {
            status = fd_vector_push(&sum->gpu, r->gpu[i]);
        }
        if (status == FD_OK && spread->ranks > 0) {
            status = fd_vector_push(&sum->spreads, *spread);
        }
    }
    if (sum->threads.count > 0) {
        qsort(sum->threads.list, sum->threads.count, sizeof *sum->threads.list,
              by_role);
    }
    sum->buckets.list = r->sketches.buckets.list;
    sum->buckets.count = r->sketches.buckets.count;
    sum->buckets.capacity = r->sketches.buckets.capacity;
    r->sketches = (fd_sketch_list){.buckets = {NULL, 0, 0}};
    return status;
}

/* Replace the ranks of a sorted trace by their sum. */
static fd_status
reduce(fd_trace *trace)
{
    uint32_t count = trace->contexts.count;
    fd_trace_rank sum = {.rank = FD_RANK_SUM};
    reducing r = {.trace = trace,
                  .sum = &sum,
                  .figures = fd_calloc(count, sizeof *r.figures),
                  .gpu = fd_calloc(count, sizeof *r.gpu),
                  .spreads = fd_calloc(count, sizeof *r.spreads)};
    fd_status status = r.figures != NULL && r.gpu != NULL && r.spreads != NULL
                         ? FD_OK
                         : FD_ENOMEM;
    memset(sum.id, '0', sizeof sum.id - 1);
    memset(sum.boot_id, '0', sizeof sum.boot_id - 1);
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        status = add_rank(&r, i);
    }
    if (status == FD_OK) {
        status = keep_lists(&r);
    }
    fd_free(r.figures);
    fd_free(r.gpu);
    fd_free(r.spreads);
    fd_sketch_clear(&r.sketches);
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        fd_trace_rank_clear(&trace->ranks.list[i]);
    }
    if (status != FD_OK) {
        fd_trace_rank_clear(&sum);
        return status;
    }
    trace->ranks.count = 0;
    return fd_vector_push(&trace->ranks, sum);
}

static fd_status
add_about(fd_trace *trace, const char *about)
{
    fd_trace_meta made = {0, 0};
    fd_status status = fd_text_pool_add(&trace->texts, FD_REDUCED_FACT,
                                        strlen(FD_REDUCED_FACT), &made.key);
    if (status == FD_OK) {
        status =
            fd_text_pool_add(&trace->texts, about, strlen(about), &made.json);
    }
    return status == FD_OK ? fd_vector_push(&trace->ranks.list[0].meta, made)
                           : status;
}

/* Join nodes, modules, contexts and ranks of all traces in one. */
static fd_status
join(fd_trace *all, const fd_trace *const *traces, size_t count)
{
    fd_status status = FD_OK;
    for (size_t i = 0; i < count && status == FD_OK; i++) {
        fd_merge_ids ids = {.lineless = false};
        status = fd_merge_shared(all, traces[i], &ids);
        if (status == FD_OK) {
            status = fd_merge_ranks(all, traces[i], &ids);
        }
        fd_merge_ids_clear(&ids);
    }
    return status == FD_OK ? fd_trace_sort(all) : status;
}

fd_status
fd_ranks_reduce(fd_trace **made, const fd_trace *const *traces, size_t count,
                const char *about, uint32_t limit)
{
    fd_trace *all = fd_trace_new();
    fd_status status = all != NULL ? join(all, traces, count) : FD_ENOMEM;
    if (status == FD_OK) {
        status = reduce(all);
    }
    if (status == FD_OK) {
        status = fd_deep_paths_fold(&all, limit);
    }
    if (status == FD_OK) {
        status = add_about(all, about);
    }
    if (status == FD_OK) {
        status = fd_sort_texts(all); /* removes those of other ranks */
    }
    if (status != FD_OK) {
        fd_trace_free(all);
        all = NULL;
    }
    *made = all;
    return status;
}
