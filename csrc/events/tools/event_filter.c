#include "events/tools/event_filter.h"

#include "base/hash.h"
#include "events/readers/event_reader.h"

#include <string.h>

enum { SKIPPED_SHIFT = 16, KEPT_MASK = (1 << SKIPPED_SHIFT) - 1 };

static void
widen(fd_timeline_window *window, int64_t begin, int64_t end)
{
    window->begin_ns =
        !window->any || begin < window->begin_ns ? begin : window->begin_ns;
    window->end_ns =
        !window->any || end > window->end_ns ? end : window->end_ns;
    window->any = true;
}

static fd_status
add_step(fd_timeline_windows *windows, const fd_timeline_event *event,
         int64_t begin, int64_t end)
{
    uint32_t id;
    fd_span pid = fd_timeline_text(event->pid);
    widen(&windows->all, begin, end);
    fd_status status =
        fd_text_pool_add(&windows->pids, pid.from, fd_span_size(pid), &id);
    while (status == FD_OK && windows->list.count <= id) {
        status =
            fd_vector_push(&windows->list, (fd_timeline_window){.any = false});
    }
    if (status == FD_OK) {
        widen(&windows->list.list[id], begin, end);
    }
    return status;
}

fd_status
fd_timeline_windows_find(fd_timeline_windows *windows,
                         const fd_timeline_input *input, uint64_t first_step,
                         uint64_t end_step, fd_error *error)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    uint64_t number;
    int64_t begin;
    int64_t end;
    *windows = (fd_timeline_windows){.all = {.any = false}};
    fd_status status = fd_timeline_input_open(input, &reader, error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        if (item == FD_TIMELINE_EVENT
            && fd_timeline_is_step(&reader.event, &number, &begin, &end)
            && number >= first_step && number < end_step) {
            status = add_step(windows, &reader.event, begin, end);
        }
    }
    status = status == FD_OK ? reader.status : status;
    fd_timeline_reader_close(&reader);
    return status;
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
    fd_text_pool_clear(&filter->pids);
    fd_vector_clear(&filter->devices);
    fd_map_clear(&filter->open);
}

static bool
text_is(fd_span value, const char *text)
{
    return value.from != NULL && fd_span_is(fd_span_inside(value), text);
}

/* Return the device + 1 of an event on a GPU, or 0. */
static uint64_t
own_device(const fd_timeline_event *event)
{
    uint64_t device;
    fd_span cat = fd_timeline_text(event->cat);
    bool on_gpu = fd_span_size(cat) > 0
               && (fd_span_begins(cat, "gpu") || fd_span_is(cat, "kernel"));
    if (!on_gpu) {
        return 0;
    }
    if (fd_timeline_argument(event, "device", &device)) {
        return device + 1;
    }
    return event->pid.from != NULL
                && fd_span_u64(fd_span_inside(event->pid), &device)
             ? device + 1
             : 0;
}

/* Return the device + 1 of a process that torch.profiler labels "GPU 2",
 * or 0. */
static uint64_t
labelled_device(const fd_timeline_event *event)
{
    uint64_t device;
    if (event->phase != 'M' || !text_is(event->name, "process_labels")) {
        return 0;
    }
    fd_span value = fd_timeline_argument_text(event, "labels");
    if (!fd_span_begins(value, "GPU ")) {
        return 0;
    }
    value.from += 4;
    return fd_span_u64(value, &device) ? device + 1 : 0;
}

static fd_status
of_wanted_device(fd_timeline_filter *filter, const fd_timeline_event *event,
                 bool *wanted)
{
    uint32_t pid;
    fd_span text = fd_timeline_text(event->pid);
    fd_status status =
        fd_text_pool_add(&filter->pids, text.from, fd_span_size(text), &pid);
    while (status == FD_OK && filter->devices.count <= pid) {
        status = fd_vector_push(&filter->devices, UINT64_C(0));
    }
    if (status != FD_OK) {
        return status;
    }
    uint64_t label = labelled_device(event);
    uint64_t *of_process = &filter->devices.list[pid];
    *of_process = label != 0 ? label : *of_process;
    uint64_t device = own_device(event);
    device = device != 0 ? device : *of_process;
    *wanted = device == 0;
    for (size_t i = 0; i < filter->request->device_count; i++) {
        *wanted =
            *wanted || filter->request->devices[i] + UINT64_C(1) == device;
    }
    return FD_OK;
}

static bool
is_inside(const fd_timeline_filter *filter, const fd_timeline_event *event)
{
    const fd_timeline_windows *windows = filter->windows;
    const fd_timeline_window *window = &windows->all;
    fd_span pid = fd_timeline_text(event->pid);
    for (uint32_t i = 0; i < windows->list.count; i++) {
        const fd_text_pool *pids = &windows->pids;
        if (windows->list.list[i].any
            && fd_text_pool_size(pids, i) == fd_span_size(pid)
            && (fd_span_size(pid) == 0
                || memcmp(fd_text_pool_get(pids, i), pid.from,
                          fd_span_size(pid))
                       == 0)) {
            window = &windows->list.list[i];
        }
    }
    return event->has_start && event->start >= window->begin_ns
        && event->start < window->end_ns;
}

/* Return the key that joins begins and ends, from the thread or id;
 * never 0. */
static uint64_t
join_key(const fd_timeline_event *event)
{
    bool by_thread = event->phase == 'B' || event->phase == 'E';
    uint64_t key =
        by_thread || event->cat.from == NULL
            ? 1
            : fd_hash_bytes(event->cat.from, fd_span_size(event->cat));
    fd_span parts[2] = {event->pid, event->tid};
    if (!by_thread) {
        parts[0] = fd_timeline_id(event);
        parts[1] = (fd_span){NULL, NULL};
    }
    for (int i = 0; i < 2; i++) {
        if (parts[i].from != NULL) {
            key = fd_hash_word(
                key ^ fd_hash_bytes(parts[i].from, fd_span_size(parts[i])));
        }
    }
    return key | 1;
}

/* Keep begins within the steps, and the ends of kept begins at any time. */
static fd_status
keep_pair(fd_timeline_filter *filter, const fd_timeline_event *event,
          bool begins, bool *keeps)
{
    uint64_t key = join_key(event);
    uint32_t counts = fd_map_get(&filter->open, key);
    uint32_t kept = counts & KEPT_MASK;
    uint32_t skipped = counts >> SKIPPED_SHIFT;
    if (begins) {
        *keeps = is_inside(filter, event);
        kept += *keeps && kept < KEPT_MASK;
        skipped += !*keeps && kept > 0 && skipped < KEPT_MASK;
    }
    else {
        *keeps = skipped == 0 && kept > 0;
        kept -= *keeps;
        skipped -= skipped > 0;
    }
    return fd_map_put(&filter->open, key, skipped << SKIPPED_SHIFT | kept);
}

static fd_status
of_wanted_step(fd_timeline_filter *filter, const fd_timeline_event *event,
               bool *wanted)
{
    switch (event->phase) {
    case 'B':
    case 'b':
    case 'S':
        return keep_pair(filter, event, true, wanted);
    case 'E':
    case 'e':
    case 'F':
        return keep_pair(filter, event, false, wanted);
    case 'M':
        *wanted = true;
        return FD_OK;
    default:
        *wanted = (event->ts.from == NULL && !event->has_start)
               || is_inside(filter, event);
        return FD_OK;
    }
}

fd_status
fd_timeline_filter_keeps(fd_timeline_filter *filter,
                         const fd_timeline_event *event, bool *keeps)
{
    fd_status status = FD_OK;
    *keeps = true;
    if (filter->request->devices != NULL) {
        status = of_wanted_device(filter, event, keeps);
    }
    if (status == FD_OK && *keeps && filter->windows != NULL) {
        status = of_wanted_step(filter, event, keeps);
    }
    filter->skipped += !*keeps;
    return status;
}
