#include "events/stats/slice_tables.h"

#include "base/budget.h"
#include "base/sums.h"
#include "events/event_inputs.h"

#include <string.h>

enum { PROGRESS_STEP = 1 << 24 };

typedef struct reading {
    const fd_slices_request *request;
    fd_slice_tables *tables;
    fd_timeline_input *file;
    fd_timeline_outline outline; /* of all files of the current ranks */
    FD_VECTOR(fd_slice) rows;    /* of the next batch */
    uint64_t done; /* bytes read so far; each file is read twice */
    uint64_t reported;
    uint64_t total;
    fd_error *error;
} reading;

typedef fd_status take_item(reading *r, const fd_timeline_reader *reader,
                            bool is_event);

void
fd_slice_tables_clear(fd_slice_tables *tables)
{
    fd_timeline_slices_clear(&tables->slices);
}

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
    return count == 0 ? FD_OK
                      : stop_unless(r, request->take(request->context,
                                                     r->rows.list, count));
}

/* Count a slice that is far from all others, and note the first one. */
static fd_status
note_stray(reading *r, const fd_slice *slice)
{
    fd_timeline_input *file = r->file;
    if ((slice->kind & FD_IS_AROUND) == 0 && file->strays++ == 0) {
        file->stray_name = slice->name;
        file->stray_ns = slice->start < r->outline.from
                           ? fd_minus(slice->start, r->outline.from)
                           : fd_minus(slice->start, r->outline.to);
    }
    return FD_OK;
}

static fd_status
take_slice(reading *r, fd_slice *slice)
{
    slice->rank = r->outline.processes.list[slice->process].rank;
    if (slice->rank >= r->outline.ranks.count) {
        return FD_OK; /* of the profiler itself */
    }
    if (!fd_timeline_wants(r->request->ranks, r->request->rank_count,
                           r->outline.ranks.list[slice->rank].rank)) {
        return FD_OK;
    }
    fd_slice_move(slice, &r->file->clock.map);
    if (fd_timeline_outline_skips(&r->outline, slice)) {
        return note_stray(r, slice);
    }
    fd_status status = fd_vector_push(&r->rows, *slice);
    return status == FD_OK && r->rows.count >= fd_budget(FD_SLICE_ROWS)
             ? give_rows(r)
             : status;
}

static fd_status
take_for_outline(reading *r, const fd_timeline_reader *reader, bool is_event)
{
    if (!is_event) {
        return fd_timeline_outline_member(&r->outline, reader->key,
                                          reader->value);
    }
    return fd_timeline_outline_event(&r->outline, &reader->event,
                                     &r->file->clock.map);
}

static fd_status
take_for_rows(reading *r, const fd_timeline_reader *reader, bool is_event)
{
    fd_slice slice;
    uint32_t process;
    bool whole = false;
    r->file->repaired += reader->repairs;
    if (!is_event) {
        return FD_OK;
    }
    r->file->events++;
    /* In the same order as in the first pass, so that process numbers are
     * equal. */
    fd_status status = fd_timeline_slices_process(&r->tables->slices,
                                                  reader->event.pid, &process);
    fd_then(status, fd_timeline_slices_take(&r->tables->slices, &reader->event,
                                            &slice, &whole));
    whole = whole && slice.process < r->outline.processes.count;
    return status == FD_OK && whole ? take_slice(r, &slice) : status;
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
read_file(reading *r, take_item *take)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    fd_timeline_input *file = r->file;
    fd_status status = fd_timeline_reader_open(&reader, file->path, r->error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        status = take(r, &reader, item == FD_TIMELINE_EVENT);
        fd_then(status, report_progress(r, reader.in.read));
    }
    fd_then(status, reader.status);
    file->lost = reader.lost;
    file->lost_bytes = reader.lost_bytes;
    memcpy(file->trouble, reader.trouble, sizeof file->trouble);
    r->done += reader.in.size;
    fd_timeline_reader_close(&reader);
    return status;
}

static fd_status
outline_files(reading *r, fd_timeline_input **files, uint32_t count)
{
    fd_status status = FD_OK;
    bool again;
    r->outline = (fd_timeline_outline){.steps_lost = 0};
    do {
        uint64_t before = r->done;
        for (uint32_t i = 0; i < count && status == FD_OK; i++) {
            r->file = files[i];
            status = read_file(r, take_for_outline);
            fd_timeline_outline_next(&r->outline);
        }
        again = status == FD_OK && fd_timeline_outline_again(&r->outline);
        r->total += again ? r->done - before : 0;
    } while (again);
    return fd_then(status,
                   fd_timeline_outline_finish(&r->outline, files[0]->rank));
}

/* Give the ranks of files that were outlined. */
static fd_status
give_ranks(const reading *r, fd_timeline_input **files, uint32_t count)
{
    const fd_slices_request *request = r->request;
    uint64_t lost = 0;
    for (uint32_t i = 0; i < count && r->outline.ranks.count == 1; i++) {
        lost += files[i]->lost;
    }
    return stop_unless(r, request->begin(request->context, &r->outline,
                                         files[count - 1]->path, lost));
}

static fd_status
give_slices(reading *r, fd_timeline_input **files, uint32_t count)
{
    fd_timeline_slices *slices = &r->tables->slices;
    fd_status status = FD_OK;
    fd_timeline_slices_restart(slices);
    slices->facts = true;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        r->file = files[i];
        status = read_file(r, take_for_rows);
        r->file->unpaired = slices->endless + slices->open_count;
        r->file->timeless = slices->timeless;
        fd_timeline_slices_next(slices);
    }
    return fd_then(status, give_rows(r));
}

/* Read the files of one rank: a recording and another program's trace, or a
 * single file. */
static fd_status
read_files(reading *r, fd_timeline_input **files, uint32_t count)
{
    fd_status status = outline_files(r, files, count);
    fd_then(status, give_ranks(r, files, count));
    fd_then(status, give_slices(r, files, count));
    r->tables->steps_lost += r->outline.steps_lost;
    fd_timeline_outline_clear(&r->outline);
    return status;
}

static fd_status
read_all(reading *r, const fd_timeline_inputs *used)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0, next; i < used->count && status == FD_OK; i = next) {
        for (next = i + 1; next < used->count
                           && used->list[next]->rank == used->list[i]->rank;
             next++) {
        }
        status = read_files(r, used->list + i, next - i);
    }
    return status;
}

/* Select the inputs that are traces, and align their clocks. */
static fd_status
prepare_inputs(reading *r, fd_timeline_input *inputs, uint32_t count,
               fd_timeline_inputs *used)
{
    const fd_timeline_request request = {.align = r->request->align,
                                         .moments = r->request->moments,
                                         .starts = r->request->starts,
                                         .context = r->request->context};
    fd_timeline_clock clock = {.has_base = false};
    fd_status status =
        fd_timeline_inputs_find(&request, inputs, count, used, r->error);
    fd_then(status,
            fd_timeline_inputs_align(&request, used, &clock, r->error));
    for (uint32_t i = 0; i < count; i++) {
        r->total += inputs[i].used ? 2 * inputs[i].survey.size : 0;
        fd_timeline_survey_clear(&inputs[i].survey);
    }
    r->tables->has_base = clock.has_base;
    r->tables->base_ns = clock.base_ns;
    return status;
}

fd_status
fd_slice_tables_read(const fd_slices_request *request,
                     fd_timeline_input *inputs, uint32_t count,
                     fd_slice_tables *tables, fd_error *error)
{
    reading r = {.request = request, .tables = tables, .error = error};
    fd_timeline_inputs used = {.list = NULL};
    *tables = (fd_slice_tables){.has_base = false};
    fd_status status = prepare_inputs(&r, inputs, count, &used);
    fd_then(status, read_all(&r, &used));
    fd_timeline_inputs_clear(&used);
    fd_vector_clear(&r.rows);
    return status;
}
