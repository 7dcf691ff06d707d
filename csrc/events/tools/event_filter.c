#include "events/tools/event_filter.h"

#include "base/budget.h"
#include "base/hash.h"
#include "base/sums.h"
#include "events/readers/event_reader.h"
#include "events/slice_kinds.h"
#include "events/stats/gpu_facts.h"

#include <string.h>

enum {
    MOST_FLOWS = 1 << 20,
    /* of a flow */
    INSIDE = 1,
    OUTSIDE = 2
};

static void
window_widen(fd_timeline_window *window, int64_t begin, int64_t end)
{
    window->open_ns =
        begin == end && (!window->open || begin > window->open_ns)
            ? begin
            : window->open_ns;
    window->open = window->open || begin == end;
    window->begin_ns =
        !window->any || begin < window->begin_ns ? begin : window->begin_ns;
    window->end_ns =
        !window->any || end > window->end_ns ? end : window->end_ns;
    window->any = true;
}

static fd_status
windows_add(fd_timeline_windows *windows, const fd_timeline_event *event,
            int64_t begin, int64_t end)
{
    uint32_t id;
    fd_span pid = fd_timeline_text(event->pid);
    window_widen(&windows->all, begin, end);
    fd_status status =
        fd_text_pool_add(&windows->pids, pid.from, fd_span_size(pid), &id);
    while (status == FD_OK && windows->list.count <= id) {
        status =
            fd_vector_push(&windows->list, (fd_timeline_window){.any = false});
    }
    if (status == FD_OK) {
        window_widen(&windows->list.list[id], begin, end);
    }
    return status;
}

/* A step of length 0 has no end: it lasts until the next step. */
static void
close_window(const fd_timeline_windows *windows, fd_timeline_window *window)
{
    if (window->any && window->open && window->open_ns == window->end_ns) {
        window->end_ns =
            windows->has_next && windows->next_ns > window->open_ns
                ? windows->next_ns
                : INT64_MAX;
    }
}

static void
close_windows(fd_timeline_windows *windows)
{
    close_window(windows, &windows->all);
    for (uint32_t i = 0; i < windows->list.count; i++) {
        close_window(windows, &windows->list.list[i]);
    }
}

static fd_status
windows_of_ranges(fd_timeline_windows *windows,
                  const fd_timeline_request *request, const char *path,
                  fd_error *error)
{
    bool any = false;
    int64_t times[2];
    if (request->find_steps != NULL
        && !request->find_steps(request->context, path, request->first_step,
                                request->end_step, &any, times)) {
        return fd_fail(error, FD_EINVAL, "stopped");
    }
    if (any) {
        window_widen(&windows->all, times[0], times[1]);
    }
    return FD_OK;
}

fd_status
fd_timeline_windows_find(fd_timeline_windows *windows,
                         const fd_timeline_input *input,
                         const fd_timeline_request *request, fd_error *error)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    uint64_t number;
    int64_t begin;
    int64_t end;
    bool any = false;
    *windows = (fd_timeline_windows){.all = {.any = false}};
    fd_status status =
        fd_timeline_reader_open(&reader, fd_timeline_content(input), error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        if (item != FD_TIMELINE_EVENT
            || !fd_timeline_is_step(&reader.event, &number, &begin, &end)) {
            continue;
        }
        any = true;
        if (number >= request->end_step
            && (!windows->has_next || begin < windows->next_ns)) {
            windows->has_next = true;
            windows->next_ns = begin;
        }
        if (number >= request->first_step && number < request->end_step) {
            status = windows_add(windows, &reader.event, begin, end);
        }
    }
    close_windows(windows);
    fd_then(status, reader.status);
    fd_timeline_reader_close(&reader);
    return status == FD_OK && !any ? windows_of_ranges(
               windows, request, fd_timeline_content(input), error)
                                   : status;
}

void
fd_timeline_windows_clear(fd_timeline_windows *windows)
{
    fd_text_pool_clear(&windows->pids);
    fd_vector_clear(&windows->list);
}

void
fd_timeline_filter_clear(fd_timeline_filter *filter)
{
    fd_timeline_slices_clear(&filter->slices);
    fd_vector_clear(&filter->pairs);
    fd_map_clear(&filter->flows);
    fd_map_clear(&filter->launches);
}

/* Return the window of a process, as times of the file. */
static const fd_timeline_window *
window_of(const fd_timeline_filter *filter, fd_span pid)
{
    const fd_timeline_windows *windows = filter->input->windows;
    const fd_text_pool *pids = &windows->pids;
    const fd_timeline_window *window = &windows->all;
    for (uint32_t i = 0; i < windows->list.count; i++) {
        if (windows->list.list[i].any
            && fd_text_pool_size(pids, i) == fd_span_size(pid)
            && (fd_span_size(pid) == 0
                || memcmp(fd_text_pool_get(pids, i), pid.from,
                          fd_span_size(pid))
                       == 0)) {
            window = &windows->list.list[i];
        }
    }
    return window;
}

/* Return the nanoseconds from the start of the merge to a time of the file. */
static int64_t
since_start(const fd_timeline_filter *filter, int64_t time)
{
    return fd_minus(fd_clock_apply(&filter->input->clock.map, time),
                    filter->origin_ns);
}

/* Return whether an event of a process begins in the steps, or overlaps the
 * times. `at_begin`: whether one at the very beginning does. */
static bool
is_inside(const fd_timeline_filter *filter, fd_span pid, int64_t start,
          int64_t end, bool at_begin)
{
    const fd_timeline_request *request = filter->request;
    if (request->has_times) {
        start = since_start(filter, start);
        end = since_start(filter, end);
        return start < request->end_ns
            && (end > request->begin_ns
                || (at_begin && start >= request->begin_ns));
    }
    const fd_timeline_window *window = window_of(filter, pid);
    return start < window->end_ns
        && (start > window->begin_ns
            || (at_begin && start == window->begin_ns));
}

static bool
is_moment_inside(const fd_timeline_filter *filter,
                 const fd_timeline_event *event, bool at_begin)
{
    return event->has_start
        && is_inside(filter, fd_timeline_text(event->pid), event->start,
                     event->start, at_begin);
}

static uint64_t
flow_key(const fd_timeline_event *event)
{
    const fd_span parts[] = {event->cat, event->name, fd_timeline_id(event)};
    uint64_t key = 2;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fd_span text = fd_timeline_text(parts[i]);
        key = fd_hash_next(key, text.from != NULL ? fd_hash_bytes(
                                    text.from, fd_span_size(text))
                                                  : 1);
    }
    return key | 1;
}

/* Note whether a launch is inside. Its work runs later, on another clock or
 * after the end of the steps. */
static fd_status
note_launch(fd_timeline_filter *filter, const fd_timeline_event *event)
{
    fd_gpu_facts facts;
    uint64_t step;
    if (event->phase != 'X'
        || (fd_timeline_kind(event, &step) & FD_IS_RUNTIME) == 0) {
        return FD_OK;
    }
    fd_gpu_facts_read(event, &facts);
    uint64_t key = facts.correlation + 1;
    uint32_t state = fd_map_get(&filter->launches, key);
    state |= is_moment_inside(filter, event, true) ? INSIDE : OUTSIDE;
    return facts.correlation == FD_NO_CORRELATION
                || filter->launches.count >= fd_budget(MOST_FLOWS)
             ? FD_OK
             : fd_map_put(&filter->launches, key, state);
}

/* Return whether GPU work was launched inside: INSIDE, OUTSIDE, or another
 * value if that is not known. */
static uint32_t
state_of_work(const fd_timeline_filter *filter, const fd_timeline_event *event)
{
    fd_gpu_facts facts;
    uint64_t step;
    if (event->phase != 'X'
        || (fd_timeline_kind(event, &step) & (FD_IS_KERNEL | FD_IS_COPY))
               == 0) {
        return 0;
    }
    fd_gpu_facts_read(event, &facts);
    return facts.correlation != FD_NO_CORRELATION
             ? fd_map_get(&filter->launches, facts.correlation + 1)
             : 0;
}

/* Note whether a flow has events inside and outside. The beginning is outside,
 * because a slice that ends there is not kept. */
static fd_status
note_flow(fd_timeline_filter *filter, const fd_timeline_event *event)
{
    uint64_t key = flow_key(event);
    uint32_t state = fd_map_get(&filter->flows, key);
    fd_span cat = fd_timeline_text(event->cat);
    if (filter->request->has_steps && event->phase == 'f' && cat.from != NULL
        && fd_span_is(cat, "ac2g")) {
        return FD_OK; /* work is kept with its launch */
    }
    uint32_t now =
        state | (is_moment_inside(filter, event, false) ? INSIDE : OUTSIDE);
    bool full = filter->flows.count >= fd_budget(MOST_FLOWS);
    return now == state || (state == 0 && full)
             ? FD_OK
             : fd_map_put(&filter->flows, key, now);
}

static fd_status
pairs_mark(fd_timeline_filter *filter, uint64_t number)
{
    fd_status status = FD_OK;
    while (status == FD_OK && filter->pairs.count <= number / 64) {
        status = fd_vector_push(&filter->pairs, UINT64_C(0));
    }
    if (status == FD_OK) {
        filter->pairs.list[number / 64] |= UINT64_C(1) << number % 64;
    }
    return status;
}

static bool
is_marked(const fd_timeline_filter *filter, uint64_t number)
{
    return number / 64 < filter->pairs.count
        && (filter->pairs.list[number / 64] >> number % 64 & 1) != 0;
}

/* Return the phase of a begin or end, or 0 for other events. S and F are
 * another spelling of b and e. */
static char
paired_phase(char phase)
{
    switch (phase) {
    case 'B':
    case 'E':
    case 'b':
    case 'e':
        return phase;
    case 'S':
        return 'b';
    case 'F':
        return 'e';
    default:
        return 0;
    }
}

static fd_status
note_pair(fd_timeline_filter *filter, const fd_timeline_event *event)
{
    fd_timeline_event paired = *event;
    fd_slice slice;
    bool whole;
    paired.phase = paired_phase(event->phase);
    filter->slices.events = filter->number;
    fd_status status =
        fd_timeline_slices_take(&filter->slices, &paired, &slice, &whole);
    if (status != FD_OK || !whole
        || !is_inside(filter, fd_timeline_text(event->pid), slice.start,
                      slice.end, true)) {
        return status;
    }
    status = pairs_mark(filter, slice.number);
    return fd_then(status, pairs_mark(filter, filter->number));
}

/* Mark begins without an end: their slices last until the end of the file. */
static fd_status
note_open(fd_timeline_filter *filter)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < filter->slices.open.count && status == FD_OK;
         i++) {
        const fd_slice_open *open = &filter->slices.open.list[i];
        fd_span pid =
            fd_text_pool_span(&filter->slices.pids, open->slice.process);
        if (open->key != 0
            && is_inside(filter, pid, open->slice.start, FD_SLICES_TIME,
                         true)) {
            status = pairs_mark(filter, open->slice.number);
        }
    }
    return status;
}

static bool
is_flow(char phase)
{
    return phase == 's' || phase == 't' || phase == 'f';
}

fd_status
fd_timeline_filter_begin(fd_timeline_filter *filter, fd_error *error)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    if (!filter->request->has_steps && !filter->request->has_times) {
        return FD_OK;
    }
    fd_status status = fd_timeline_reader_open(
        &reader, fd_timeline_content(filter->input), error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        const fd_timeline_event *event = &reader.event;
        if (item == FD_TIMELINE_EVENT && filter->request->has_steps) {
            status = note_launch(filter, event);
        }
        if (item == FD_TIMELINE_EVENT && is_flow(event->phase)) {
            fd_then(status, note_flow(filter, event));
        }
        else if (item == FD_TIMELINE_EVENT && paired_phase(event->phase)) {
            fd_then(status, note_pair(filter, event));
        }
        filter->number += item == FD_TIMELINE_EVENT;
    }
    fd_then(status, reader.status);
    fd_then(status, note_open(filter));
    fd_timeline_reader_close(&reader);
    fd_timeline_slices_clear(&filter->slices);
    filter->number = 0;
    return status;
}

static bool
of_wanted_time(const fd_timeline_filter *filter,
               const fd_timeline_event *event)
{
    int64_t begin;
    int64_t end = event->start;
    uint32_t work =
        filter->request->has_steps ? state_of_work(filter, event) : 0;
    if (work == INSIDE || work == OUTSIDE) {
        return work == INSIDE;
    }
    if (paired_phase(event->phase) != 0) {
        return is_marked(filter, filter->number);
    }
    if (is_flow(event->phase)) {
        return fd_map_get(&filter->flows, flow_key(event)) == INSIDE;
    }
    if (event->phase == 'M' || (event->ts.from == NULL && !event->has_start)) {
        return true;
    }
    if (!fd_timeline_interval(event, &begin, &end)) {
        end = event->start;
    }
    return event->has_start
        && is_inside(filter, fd_timeline_text(event->pid), event->start, end,
                     true);
}

bool
fd_timeline_filter_keeps(fd_timeline_filter *filter,
                         const fd_timeline_event *event)
{
    const fd_timeline_request *request = filter->request;
    bool keeps = (!request->has_steps && !request->has_times)
              || of_wanted_time(filter, event);
    filter->number++;
    filter->kept += keeps && event->phase != 'M';
    filter->skipped += !keeps;
    return keeps;
}
