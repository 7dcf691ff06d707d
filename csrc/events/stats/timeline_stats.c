#include "events/stats/timeline_stats.h"

#include "base/sums.h"
#include "events/event_inputs.h"

#include <string.h>

enum { PROGRESS_STEP = 1 << 24 };

typedef struct counting {
    const fd_stats_request *request;
    fd_stats *stats;
    fd_timeline_input *file;
    fd_timeline_outline outline; /* of all files of the current rank */
    /* by index among the ranks of the outline */
    FD_VECTOR(fd_kernel_kinds) kernels;
    uint64_t done; /* bytes read so far; each file is read twice */
    uint64_t reported;
    uint64_t total;
    fd_error *error;
} counting;

typedef fd_status take_item(counting *c, const fd_timeline_reader *reader,
                            bool is_event);

void
fd_stats_clear(fd_stats *stats)
{
    fd_timeline_slices_clear(&stats->slices);
    fd_vector_clear(&stats->ranks);
    fd_vector_clear(&stats->steps);
    fd_tally_clear(&stats->tally);
    fd_skew_clear(&stats->skew);
    fd_lanes_clear(&stats->lanes);
    fd_vector_clear(&stats->kernels);
    fd_stream_table_clear(&stats->streams);
}

const char *
fd_stats_basis_name(fd_stats_basis basis)
{
    static const char *const names[] = {[FD_BASIS_GPU] = "gpu",
                                        [FD_BASIS_OPERATORS] = "operators",
                                        [FD_BASIS_JOBS] = "jobs",
                                        [FD_BASIS_CALLS] = "calls"};
    return names[basis];
}

static fd_stats_basis
basis_of(uint32_t kinds)
{
    return kinds & (FD_IS_KERNEL | FD_IS_COPY) ? FD_BASIS_GPU
         : kinds & FD_IS_OPERATOR              ? FD_BASIS_OPERATORS
         : kinds & FD_IS_JOB                   ? FD_BASIS_JOBS
                                               : FD_BASIS_CALLS;
}

static fd_work
work_of(fd_stats_basis basis, uint32_t kind)
{
    bool talks = (kind & FD_IS_COMMUNICATION) != 0;
    switch (basis) {
    case FD_BASIS_GPU:
        return kind & FD_IS_COPY          ? FD_WORK_COPY
             : (kind & FD_IS_KERNEL) == 0 ? FD_WORK_NONE
             : talks                      ? FD_WORK_COMMUNICATION
                                          : FD_WORK_COMPUTE;
    case FD_BASIS_OPERATORS:
        return talks                 ? FD_WORK_COMMUNICATION
             : kind & FD_IS_ASYNC    ? FD_WORK_NONE
             : kind & FD_IS_OPERATOR ? FD_WORK_COMPUTE
                                     : FD_WORK_NONE;
    case FD_BASIS_JOBS:
        return talks            ? FD_WORK_COMMUNICATION
             : kind & FD_IS_JOB ? FD_WORK_COMPUTE
                                : FD_WORK_NONE;
    case FD_BASIS_CALLS:
        break;
    }
    return talks ? FD_WORK_COMMUNICATION
         : kind & (FD_IS_ASYNC | FD_IS_STEP | FD_IS_AROUND) ? FD_WORK_NONE
                                                            : FD_WORK_COMPUTE;
}

/* Return whether collectives are matched by slices of this kind: the kind
 * closest to the actual work. */
static bool
is_matched(uint32_t kinds, uint32_t kind)
{
    uint32_t wanted = kinds & FD_HAS_GPU_COLLECTIVES ? FD_IS_KERNEL
                    : kinds & FD_IS_BACKEND          ? FD_IS_BACKEND
                                                     : FD_IS_CALL;
    return (kind & FD_IS_COLLECTIVE) != 0 && (kind & wanted) != 0;
}

/* Return the step at a time, or NULL. */
static fd_timeline_step *
step_around(const fd_timeline_rank *rank, int64_t time)
{
    uint32_t low = 0;
    uint32_t high = rank->steps.count;
    FD_BISECT(low, high, rank->steps.list[middle].start <= time);
    return low > 0 && time < rank->steps.list[low - 1].end
             ? &rank->steps.list[low - 1]
             : NULL;
}

static fd_status
tally_job(counting *c, const fd_timeline_rank *rank, const fd_slice *slice)
{
    fd_tally *tally = &c->stats->tally;
    uint64_t duration = (uint64_t)slice->end - (uint64_t)slice->start;
    fd_tally_key key = {.of = FD_TALLY_JOB,
                        .rank = rank->rank,
                        .stage = slice->stage,
                        .step = slice->step,
                        .name = slice->type};
    if (key.step == FD_NO_STEP) {
        const fd_timeline_step *step = step_around(rank, slice->start);
        key.step = step != NULL ? step->number : FD_NO_STEP;
    }
    fd_status status = FD_OK;
    if (key.step != FD_NO_STEP) {
        status = fd_tally_add(tally, &key, duration);
    }
    key.step = FD_NO_STEP;
    return fd_then(status, fd_tally_add(tally, &key, duration));
}

static fd_status
tally_slice(counting *c, const fd_timeline_rank *rank, const fd_slice *slice)
{
    fd_tally *tally = &c->stats->tally;
    uint64_t duration = (uint64_t)slice->end - (uint64_t)slice->start;
    fd_tally_key key = {.of = FD_TALLY_NAME,
                        .work = work_of(FD_BASIS_GPU, slice->kind),
                        .cat = slice->cat,
                        .name = slice->name};
    fd_status status = FD_OK;
    if ((slice->kind & (FD_IS_STEP | FD_IS_GPU_STEP | FD_IS_AROUND)) == 0) {
        status = fd_tally_add(tally, &key, duration);
    }
    /* Another program's trace of the rank may have the same jobs. */
    bool is_job =
        (slice->kind & FD_IS_JOB) != 0 && slice->process + 1 == rank->jobs_of;
    return status == FD_OK && is_job ? tally_job(c, rank, slice) : status;
}

static fd_kernel_kinds *
kernels_of(counting *c, uint32_t index)
{
    fd_status status = FD_OK;
    while (status == FD_OK && c->kernels.count <= index) {
        status = fd_vector_push(&c->kernels, (fd_kernel_kinds){.any = false});
    }
    return status == FD_OK ? &c->kernels.list[index] : NULL;
}

/* Add a kernel or a copy. */
static fd_status
take_activity(counting *c, uint32_t index, const fd_slice *slice)
{
    fd_stats *stats = c->stats;
    uint32_t rank = c->outline.ranks.list[index].rank;
    fd_gpu_activity activity = {.correlation = slice->gpu.correlation,
                                .start = slice->start,
                                .end = slice->end,
                                .device = slice->gpu.device,
                                .stream = slice->gpu.stream,
                                .rank = rank,
                                .thread = slice->thread,
                                .process = slice->process};
    fd_kernel_kinds *kernels = kernels_of(c, index);
    if (kernels == NULL) {
        return FD_ENOMEM;
    }
    fd_kernel_kinds_add(kernels, work_of(FD_BASIS_GPU, slice->kind),
                        slice->start, slice->end);
    return fd_stream_table_activity(&stats->streams, &activity);
}

static fd_status
take_facts(counting *c, uint32_t index, const fd_slice *slice)
{
    uint32_t rank = c->outline.ranks.list[index].rank;
    if (slice->kind & FD_IS_RUNTIME
        && slice->gpu.correlation != FD_NO_CORRELATION) {
        fd_gpu_launch launch = {.correlation = slice->gpu.correlation,
                                .start = slice->start,
                                .end = slice->end,
                                .rank = rank,
                                .process = slice->process,
                                .thread = slice->thread};
        return fd_stream_table_launch(&c->stats->streams, &launch);
    }
    return slice->kind & (FD_IS_KERNEL | FD_IS_COPY)
             ? take_activity(c, index, slice)
             : FD_OK;
}

/* Count a slice that is far from all others, and note the first one. */
static fd_status
note_stray(counting *c, const fd_slice *slice)
{
    fd_timeline_input *file = c->file;
    if ((slice->kind & FD_IS_AROUND) == 0 && file->strays++ == 0) {
        file->stray_name = slice->name;
        file->stray_ns = slice->start < c->outline.from
                           ? fd_minus(slice->start, c->outline.from)
                           : fd_minus(slice->start, c->outline.to);
    }
    return FD_OK;
}

static fd_status
take_slice(counting *c, fd_slice *slice)
{
    fd_stats *stats = c->stats;
    uint32_t index = c->outline.processes.list[slice->process].rank;
    if (index >= c->outline.ranks.count) {
        return FD_OK; /* of the profiler itself */
    }
    const fd_timeline_rank *rank = &c->outline.ranks.list[index];
    if (!fd_timeline_wants(c->request->ranks, c->request->rank_count,
                           rank->rank)) {
        return FD_OK;
    }
    fd_slice_move(slice, &c->file->clock);
    if (fd_timeline_outline_skips(&c->outline, slice)) {
        return note_stray(c, slice);
    }
    fd_status status = tally_slice(c, rank, slice);
    fd_then(status, fd_lanes_add(&stats->lanes, index, slice->thread,
                                 work_of(basis_of(rank->kinds), slice->kind),
                                 slice->start, slice->end));
    fd_then(status, take_facts(c, index, slice));
    if (status == FD_OK && is_matched(rank->kinds, slice->kind)) {
        fd_collective collective = {slice->group, slice->start, slice->end,
                                    rank->rank,   slice->name,  slice->pg};
        status = fd_skew_add(&stats->skew, &collective);
    }
    return status;
}

static fd_status
take_for_outline(counting *c, const fd_timeline_reader *reader, bool is_event)
{
    if (!is_event) {
        return fd_timeline_outline_member(&c->outline, reader->key,
                                          reader->value);
    }
    return fd_timeline_outline_event(&c->outline, &reader->event,
                                     &c->file->clock);
}

static fd_status
take_for_figures(counting *c, const fd_timeline_reader *reader, bool is_event)
{
    fd_slice slice;
    uint32_t process;
    bool whole = false;
    c->file->repaired += reader->repairs;
    if (!is_event) {
        return FD_OK;
    }
    c->file->events++;
    /* In the same order as in the first pass, so that process numbers are
     * equal. */
    fd_status status = fd_timeline_slices_process(&c->stats->slices,
                                                  reader->event.pid, &process);
    fd_then(status, fd_timeline_slices_take(&c->stats->slices, &reader->event,
                                            &slice, &whole));
    whole = whole && slice.process < c->outline.processes.count;
    return status == FD_OK && whole ? take_slice(c, &slice) : status;
}

static fd_status
report_progress(counting *c, uint64_t read)
{
    const fd_stats_request *request = c->request;
    if (request->progress == NULL || c->done + read < c->reported) {
        return FD_OK;
    }
    c->reported = c->done + read + PROGRESS_STEP;
    return request->progress(request->context, c->done + read, c->total)
             ? FD_OK
             : fd_fail(c->error, FD_EINVAL, "stopped");
}

static fd_status
read_file(counting *c, take_item *take)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    fd_timeline_input *file = c->file;
    fd_status status = fd_timeline_reader_open(&reader, file->path, c->error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        status = take(c, &reader, item == FD_TIMELINE_EVENT);
        fd_then(status, report_progress(c, reader.in.read));
    }
    fd_then(status, reader.status);
    file->lost = reader.lost;
    file->lost_bytes = reader.lost_bytes;
    memcpy(file->trouble, reader.trouble, sizeof file->trouble);
    c->done += reader.in.size;
    fd_timeline_reader_close(&reader);
    return status;
}

/* Widen the step of the host in which an activity was launched. */
static void
take_pair(void *context, const fd_gpu_launch *launch,
          const fd_gpu_activity *activity)
{
    const counting *c = context;
    fd_timeline_rank *rank =
        fd_timeline_outline_rank(&c->outline, launch->rank);
    fd_timeline_step *step =
        rank != NULL ? step_around(rank, launch->start) : NULL;
    if (step != NULL) {
        fd_timeline_step_widen(step, activity->start, activity->end);
    }
}

static fd_status
add_steps(counting *c, uint32_t index)
{
    fd_stats *stats = c->stats;
    const fd_timeline_rank *rank = &c->outline.ranks.list[index];
    fd_rank_work work;
    fd_status status = fd_lanes_of_rank(&stats->lanes, index, &work);
    fd_stats_step step = {.rank = rank->rank,
                          .number = FD_NO_STEP,
                          .start = rank->first,
                          .end = rank->last};
    for (uint32_t i = 0; i <= rank->steps.count && status == FD_OK; i++) {
        step.work = fd_rank_work_within(&work, step.start, step.end);
        status = fd_vector_push(&stats->steps, step);
        if (i < rank->steps.count) {
            const fd_timeline_step *next = &rank->steps.list[i];
            step.number = next->number;
            step.start = next->start;
            step.end = next->end;
        }
    }
    if (status == FD_OK && index < c->kernels.count
        && c->kernels.list[index].any) {
        fd_kernel_kinds *kernels = &c->kernels.list[index];
        kernels->rank = rank->rank;
        status = fd_kernel_kinds_measure(kernels, &work);
        fd_then(status, fd_vector_push(&stats->kernels, *kernels));
    }
    fd_rank_work_clear(&work);
    return status;
}

/* Add a rank. `lost`: damaged regions of its files, if they have only this
 * rank. */
static fd_status
add_rank(counting *c, uint32_t index, uint64_t lost)
{
    fd_stats *stats = c->stats;
    const fd_timeline_rank *rank = &c->outline.ranks.list[index];
    for (uint32_t i = 0; i < stats->ranks.count; i++) {
        if (stats->ranks.list[i].rank == rank->rank) {
            return fd_fail(c->error, FD_ECONFLICT,
                           "%s: rank %u is also in another file",
                           c->file->path, (unsigned)rank->rank);
        }
    }
    fd_stats_rank row = {.rank = rank->rank,
                         .basis = basis_of(rank->kinds),
                         .events = rank->events,
                         .calls_lost = rank->calls_lost,
                         .places_lost = rank->places_lost + lost,
                         .steps = rank->steps.count,
                         .open_steps = rank->open_steps,
                         .steps_end_there = rank->steps_end_there};
    memcpy(row.steps_of_name, rank->steps_of_name, sizeof row.steps_of_name);
    fd_status status = fd_vector_push(&stats->ranks, row);
    return fd_then(status, add_steps(c, index));
}

static fd_status
outline_files(counting *c, fd_timeline_input **files, uint32_t count)
{
    fd_status status = FD_OK;
    c->outline = (fd_timeline_outline){.steps_lost = 0};
    do {
        for (uint32_t i = 0; i < count && status == FD_OK; i++) {
            c->file = files[i];
            status = read_file(c, take_for_outline);
            fd_timeline_outline_next(&c->outline);
        }
    } while (status == FD_OK && fd_timeline_outline_again(&c->outline));
    return fd_then(status,
                   fd_timeline_outline_finish(&c->outline, files[0]->rank));
}

static fd_status
count_slices(counting *c, fd_timeline_input **files, uint32_t count)
{
    fd_timeline_slices *slices = &c->stats->slices;
    fd_status status = FD_OK;
    fd_timeline_slices_restart(slices);
    slices->facts = true;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        c->file = files[i];
        status = read_file(c, take_for_figures);
        c->file->unpaired = slices->endless + slices->open_count;
        c->file->timeless = slices->timeless;
        fd_timeline_slices_next(slices);
    }
    return status;
}

/* Read the files of one rank: a recording and another program's trace, or a
 * single file. */
static fd_status
count_files(counting *c, fd_timeline_input **files, uint32_t count)
{
    uint64_t lost = 0;
    uint64_t left_out = c->stats->streams.left_out;
    fd_status status = outline_files(c, files, count);
    fd_then(status, count_slices(c, files, count));
    for (uint32_t i = 0; i < count && c->outline.ranks.count == 1; i++) {
        lost += files[i]->lost;
    }
    fd_then(status, fd_stream_table_finish(&c->stats->streams, take_pair, c));
    for (uint32_t i = 0; i < c->outline.ranks.count && status == FD_OK; i++) {
        fd_timeline_outline_settle(&c->outline.ranks.list[i],
                                   c->stats->streams.left_out == left_out);
        if (fd_timeline_wants(c->request->ranks, c->request->rank_count,
                              c->outline.ranks.list[i].rank)) {
            status = add_rank(c, i, lost);
        }
    }
    c->stats->steps_lost += c->outline.steps_lost;
    fd_vector_clear(&c->kernels);
    fd_lanes_clear(&c->stats->lanes);
    fd_timeline_outline_clear(&c->outline);
    return status;
}

static fd_status
count_all(counting *c, const fd_timeline_inputs *used)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0, next; i < used->count && status == FD_OK; i = next) {
        for (next = i + 1; next < used->count
                           && used->list[next]->rank == used->list[i]->rank;
             next++) {
        }
        status = count_files(c, used->list + i, next - i);
    }
    return status;
}

/* Select the inputs that are traces, and align their clocks. */
static fd_status
prepare_inputs(counting *c, fd_timeline_input *inputs, uint32_t count,
               fd_timeline_inputs *used)
{
    const fd_timeline_request request = {.align = c->request->align};
    fd_timeline_clock clock = {.has_base = false};
    fd_status status =
        fd_timeline_inputs_find(&request, inputs, count, used, c->error);
    fd_then(status, fd_timeline_align_all(used->list, used->count,
                                          request.align, &clock));
    for (uint32_t i = 0; i < count; i++) {
        c->total += inputs[i].used ? 2 * inputs[i].survey.size : 0;
        fd_timeline_survey_clear(&inputs[i].survey);
    }
    c->stats->has_base = clock.has_base;
    c->stats->base_ns = clock.base_ns;
    return status;
}

fd_status
fd_timeline_stats(const fd_stats_request *request, fd_timeline_input *inputs,
                  uint32_t count, fd_stats *stats, fd_error *error)
{
    counting c = {.request = request, .stats = stats, .error = error};
    fd_timeline_inputs used = {.list = NULL};
    *stats = (fd_stats){.has_base = false};
    fd_status status = prepare_inputs(&c, inputs, count, &used);
    fd_then(status, count_all(&c, &used));
    fd_timeline_inputs_clear(&used);
    if (status == FD_OK && stats->ranks.count == 0) {
        status = fd_fail(error, FD_EINVAL,
                         request->ranks != NULL ? "no slices of these ranks"
                                                : "no slices in these traces");
    }
    return fd_then(status, fd_skew_match(&stats->skew));
}
