#include "events/stats/slice_tables.h"

#include "base/budget.h"
#include "events/readers/event_reader.h"
#include "events/recorded/events_from_recording.h"

#include <stdio.h>

enum { PROGRESS_STEP = 1 << 24 };

typedef struct reading {
    const fd_slices_request *request;
    fd_timeline_slices *slices;
    fd_timeline_input *inputs;
    fd_timeline_input *file;
    fd_process_table processes; /* of all files of the current rank */
    FD_VECTOR(fd_slice) rows;   /* of the next batch */
    uint64_t done;              /* bytes read so far */
    uint64_t reported;
    uint64_t total;
    fd_error *error;
} reading;

static fd_status
stop_unless(const reading *r, bool goes_on)
{
    return goes_on ? FD_OK : fd_fail(r->error, FD_EINVAL, "stopped");
}

static fd_status
give_rows(reading *r)
{
    const fd_slices_request *request = r->request;
    uint32_t count = r->rows.count;
    r->rows.count = 0;
    return count == 0
             ? FD_OK
             : stop_unless(r,
                           request->take(request->context, r->rows.list, count,
                                         (uint32_t)(r->file - r->inputs),
                                         r->slices->facts));
}

static fd_status
take_event(reading *r, const fd_timeline_event *event)
{
    fd_timeline_slices *slices = r->slices;
    fd_slice slice;
    uint32_t process;
    bool whole = false;
    r->file->events++;
    fd_status status =
        fd_timeline_slices_process(slices, event->pid, &process);
    fd_then(status, fd_process_table_event(&r->processes, process, event));
    fd_then(status, fd_timeline_slices_take(slices, event, &slice, &whole));
    if (status != FD_OK || !whole) {
        return status;
    }
    fd_slice_move(&slice, &r->file->clock.map);
    status = fd_vector_push(&r->rows, slice);
    return status == FD_OK && r->rows.count >= fd_budget(FD_SLICE_ROWS)
             ? give_rows(r)
             : status;
}

static fd_status
report_progress(reading *r, uint64_t read)
{
    const fd_slices_request *request = r->request;
    if (request->progress == NULL || r->done + read < r->reported) {
        return FD_OK;
    }
    r->reported = r->done + read + PROGRESS_STEP;
    return stop_unless(
        r, request->progress(request->context, r->done + read, r->total));
}

static fd_status
read_file(reading *r)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    fd_timeline_input *file = r->file;
    file->events = file->repaired = 0;
    fd_status status =
        fd_timeline_reader_open(&reader, file->content, r->error);
    if (status == FD_OK) {
        fd_timeline_recording_transfers(&reader.maker, &file->transfers);
    }
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        file->repaired += reader.repairs;
        status = item == FD_TIMELINE_EVENT
                   ? take_event(r, &reader.event)
                   : fd_process_table_member(&r->processes, reader.key,
                                             reader.value);
        fd_then(status, report_progress(r, reader.in.read));
    }
    fd_then(status, reader.status);
    fd_then(status, give_rows(r));
    file->lost = file->damaged + reader.lost;
    file->lost_bytes = reader.lost_bytes;
    snprintf(file->trouble, sizeof file->trouble, "%s",
             file->damage != NULL ? file->damage : reader.trouble);
    r->done += reader.in.size;
    fd_timeline_reader_close(&reader);
    return status;
}

static fd_status
read_pass(reading *r, fd_timeline_input *files, uint32_t count, bool full)
{
    fd_timeline_slices *slices = r->slices;
    fd_status status = FD_OK;
    fd_process_table_clear(&r->processes);
    fd_timeline_slices_restart(slices);
    slices->facts = full;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        r->file = &files[i];
        status = read_file(r);
        r->file->unpaired = slices->endless + slices->open_count;
        r->file->timeless = slices->timeless;
        fd_timeline_slices_next(slices);
    }
    return status;
}

static fd_slices_next
end_pass(const reading *r, const fd_timeline_input *files, uint32_t count)
{
    fd_slices_pass pass = {.processes = &r->processes,
                           .path = files[count - 1].path,
                           .rank = files[0].rank,
                           .files = count};
    for (uint32_t i = 0; i < count; i++) {
        pass.lost += files[i].lost;
    }
    return r->request->next(r->request->context, &pass);
}

/* Read the files of one rank: a recording and another program's trace, or a
 * single file. */
static fd_status
read_files(reading *r, fd_timeline_input *files, uint32_t count)
{
    fd_slices_next next = FD_SLICES_AGAIN;
    fd_status status = FD_OK;
    while (status == FD_OK && next == FD_SLICES_AGAIN) {
        uint64_t before = r->done;
        status = read_pass(r, files, count, false);
        next = status == FD_OK ? end_pass(r, files, count) : FD_SLICES_DONE;
        r->total += next == FD_SLICES_AGAIN ? r->done - before : 0;
        r->total -= next == FD_SLICES_DONE ? r->done - before : 0;
    }
    if (next == FD_SLICES_FULL) {
        status = read_pass(r, files, count, true);
    }
    return fd_then(status, stop_unless(r, next != FD_SLICES_STOP));
}

fd_status
fd_slice_tables_read(const fd_slices_request *request,
                     fd_timeline_input *inputs, uint32_t count,
                     fd_timeline_slices *slices, fd_error *error)
{
    reading r = {.request = request,
                 .slices = slices,
                 .inputs = inputs,
                 .total = 2 * request->total,
                 .error = error};
    fd_status status = FD_OK;
    *slices = (fd_timeline_slices){.facts = false};
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        for (next = i + 1; next < count && inputs[next].rank == inputs[i].rank;
             next++) {
        }
        status = read_files(&r, inputs + i, next - i);
    }
    fd_process_table_clear(&r.processes);
    fd_vector_clear(&r.rows);
    return status;
}
