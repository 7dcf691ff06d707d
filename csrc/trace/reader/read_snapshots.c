#include "trace/reader/recording_reading.h"
#include "trace/trace_columns.h"

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
    fd_mark_figure *states;     /* by raw context, in ticks */
    uint64_t *covered;          /* by thread, in ticks */
    uint64_t *cpu;              /* by thread */
} snapshots;

/* Find the records of one chunk; further chunks of a damaged file are
 * ignored. */
static void
find_records(snapshots *s)
{
    FOR_EACH_CHUNK (s->r, FD_CHUNK_SNAPSHOTS, view) {
        s->list = s->list == NULL ? view->records : s->list;
        s->count = s->count == 0 ? view->used : s->count;
    }
    s->figures = s->r->file.counts[FD_CHUNK_SNAPSHOT_FIGURES];
    s->threads = s->r->file.counts[FD_CHUNK_SNAPSHOT_THREADS];
}

static fd_trace_mark
mark_of(const fd_reading *r, const fd_snapshot *snapshot)
{
    fd_trace_mark made = {
        .number = snapshot->number,
        .steps = snapshot->steps,
        .end = fd_reading_since_start(r, snapshot->tick),
        .recorded = fd_reading_ns(r, snapshot->recorded),
        .queued = snapshot->queued,
        .memory = snapshot->memory,
    };
    for (int i = 0; i < FD_PHASES; i++) {
        made.phases[i] = fd_reading_ns(r, snapshot->phases[i]);
    }
    return made;
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

static void
add_mark(snapshots *s, uint32_t index)
{
    if (follows_mark(s, index)) {
        fd_reading_push(s->r, &s->r->rank->marks,
                        mark_of(s->r, &s->list[index]));
        fd_arena_push(&s->r->arena, &s->chosen, index);
    }
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
    FOR_EACH_RECORD (s->r, FD_CHUNK_SNAPSHOT_FIGURES, fd_snapshot_figure,
                     from) {
        if (at++ < end) {
            s->states[fd_reading_raw(s->r, from->context)] = (fd_mark_figure){
                .steps = from->steps,
                .calls = from->calls,
                .resumes = from->resumes,
                .self = from->self,
                .self_squares = from->self_squares,
                .total_squares = from->total_squares,
            };
        }
    }
}

static void
add_threads(const snapshots *s, const fd_snapshot *snapshot, uint64_t begin)
{
    uint64_t at = 0;
    FOR_EACH_RECORD (s->r, FD_CHUNK_SNAPSHOT_THREADS, fd_snapshot_thread,
                     thread) {
        if (at >= begin && at < snapshot->threads) {
            add_thread(s, snapshot, thread);
        }
        at++;
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
    FOR_EACH_RECORD (s->r, FD_CHUNK_THREADS, fd_thread_record, record) {
        add_thread(s, &s->list[0],
                   &(fd_snapshot_thread){
                       .thread = fd_reading_id(s->r, record),
                       .context = record->step_context,
                       .last = record->step_last,
                       .covered = record->step_covered,
                       .cpu = record->step_cpu,
                   });
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

/* Add the sums of contexts to a list, whose type is that of both lists of a
 * window. */
static void
keep_figures(const snapshots *s, fd_rank_list *to)
{
    uint32_t count = s->r->trace->contexts.count;
    FD_VECTOR(fd_mark_figure) list = {NULL, 0, 0};
    fd_arena_check(&s->r->arena, fd_vector_reserve(&list, count));
    fd_mark_figure *sums = list.list;
    memset(sums, 0, count * sizeof *sums);
    for (uint32_t i = 1; i < s->r->raw.count; i++) {
        if (s->r->map[i] != 0 && s->r->records.list[i] != NULL) {
            add_state(s, i, &sums[s->r->map[i]]);
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        if (sums[i].calls + sums[i].resumes + sums[i].self > 0) {
            sums[i].context = i;
            sums[list.count++] = sums[i];
        }
    }
    *to = (fd_rank_list){list.list, list.count, list.capacity};
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

static void
read_end(snapshots *s, uint32_t place, const fd_table *table, bool end)
{
    if (place > 0) {
        find_state(s, place - 1);
        keep_figures(s, fd_rank_rows_of(s->r->rank, table));
        keep_threads(s, end);
    }
}

void
fd_read_snapshots(fd_reading *r)
{
    snapshots s = {.r = r};
    const fd_step_window *window = &r->rank->window;
    uint32_t threads = r->rank->threads.count + 1;
    find_records(&s);
    if (s.list == NULL || s.count == 0 || r->file.damaged > 0) {
        return;
    }
    for (uint32_t i = 1; i < s.count; i++) {
        add_mark(&s, i);
    }
    add_mark(&s, 0);
    fd_steps_choose(r->rank, r->steps);
    if (window->to > 0) {
        s.states = fd_arena_new(&r->arena, r->raw.count, sizeof *s.states);
        s.covered = fd_arena_new(&r->arena, threads, sizeof *s.covered);
        s.cpu = fd_arena_new(&r->arena, threads, sizeof *s.cpu);
        read_end(&s, window->from, &fd_settled_from_table, false);
        read_end(&s, window->to, &fd_settled_to_table, true);
    }
}
