#include "profile/timeline_rows.h"

#include "profile/call_slices.h"

#include <stdlib.h>
#include <string.h>

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
    uint32_t *of_event; /* owned; index of the call + 1; 0: no call */
} making;

FD_ORDER_AS(longer_first, uint64_t, FD_ORDER(*other, *one))

static fd_status
find_bound(const fd_trace_rank *rank, uint32_t most, length_bound *found)
{
    uint64_t *durations =
        fd_malloc(((size_t)rank->events.count + 1) * sizeof *durations);
    if (durations == NULL) {
        return FD_ENOMEM;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank->events.count; i++) {
        const fd_trace_event *event = &rank->events.list[i];
        if (fd_event_is_call(event) || event->kind == FD_EVENT_ASYNC) {
            durations[count++] = event->duration;
        }
    }
    *found = (length_bound){.least = 0, .equals = UINT64_MAX};
    if (count > most) {
        qsort(durations, count, sizeof *durations, longer_first);
        found->least = most > 0 ? durations[most - 1] : UINT64_MAX;
        found->equals = 0;
        for (uint32_t i = 0; i < most; i++) {
            found->equals += durations[i] == found->least;
        }
    }
    fd_free(durations);
    return FD_OK;
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

static fd_status
add_event(making *m, uint32_t number, uint32_t depth, uint64_t start)
{
    const fd_trace_event *event = &m->rank->events.list[number];
    if (!is_kept(&m->bound, event->duration)) {
        m->rows->left_out++;
        return FD_OK;
    }
    bool is_job = event->kind == FD_EVENT_JOB;
    uint64_t end = event->start + event->duration;
    fd_timeline_call call = {
        .thread = event->thread,
        .depth = depth,
        .context = is_job ? m->rank->jobs.list[event->context].context
                          : event->context,
        .job = is_job ? event->context + 1 : 0,
        .start = start,
        .duration = end > start ? end - start : 0,
        .open = event->kind == FD_EVENT_OPEN,
        .async = event->kind == FD_EVENT_ASYNC,
    };
    m->of_event[number] = m->rows->list.count + 1;
    return fd_vector_push(&m->rows->list, call);
}

/* Add one thread, whose events are from `from` up to `end`. */
static fd_status
add_thread(making *m, uint32_t from, uint32_t end)
{
    fd_slices slices;
    fd_slice_edge edge;
    uint32_t depth = 0;
    fd_status status =
        fd_slices_make(&slices, &m->rank->events.list[from], end - from);
    if (status != FD_OK) {
        return status;
    }
    while (status == FD_OK && fd_slices_next(&slices, &edge)) {
        if (edge.begins) {
            status = add_event(m, from + edge.event, depth++, edge.time);
        }
        else {
            depth--;
        }
    }
    fd_slices_clear(&slices);
    for (uint32_t i = from; i < end && status == FD_OK; i++) {
        const fd_trace_event *event = &m->rank->events.list[i];
        if (event->kind == FD_EVENT_ASYNC) {
            status = add_event(m, i, 0, event->start);
        }
    }
    return status;
}

static fd_status
add_flows(making *m)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < m->rank->flows.count && status == FD_OK; i++) {
        uint32_t from = m->of_event[m->rank->flows.list[i].from];
        uint32_t to = m->of_event[m->rank->flows.list[i].to];
        if (from == 0 || to == 0) {
            m->rows->flows_left_out++;
            continue;
        }
        status = fd_vector_push(&m->rows->flows,
                                (fd_timeline_flow){from - 1, to - 1});
    }
    return status;
}

fd_status
fd_timeline_rows_make(fd_timeline_rows *rows, const fd_trace_rank *rank,
                      uint32_t most)
{
    memset(rows, 0, sizeof *rows);
    uint32_t count = rank->events.count;
    making m = {.rows = rows, .rank = rank};
    m.of_event = fd_calloc((size_t)count + 1, sizeof *m.of_event);
    fd_status status =
        m.of_event == NULL ? FD_ENOMEM : find_bound(rank, most, &m.bound);
    for (uint32_t from = 0; from < count && status == FD_OK;) {
        uint32_t end = fd_events_of_thread(rank->events.list, count, from);
        status = add_thread(&m, from, end);
        from = end;
    }
    fd_then(status, add_flows(&m));
    fd_free(m.of_event);
    return status;
}

void
fd_timeline_rows_clear(fd_timeline_rows *rows)
{
    fd_vector_clear(&rows->list);
    fd_vector_clear(&rows->flows);
}
