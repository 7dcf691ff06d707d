#include "profile/timeline_rows.h"

#include "profile/call_slices.h"

/* The minimum duration of a call, and how many calls of exactly that duration
 * fit. */
typedef struct length_bound {
    uint64_t least;
    uint64_t equals;
} length_bound;

typedef struct making {
    fd_timeline_rows *rows;
    const fd_trace_rank *rank;
    length_bound bound;
    uint32_t *of_event; /* index of the call + 1; 0: no call */
} making;

FD_ORDER_AS(longer_first, uint64_t, FD_ORDER(*other, *one))

static length_bound
find_bound(const fd_trace_rank *rank, uint32_t most, fd_arena *arena)
{
    uint32_t count = 0;
    length_bound found = {.least = 0, .equals = UINT64_MAX};
    uint64_t *durations =
        fd_arena_new(arena, rank->events.count, sizeof *durations);
    for (uint32_t i = 0; i < rank->events.count; i++) {
        const fd_trace_event *event = &rank->events.list[i];
        if (fd_event_is_call(event) || event->kind == FD_EVENT_ASYNC) {
            durations[count++] = event->duration;
        }
    }
    if (count > most) {
        fd_sort(durations, count, sizeof *durations, longer_first);
        found.least = most > 0 ? durations[most - 1] : UINT64_MAX;
        found.equals = 0;
        for (uint32_t i = 0; i < most; i++) {
            found.equals += durations[i] == found.least;
        }
    }
    fd_arena_drop(durations);
    return found;
}

static bool
is_kept(length_bound *bound, uint64_t duration)
{
    if (duration == bound->least && bound->equals > 0) {
        bound->equals--;
        return true;
    }
    return duration > bound->least;
}

static void
add_event(making *m, uint32_t number, uint32_t depth, uint64_t start)
{
    const fd_trace_event *event = &m->rank->events.list[number];
    if (!is_kept(&m->bound, event->duration)) {
        m->rows->left_out++;
        return;
    }
    bool is_job = event->kind == FD_EVENT_JOB;
    uint64_t end = event->start + event->duration;
    m->of_event[number] = m->rows->list.count + 1;
    fd_arena_push(&m->rows->arena, &m->rows->list,
                  (fd_timeline_call){
                      .thread = event->thread,
                      .depth = depth,
                      .context = is_job
                                   ? m->rank->jobs.list[event->context].context
                                   : event->context,
                      .job = is_job ? event->context + 1 : 0,
                      .start = start,
                      .duration = end > start ? end - start : 0,
                      .open = event->kind == FD_EVENT_OPEN,
                      .async = event->kind == FD_EVENT_ASYNC,
                  });
}

static void
release_slices(void *slices)
{
    fd_slices_clear(slices);
}

/* Add one thread, whose events are from `from` up to `end`. */
static void
add_thread(making *m, uint32_t from, uint32_t end)
{
    const fd_trace_event *events = m->rank->events.list;
    fd_arena *arena = &m->rows->arena;
    fd_slices *slices = fd_arena_owned(arena, sizeof *slices, release_slices);
    fd_slice_edge edge;
    uint32_t depth = 0;
    fd_arena_check(arena, fd_slices_make(slices, events + from, end - from));
    while (fd_slices_next(slices, &edge)) {
        if (edge.begins) {
            add_event(m, from + edge.event, depth++, edge.time);
        }
        else {
            depth--;
        }
    }
    fd_arena_drop(slices);
    for (uint32_t i = from; i < end; i++) {
        if (events[i].kind == FD_EVENT_ASYNC) {
            add_event(m, i, 0, events[i].start);
        }
    }
}

static void
add_flows(making *m)
{
    for (uint32_t i = 0; i < m->rank->flows.count; i++) {
        uint32_t from = m->of_event[m->rank->flows.list[i].from];
        uint32_t to = m->of_event[m->rank->flows.list[i].to];
        if (from == 0 || to == 0) {
            m->rows->flows_left_out++;
            continue;
        }
        fd_arena_push(&m->rows->arena, &m->rows->flows,
                      (fd_timeline_flow){from - 1, to - 1});
    }
}

fd_status
fd_timeline_rows_make(fd_timeline_rows *rows, const fd_trace_rank *rank,
                      uint32_t most)
{
    *rows = (fd_timeline_rows){.left_out = 0};
    if (fd_arena_caught(&rows->arena, NULL)) {
        return rows->arena.status;
    }
    uint32_t count = rank->events.count;
    making m = {.rows = rows,
                .rank = rank,
                .bound = find_bound(rank, most, &rows->arena),
                .of_event =
                    fd_arena_new(&rows->arena, count, sizeof *m.of_event)};
    for (uint32_t from = 0; from < count;) {
        uint32_t end = fd_events_of_thread(rank->events.list, count, from);
        add_thread(&m, from, end);
        from = end;
    }
    add_flows(&m);
    return fd_arena_left(&rows->arena);
}
