#include "events/recorded/chrome_tracks.h"

#include "base/sums.h"
#include "events/recorded/side_tracks.h"

#include <string.h>

static fd_timeline_event
begin_row(fd_event_batch *batch, const fd_trace_rank *rank, const char *name,
          uint32_t tid)
{
    return (fd_timeline_event){.phase = 'M',
                               .name = fd_batch_static(name),
                               .pid = fd_batch_number(batch, rank->rank + 1),
                               .tid = fd_batch_number(batch, tid)};
}

void
fd_chrome_rows(fd_event_batch *batch, const fd_trace_rank *rank,
               fd_chrome_kind kind, uint32_t tid, const char *name,
               size_t size, uint32_t sort_index)
{
    bool process = kind == FD_CHROME_PROCESS;
    fd_timeline_event row = begin_row(
        batch, rank, process ? "\"process_name\"" : "\"thread_name\"", tid);
    row.args = fd_batch_text_object(batch, "name", name, size);
    row.beside = kind == FD_CHROME_TRACK;
    fd_batch_event(batch, &row);
    row = begin_row(
        batch, rank,
        process ? "\"process_sort_index\"" : "\"thread_sort_index\"", tid);
    row.args = fd_batch_number_object(batch, "sort_index", sort_index);
    fd_batch_event(batch, &row);
}

static int64_t
shown_time(const fd_chrome_tracks *tracks, uint64_t time)
{
    return fd_clock_apply(tracks->clock, (int64_t)time);
}

fd_status
fd_chrome_phases(const fd_chrome_tracks *tracks, fd_event_batch *batch)
{
    fd_phase_slices slices = {NULL, 0, 0};
    fd_status status = fd_phase_slices_make(&slices, tracks->rank);
    if (slices.count > 0) {
        static const char name[] = "Time by phase";
        fd_chrome_rows(batch, tracks->rank, FD_CHROME_TRACK, tracks->phases,
                       name, sizeof name - 1, tracks->sort_index);
    }
    for (uint32_t i = 0; i < slices.count; i++) {
        const fd_phase_slice *slice = &slices.list[i];
        int64_t start = shown_time(tracks, slice->start);
        fd_timeline_event event = {
            .phase = 'X',
            .has_start = true,
            .has_duration = true,
            .start = start,
            .duration = fd_minus(shown_time(tracks, slice->end), start),
            .pid = fd_batch_number(batch, tracks->rank->rank + 1),
            .tid = fd_batch_number(batch, tracks->phases),
            .name = fd_batch_format(batch, "\"phase: %s\"", slice->name),
            .cat = fd_batch_static("\"phase\"")};
        fd_batch_event(batch, &event);
    }
    fd_vector_clear(&slices);
    return status;
}

static void
put_value(const fd_chrome_tracks *tracks, const char *name,
          const fd_counter_value *value, fd_event_batch *batch)
{
    fd_timeline_event event = {
        .phase = 'C',
        .has_start = true,
        .start = shown_time(tracks, value->time),
        .pid = fd_batch_number(batch, tracks->rank->rank + 1),
        .tid = fd_batch_number(batch, 0),
        .name = fd_batch_json(batch, name, strlen(name)),
        .args = fd_batch_number_object(batch, "value", value->value)};
    fd_batch_event(batch, &event);
}

fd_status
fd_chrome_counters_make(fd_chrome_counters *counters,
                        const fd_trace_rank *rank)
{
    fd_status status = FD_OK;
    fd_chrome_counters_clear(counters);
    for (int i = 0; i < FD_COUNTER_KINDS && status == FD_OK; i++) {
        status =
            fd_counter_values_make(&counters->values[i], (fd_counter)i, rank);
    }
    return status;
}

void
fd_chrome_counters_clear(fd_chrome_counters *counters)
{
    for (int i = 0; i < FD_COUNTER_KINDS; i++) {
        fd_vector_clear(&counters->values[i]);
    }
    counters->counter = 0;
    counters->next = 0;
}

bool
fd_chrome_counters_next(fd_chrome_counters *counters,
                        const fd_chrome_tracks *tracks, fd_event_batch *batch)
{
    char name[FD_COUNTER_NAME];
    while (counters->counter < FD_COUNTER_KINDS
           && counters->next == counters->values[counters->counter].count) {
        counters->counter++;
        counters->next = 0;
    }
    if (counters->counter == FD_COUNTER_KINDS) {
        return false;
    }
    const fd_counter_value *value =
        &counters->values[counters->counter].list[counters->next++];
    fd_counter_name((fd_counter)counters->counter, tracks->trace, tracks->rank,
                    value->of, name);
    put_value(tracks, name, value, batch);
    return true;
}
