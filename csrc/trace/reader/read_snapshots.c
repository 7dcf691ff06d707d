#include "trace/reader/recording_reading.h"

#include <string.h>

/* The complete snapshots of a recording, and the state at the end of the last
 * step. */
typedef struct snapshots {
    fd_reading *r;
    const fd_snapshot *list; /* record 0 is the end of the last step */
    uint32_t count;
    uint64_t figures; /* number of records in the file */
    uint64_t threads;
    FD_VECTOR(uint32_t) chosen; /* by mark: index in `list` */
    fd_mark_figure *states;     /* owned; by raw context, in ticks */
    uint64_t *covered;          /* owned; by thread, in ticks */
    uint64_t *cpu;              /* owned; by thread */
} snapshots;

/* Find the records of one chunk; further chunks of a damaged file are
 * ignored. */
static void
find_records(snapshots *s)
{
    FOR_EACH_CHUNK(s->r, FD_CHUNK_SNAPSHOTS, view)
    {
        s->list = s->list == NULL ? view->records : s->list;
        s->count = s->count == 0 ? view->used : s->count;
    }
    s->figures = s->r->file.counts[FD_CHUNK_SNAPSHOT_FIGURES];
    s->threads = s->r->file.counts[FD_CHUNK_SNAPSHOT_THREADS];
}

static fd_trace_mark
mark_of(const fd_reading *r, const fd_snapshot *snapshot)
{
    uint64_t start = fd_chunks_header(&r->file)->start.ticks;
    fd_trace_mark made = {
        .number = snapshot->number,
        .steps = snapshot->steps,
        .end = snapshot->tick > start
                 ? fd_reading_ns(r, snapshot->tick - start)
                 : 0,
        .recorded = fd_reading_ns(r, snapshot->recorded),
        .queued = snapshot->queued,
        .memory = snapshot->memory,
    };
    for (int i = 0; i < FD_PHASES; i++) {
        made.phases[i] = fd_reading_ns(r, snapshot->phases[i]);
    }
    return made;
}

static fd_status
add_mark(snapshots *s, uint32_t index)
{
    fd_trace_mark mark = mark_of(s->r, &s->list[index]);
    fd_status status = fd_vector_push(&s->r->rank->marks, mark);
    return fd_then(status, fd_vector_push(&s->chosen, index));
}

static bool
follows_mark(const snapshots *s, uint32_t index)
{
    const fd_snapshot *snapshot = &s->list[index];
    const fd_trace_rank *rank = s->r->rank;
    if (snapshot->source != fd_chunks_header(&s->r->file)->steps_source
        || snapshot->steps == 0 || snapshot->figures > s->figures
        || snapshot->threads > s->threads) {
        return false;
    }
    const fd_trace_mark *last = rank->marks.count > 0
                                  ? &rank->marks.list[rank->marks.count - 1]
                                  : NULL;
    return last == NULL
        || (snapshot->steps > last->steps && snapshot->number > last->number
            && fd_reading_ns(s->r, snapshot->recorded) >= last->recorded);
}

static fd_status
find_marks(snapshots *s)
{
    fd_status status = FD_OK;
    for (uint32_t i = 1; i < s->count && status == FD_OK; i++) {
        status = follows_mark(s, i) ? add_mark(s, i) : FD_OK;
    }
    return status == FD_OK && follows_mark(s, 0) ? add_mark(s, 0) : status;
}

static uint64_t
pending_ticks(const fd_snapshot *snapshot, uint64_t last)
{
    return snapshot->tick > last ? snapshot->tick - last : 0;
}

/* Add the time of a thread from its last event to the end of the step. */
static void
add_thread(const snapshots *s, const fd_snapshot *snapshot,
           const fd_snapshot_thread *thread)
{
    uint32_t index =
        fd_chunks_index(&s->r->file, FD_CHUNK_THREADS, thread->thread);
    uint64_t pending =
        thread->context != 0 ? pending_ticks(snapshot, thread->last) : 0;
    s->states[fd_reading_raw(s->r, thread->context)].self += pending;
    s->covered[index] = thread->covered + pending;
    s->cpu[index] = thread->cpu;
}

static void
add_figures(const snapshots *s, uint64_t end)
{
    uint64_t at = 0;
    FOR_EACH_CHUNK(s->r, FD_CHUNK_SNAPSHOT_FIGURES, view)
    {
        const fd_snapshot_figure *list = view->records;
        for (uint32_t i = 0; i < view->used && at < end; i++, at++) {
            uint32_t raw = fd_reading_raw(s->r, list[i].context);
            s->states[raw] = (fd_mark_figure){
                .steps = list[i].steps,
                .calls = list[i].calls,
                .resumes = list[i].resumes,
                .self = list[i].self,
                .self_squares = list[i].self_squares,
                .total_squares = list[i].total_squares,
            };
        }
    }
}

static void
add_threads(const snapshots *s, const fd_snapshot *snapshot, uint64_t begin)
{
    uint64_t at = 0;
    FOR_EACH_CHUNK(s->r, FD_CHUNK_SNAPSHOT_THREADS, view)
    {
        const fd_snapshot_thread *list = view->records;
        for (uint32_t i = 0; i < view->used && at < snapshot->threads;
             i++, at++) {
            if (at >= begin) {
                add_thread(s, snapshot, &list[i]);
            }
        }
    }
}

/* Return calls or resumes at the end of the last step: `now` minus those since
 * then; the mark has the low bits of the result. */
static uint64_t
count_before(uint64_t now, uint32_t mark)
{
    uint32_t since = (uint32_t)now - mark;
    return now >= since ? now - since : now;
}

static void
add_last_figures(const snapshots *s)
{
    for (uint32_t i = 1; i < s->r->raw.count; i++) {
        const fd_context *record = s->r->records.list[i];
        const fd_spread *spread =
            record == NULL ? NULL
                           : fd_chunks_record(&s->r->file, FD_CHUNK_SPREADS,
                                              record->spread);
        if (spread != NULL) {
            uint64_t both = count_before(record->calls + record->resumes,
                                         spread->calls_mark);
            uint64_t resumes =
                count_before(record->resumes, spread->resumes_mark);
            s->states[i] = (fd_mark_figure){
                .steps = spread->steps,
                .calls = both > resumes ? both - resumes : 0,
                .resumes = resumes,
                .self = spread->self_mark,
                .self_squares = spread->self_squares,
                .total_squares = spread->total_squares,
            };
        }
    }
}

static void
add_last_threads(const snapshots *s)
{
    FOR_EACH_CHUNK(s->r, FD_CHUNK_THREADS, view)
    {
        const fd_thread_record *list = view->records;
        for (uint32_t i = 0; i < view->used; i++) {
            add_thread(s, &s->list[0],
                       &(fd_snapshot_thread){
                           .thread = fd_reading_id(s->r, &list[i]),
                           .context = list[i].step_context,
                           .last = list[i].step_last,
                           .covered = list[i].step_covered,
                           .cpu = list[i].step_cpu,
                       });
        }
    }
}

/* Restore the state of all contexts and threads at a mark. */
static void
find_state(const snapshots *s, uint32_t mark)
{
    uint32_t index = s->chosen.list[mark];
    memset(s->states, 0, s->r->raw.count * sizeof *s->states);
    memset(s->covered, 0, (s->r->rank->threads.count + 1) * sizeof(uint64_t));
    memset(s->cpu, 0, (s->r->rank->threads.count + 1) * sizeof(uint64_t));
    if (index == 0) {
        add_last_figures(s);
        add_last_threads(s);
        return;
    }
    add_figures(s, s->list[index].figures);
    add_threads(s, &s->list[index],
                index > 1 ? s->list[index - 1].threads : 0);
}

static uint64_t
lesser_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Return a valid sum of squares; in a damaged file it can be any value. */
static double
sound_squares(double squares)
{
    return squares >= 0 && squares < 1e300 ? squares : 0;
}

/* Add the state of a context to its context of the trace. */
static void
add_state(const snapshots *s, uint32_t raw, fd_mark_figure *sum)
{
    const fd_context *record = s->r->records.list[raw];
    const fd_mark_figure *state = &s->states[raw];
    sum->calls += lesser_of(state->calls, record->calls);
    sum->resumes += lesser_of(state->resumes, record->resumes);
    sum->self += fd_reading_ns(s->r, lesser_of(state->self, record->self));
    sum->steps = state->steps > sum->steps ? state->steps : sum->steps;
    sum->self_squares +=
        sound_squares(fd_reading_squares(s->r, state->self_squares));
    sum->total_squares +=
        sound_squares(fd_reading_squares(s->r, state->total_squares));
}

typedef FD_VECTOR(fd_mark_figure) mark_figures;

static fd_status
keep_figures(const snapshots *s, mark_figures *to)
{
    uint32_t count = s->r->trace->contexts.count;
    fd_mark_figure *sums = fd_calloc(count, sizeof *sums);
    fd_status status = sums != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 1; status == FD_OK && i < s->r->raw.count; i++) {
        if (s->r->map[i] != 0 && s->r->records.list[i] != NULL) {
            add_state(s, i, &sums[s->r->map[i]]);
        }
    }
    for (uint32_t i = 1; status == FD_OK && i < count; i++) {
        if (sums[i].calls + sums[i].resumes + sums[i].self > 0) {
            sums[i].context = i;
            status = fd_vector_push(to, sums[i]);
        }
    }
    fd_free(sums);
    return status;
}

static void
keep_threads(const snapshots *s, bool end)
{
    for (uint32_t i = 0; i < s->r->rank->threads.count; i++) {
        fd_trace_thread *thread = &s->r->rank->threads.list[i];
        uint64_t covered =
            lesser_of(fd_reading_ns(s->r, s->covered[i + 1]), thread->covered);
        uint64_t cpu = lesser_of(s->cpu[i + 1], thread->cpu);
        *(end ? &thread->covered_to : &thread->covered_from) = covered;
        *(end ? &thread->cpu_to : &thread->cpu_from) = cpu;
    }
}

static fd_status
read_window(snapshots *s)
{
    fd_step_window *window = &s->r->rank->window;
    mark_figures lists[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    uint32_t places[2] = {window->from, window->to};
    fd_status status = FD_OK;
    for (int end = 0; end < 2 && status == FD_OK; end++) {
        if (places[end] > 0) {
            find_state(s, places[end] - 1);
            status = keep_figures(s, &lists[end]);
            keep_threads(s, end == 1);
        }
    }
    window->figures_from.list = lists[0].list;
    window->figures_from.count = lists[0].count;
    window->figures_from.capacity = lists[0].capacity;
    window->figures_to.list = lists[1].list;
    window->figures_to.count = lists[1].count;
    window->figures_to.capacity = lists[1].capacity;
    return status;
}

static fd_status
make_room(snapshots *s)
{
    uint32_t threads = s->r->rank->threads.count + 1;
    s->states = fd_calloc(s->r->raw.count, sizeof *s->states);
    s->covered = fd_calloc(threads, sizeof *s->covered);
    s->cpu = fd_calloc(threads, sizeof *s->cpu);
    return s->states != NULL && s->covered != NULL && s->cpu != NULL
             ? FD_OK
             : FD_ENOMEM;
}

fd_status
fd_read_snapshots(fd_reading *r)
{
    snapshots s = {.r = r};
    find_records(&s);
    if (s.list == NULL || s.count == 0 || r->file.damaged > 0) {
        return FD_OK;
    }
    fd_status status = find_marks(&s);
    if (status == FD_OK) {
        fd_steps_choose(r->rank, r->steps);
        status = r->rank->window.to > 0 ? make_room(&s) : FD_OK;
    }
    if (status == FD_OK && r->rank->window.to > 0) {
        status = read_window(&s);
    }
    fd_vector_clear(&s.chosen);
    fd_free(s.states);
    fd_free(s.covered);
    fd_free(s.cpu);
    return status;
}
