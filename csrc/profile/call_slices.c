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
    while (left != FD_NO_SLICE && s->links[left].start >= call->start) {
        /* links the list while the call has no parent */
        fd_slice_links *links = &s->links[left];
        uint32_t before = links->parent;
        links->next = child;
        links->parent = event;
        child = left;
        left = before;
    }
    uint64_t start = call->start;
    if (left != FD_NO_SLICE && end_of(&s->events[left]) > start) {
        start = end_of(&s->events[left]);
    }
    start = start < end_of(call) ? start : end_of(call);
    s->links[event] = (fd_slice_links){start, left, child, FD_NO_SLICE};
    *latest = event;
}

/* Link the outermost calls, and return the first. */
static uint32_t
link_roots(fd_slices *s, uint32_t latest)
{
    uint32_t next = FD_NO_SLICE;
    while (latest != FD_NO_SLICE) {
        fd_slice_links *links = &s->links[latest];
        uint32_t before = links->parent;
        links->next = next;
        links->parent = FD_NO_SLICE;
        next = latest;
        latest = before;
    }
    return next;
}

fd_status
fd_slices_make(fd_slices *slices, const fd_trace_event *events, uint32_t count)
{
    uint32_t latest = FD_NO_SLICE;
    *slices = (fd_slices){
        .events = events,
        .links = fd_malloc(((size_t)count + 1) * sizeof *slices->links),
        .down = true};
    if (slices->links == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (fd_event_is_call(&events[i])) {
            add_call(slices, i, &latest);
        }
    }
    slices->at = link_roots(slices, latest);
    return FD_OK;
}

void
fd_slices_clear(fd_slices *slices)
{
    fd_free(slices->links);
    slices->links = NULL;
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
    uint64_t time = s->down ? s->links[at].start : end_of(&s->events[at]);
    s->last = time > s->last ? time : s->last;
    edge->time = s->last;
    if (s->down) {
        s->down = s->links[at].child != FD_NO_SLICE;
        s->at = s->down ? s->links[at].child : at;
    }
    else {
        s->down = s->links[at].next != FD_NO_SLICE;
        s->at = s->down ? s->links[at].next : s->links[at].parent;
    }
    return true;
}
