#include "trace/segment_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
fd_segments_match(const fd_trace_rank *a, const fd_trace_rank *b)
{
    return a->segment > 0 && b->segment > 0 && a->segment != b->segment
        && a->rank == b->rank && strcmp(a->id, b->id) == 0;
}

static int
by_segment(const void *left, const void *right)
{
    const fd_trace_rank *a = left;
    const fd_trace_rank *b = right;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    int order = strcmp(a->id, b->id);
    return order != 0 ? order
                      : (a->segment > b->segment) - (a->segment < b->segment);
}

/* Return, for each context, its index in a list with elements of `size` bytes,
 * + 1; or NULL after a failed allocation. The context is the first field of an
 * element. */
static uint32_t *
modules_of(const fd_trace *trace, const void *list, uint32_t count,
           size_t size)
{
    uint32_t *places = fd_calloc(trace->contexts.count, sizeof *places);
    for (uint32_t i = 0; places != NULL && i < count; i++) {
        uint32_t context;
        memcpy(&context, (const char *)list + i * size, sizeof context);
        places[context] = i + 1;
    }
    return places;
}

static fd_status
add_figures(const fd_trace *trace, fd_trace_rank *to,
            const fd_trace_rank *more)
{
    uint32_t *places = modules_of(trace, to->figures.list, to->figures.count,
                                  sizeof *to->figures.list);
    fd_status status = places != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; status == FD_OK && i < more->figures.count; i++) {
        const fd_figure *from = &more->figures.list[i];
        if (places[from->context] == 0) {
            status = fd_vector_push(&to->figures, *from);
            continue;
        }
        fd_figure *figure = &to->figures.list[places[from->context] - 1];
        uint32_t steps = figure->steps + from->steps;
        fd_figure_add(figure, from);
        figure->steps = steps;
    }
    fd_free(places);
    return status;
}

static fd_status
add_gpu(const fd_trace *trace, fd_trace_rank *to, const fd_trace_rank *more)
{
    uint32_t *places =
        modules_of(trace, to->gpu.list, to->gpu.count, sizeof *to->gpu.list);
    fd_status status = places != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; status == FD_OK && i < more->gpu.count; i++) {
        const fd_gpu_figure *from = &more->gpu.list[i];
        if (places[from->context] == 0) {
            status = fd_vector_push(&to->gpu, *from);
            continue;
        }
        fd_gpu_figure *figure = &to->gpu.list[places[from->context] - 1];
        figure->calls += from->calls;
        figure->total += from->total;
        figure->self += from->self;
        figure->starved += from->starved;
        figure->launch_bound += from->launch_bound;
    }
    fd_free(places);
    return status;
}

/* Remove the latest collectives: their numbers restart in each segment. */
static void
forget_latest(fd_trace_rank *rank)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rank->measures.count; i++) {
        if (rank->measures.list[i].kind != FD_MEASURE_LATEST) {
            rank->measures.list[kept++] = rank->measures.list[i];
        }
    }
    rank->measures.count = kept;
}

static fd_status
add_measures(fd_trace_rank *to, fd_trace_rank *more)
{
    fd_status status = FD_OK;
    forget_latest(to);
    forget_latest(more);
    for (uint32_t i = 0; i < more->measures.count && status == FD_OK; i++) {
        status = fd_vector_push(&to->measures, more->measures.list[i]);
    }
    if (status == FD_OK) {
        fd_measures_fold(to);
    }
    return status;
}

/* Return the thread of an earlier segment that continues in this one, or the
 * number of threads. */
static uint32_t
same_thread(const fd_trace_rank *to, const fd_trace_thread *thread)
{
    uint32_t i = 0;
    while (i < to->threads.count
           && (to->threads.list[i].role != thread->role
               || to->threads.list[i].root != thread->root)) {
        i++;
    }
    return i;
}

/* Adjust the call of a root, which represents a thread: one that continues is
 * a single call. */
static void
continue_root(fd_trace_rank *rank, uint32_t root)
{
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        fd_figure *figure = &rank->figures.list[i];
        if (figure->context == root && figure->calls > 0) {
            figure->calls--;
        }
    }
}

static void
add_thread(fd_trace_rank *rank, fd_trace_thread *to,
           const fd_trace_thread *more, uint64_t shift)
{
    to->served += more->served;
    if (to->running && to->system_id == more->system_id && more->served > 0) {
        to->served--;
        continue_root(rank, to->root);
    }
    to->running = more->running;
    to->system_id = more->system_id;
    to->covered += more->covered;
    to->self += more->self;
    to->events += more->events;
    to->events_lost += more->events_lost;
    to->cpu += more->cpu;
    to->last = more->last + shift;
}

/* Add threads, and their open calls. */
static fd_status
add_threads(fd_trace_rank *to, const fd_trace_rank *more, uint64_t shift)
{
    fd_status status = FD_OK;
    uint32_t *places = fd_calloc(more->threads.count + 1, sizeof *places);
    if (places == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < more->threads.count && status == FD_OK; i++) {
        const fd_trace_thread *from = &more->threads.list[i];
        places[i] = same_thread(to, from);
        if (places[i] < to->threads.count) {
            add_thread(to, &to->threads.list[places[i]], from, shift);
            continue;
        }
        fd_trace_thread made = *from;
        made.last += shift;
        status = fd_vector_push(&to->threads, made);
    }
    to->open.count = 0;
    for (uint32_t i = 0; i < more->open.count && status == FD_OK; i++) {
        fd_open_call call = more->open.list[i];
        call.thread = places[call.thread];
        status = fd_vector_push(&to->open, call);
    }
    fd_free(places);
    return status;
}

/* Choose the source of steps: a stronger source discards steps of weaker
 * ones. */
static void
choose_source(fd_trace_rank *to, const fd_trace_rank *more)
{
    if (more->steps_source > to->steps_source) {
        to->steps_source = more->steps_source;
        to->steps = 0;
        to->latest.count = 0;
        to->tops.count = 0;
        for (uint32_t i = 0; i < to->figures.count; i++) {
            fd_figure *figure = &to->figures.list[i];
            *figure = (fd_figure){.context = figure->context,
                                  .calls = figure->calls,
                                  .resumes = figure->resumes,
                                  .self = figure->self};
        }
    }
}

/* Keep only the last steps, as a recording does. */
static void
forget_steps(fd_trace_rank *rank)
{
    uint32_t excess = rank->latest.count > FD_STEPS_KEPT
                        ? rank->latest.count - FD_STEPS_KEPT
                        : 0;
    if (excess == 0) {
        return;
    }
    rank->latest.count -= excess;
    memmove(rank->latest.list, rank->latest.list + excess,
            rank->latest.count * sizeof *rank->latest.list);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rank->tops.count; i++) {
        if (rank->tops.list[i].step >= rank->latest.list[0].number) {
            rank->tops.list[kept++] = rank->tops.list[i];
        }
    }
    rank->tops.count = kept;
}

static fd_status
add_steps(fd_trace_rank *to, const fd_trace_rank *more, uint64_t shift)
{
    fd_status status = FD_OK;
    to->steps += more->steps;
    for (uint32_t i = 0; i < more->latest.count && status == FD_OK; i++) {
        fd_trace_step step = more->latest.list[i];
        step.begin += shift;
        step.end += shift;
        status = fd_vector_push(&to->latest, step);
    }
    for (uint32_t i = 0; i < more->tops.count && status == FD_OK; i++) {
        status = fd_vector_push(&to->tops, more->tops.list[i]);
    }
    forget_steps(to);
    return status;
}

static fd_status
add_facts(fd_trace_rank *to, const fd_trace_rank *more)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < more->meta.count && status == FD_OK; i++) {
        uint32_t at = 0;
        while (at < to->meta.count
               && to->meta.list[at].key != more->meta.list[i].key) {
            at++;
        }
        if (at < to->meta.count) {
            to->meta.list[at] = more->meta.list[i];
        }
        else {
            status = fd_vector_push(&to->meta, more->meta.list[i]);
        }
    }
    for (uint32_t i = 0; i < more->notes.count && status == FD_OK; i++) {
        status = fd_vector_push(&to->notes, more->notes.list[i]);
    }
    return status;
}

static void
add_scalars(fd_trace_rank *to, const fd_trace_rank *more)
{
    to->segment = more->segment;
    to->segments += more->segments;
    to->world = more->world;
    to->state = more->state;
    to->timing = to->timing != 0 && more->timing != 0;
    to->incomplete |= more->incomplete;
    to->recorded += more->recorded;
    to->file_bytes += more->file_bytes;
    for (int i = 0; i < FD_COUNTERS; i++) {
        to->counters[i] += more->counters[i];
    }
    to->marks.count = 0;
    to->window.from = 0;
    to->window.to = 0;
    to->window.figures_from.count = 0;
    to->window.figures_to.count = 0;
}

static fd_status
add_segment(const fd_trace *trace, fd_trace_rank *to, fd_trace_rank *more)
{
    uint64_t shift = more->start.realtime_ns > to->start.realtime_ns
                       ? more->start.realtime_ns - to->start.realtime_ns
                       : 0;
    bool weaker = more->steps_source < to->steps_source;
    choose_source(to, more);
    if (weaker) {
        choose_source(more, to);
    }
    fd_status status = add_figures(trace, to, more);
    status = status == FD_OK ? add_gpu(trace, to, more) : status;
    status = status == FD_OK ? add_measures(to, more) : status;
    status = status == FD_OK ? add_threads(to, more, shift) : status;
    status = status == FD_OK ? add_steps(to, more, shift) : status;
    status = status == FD_OK ? add_facts(to, more) : status;
    add_scalars(to, more);
    return status;
}

static fd_status
add_text(fd_trace *trace, const char *text, uint32_t *id)
{
    return fd_text_pool_add(&trace->texts, text, strlen(text), id);
}

static fd_status
describe(fd_trace *trace, fd_trace_rank *rank, bool all)
{
    char json[64];
    char line[96];
    fd_trace_meta made = {0, 0};
    uint32_t lost =
        rank->segment > rank->segments ? rank->segment - rank->segments : 0;
    snprintf(json, sizeof json, "{\"last\": %u, \"read\": %u}", rank->segment,
             rank->segments);
    snprintf(line, sizeof line,
             "%u of its %u segments were removed or are missing", lost,
             rank->segment);
    fd_status status = add_text(trace, FD_SEGMENTS_FACT, &made.key);
    status = status == FD_OK ? add_text(trace, json, &made.json) : status;
    status = status == FD_OK ? fd_vector_push(&rank->meta, made) : status;
    if (all && lost > 0 && status == FD_OK) {
        uint32_t id;
        rank->incomplete = true;
        status = add_text(trace, line, &id);
        status = status == FD_OK ? fd_vector_push(&rank->notes, id) : status;
    }
    return status;
}

fd_status
fd_segments_join(fd_trace *trace, bool all)
{
    fd_status status = FD_OK;
    fd_trace_rank *list = trace->ranks.list;
    uint32_t kept = 0;
    if (trace->ranks.count > 0) {
        qsort(list, trace->ranks.count, sizeof *list, by_segment);
    }
    for (uint32_t i = 1; i < trace->ranks.count; i++) {
        if (!fd_segments_match(&list[kept], &list[i])) {
            fd_trace_rank next = list[i];
            list[i] = (fd_trace_rank){.rank = 0};
            list[++kept] = next;
            continue;
        }
        if (status == FD_OK) {
            status = add_segment(trace, &list[kept], &list[i]);
        }
        fd_trace_rank_clear(&list[i]);
        list[i] = (fd_trace_rank){.rank = 0};
    }
    trace->ranks.count = trace->ranks.count > 0 ? kept + 1 : 0;
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        if (list[i].segment > 0) {
            status = describe(trace, &list[i], all);
        }
    }
    return status;
}
