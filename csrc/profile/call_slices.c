#include "profile/call_slices.h"

static uint64_t
end_of(const fd_trace_event *event)
{
    return event->start + event->duration;
}

/* Add a call in the order of ends. Calls that began within it are moved from
 * the list of outermost calls (latest first) to its children. */
static void
add_call(fd_slices *s, uint32_t event, uint32_t *latest)
{
    const fd_trace_event *call = &s->events[event];
    uint32_t child = FD_NO_SLICE;
    uint32_t left = *latest;
    while (left != FD_NO_SLICE && s->start[left] >= call->start) {
        /* links the list while the call has no parent */
        uint32_t before = s->parent[left];
        s->next[left] = child;
        s->parent[left] = event;
        child = left;
        left = before;
    }
    uint64_t start = call->start;
    if (left != FD_NO_SLICE && end_of(&s->events[left]) > start) {
        start = end_of(&s->events[left]);
    }
    s->start[event] = start < end_of(call) ? start : end_of(call);
    s->child[event] = child;
    s->parent[event] = left;
    *latest = event;
}

static void
link_roots(fd_slices *s, uint32_t latest)
{
    uint32_t next = FD_NO_SLICE;
    while (latest != FD_NO_SLICE) {
        uint32_t before = s->parent[latest];
        s->next[latest] = next;
        s->parent[latest] = FD_NO_SLICE;
        next = latest;
        latest = before;
    }
    s->root = next;
}

fd_status
fd_slices_make(fd_slices *slices, const fd_trace_event *events, uint32_t count)
{
    *slices = (fd_slices){
        .root = FD_NO_SLICE,
        .events = events,
        .start = fd_malloc((count + 1) * sizeof *slices->start),
        .parent = fd_malloc((count + 1) * sizeof *slices->parent),
        .child = fd_malloc((count + 1) * sizeof *slices->child),
        .next = fd_malloc((count + 1) * sizeof *slices->next),
    };
    if (slices->start == NULL || slices->parent == NULL
        || slices->child == NULL || slices->next == NULL) {
        fd_slices_clear(slices);
        return FD_ENOMEM;
    }
    uint32_t latest = FD_NO_SLICE;
    for (uint32_t i = 0; i < count; i++) {
        if (fd_event_is_call(&events[i])) {
            add_call(slices, i, &latest);
        }
    }
    link_roots(slices, latest);
    slices->at = slices->root;
    slices->down = true;
    return FD_OK;
}

void
fd_slices_clear(fd_slices *slices)
{
    fd_free(slices->start);
    fd_free(slices->parent);
    fd_free(slices->child);
    fd_free(slices->next);
    *slices = (fd_slices){.events = NULL};
}

bool
fd_slices_next(fd_slices *s, fd_slice_edge *edge)
{
    uint32_t at = s->at;
    if (at == FD_NO_SLICE) {
        return false;
    }
    edge->event = at;
    edge->begins = s->down;
    uint64_t time = s->down ? s->start[at] : end_of(&s->events[at]);
    s->last = time > s->last ? time : s->last;
    edge->time = s->last;
    if (s->down) {
        s->down = s->child[at] != FD_NO_SLICE;
        s->at = s->down ? s->child[at] : at;
    }
    else {
        s->down = s->next[at] != FD_NO_SLICE;
        s->at = s->down ? s->next[at] : s->parent[at];
    }
    return true;
}
