#include "events/stats/slice_columns.h"

#include "base/budget.h"
#include "base/hash.h"
#include "events/merged_ids.h"
#include "events/stats/gpu_facts.h"

#include <string.h>

void
fd_slice_texts_clear(fd_slice_texts *slices)
{
    fd_text_pool_clear(&slices->pids);
    fd_text_pool_clear(&slices->threads);
    fd_text_pool_clear(&slices->texts);
    fd_buffer_clear(&slices->scratch);
    fd_vector_clear(&slices->xla);
}

/* Find or add a text; if there are too many, use the text "(other)". */
static fd_status
text_number(fd_text_pool *pool, fd_span text, size_t most, uint32_t *id)
{
    static const char other[] = "(other)";
    fd_span none = {other, other + sizeof other - 1};
    *id = 0;
    if (text.from == NULL) {
        return FD_OK;
    }
    text = pool->texts.count < fd_budget(most) ? text : none;
    return fd_text_pool_add(pool, text.from, fd_span_size(text), id);
}

/* Set the process. Viewers show an event without a pid in process 0. */
static fd_status
find_process(fd_slice_texts *slices, const fd_timeline_event *event,
             fd_event_row *row)
{
    static const char zero[] = "0";
    fd_span text = event->pid.from != NULL ? fd_span_inside(event->pid)
                                           : (fd_span){zero, zero + 1};
    return text_number(&slices->pids, text, FD_TIMELINE_MOST_PIDS,
                       &row->process);
}

/* Set the thread; all asynchronous slices of a process have the same one. */
static fd_status
find_thread(fd_slice_texts *slices, const fd_timeline_event *event,
            const char *mark, fd_event_row *row)
{
    fd_buffer *scratch = &slices->scratch;
    scratch->size = 0;
    fd_buffer_u64(scratch, row->process);
    fd_buffer_text(scratch, mark);
    if (event->tid.from != NULL && *mark == ' ') {
        fd_span tid = fd_span_inside(event->tid);
        fd_buffer_bytes(scratch, tid.from, fd_span_size(tid));
    }
    fd_span text = {scratch->bytes, scratch->bytes + scratch->size};
    return scratch->status == FD_OK ? text_number(
               &slices->threads, text, FD_SLICES_THREADS, &row->lane)
                                    : scratch->status;
}

static uint64_t
hash_of(uint64_t seed, fd_span text)
{
    return text.from == NULL
             ? fd_hash_next(seed, 1)
             : fd_hash_next(seed,
                            fd_hash_bytes(text.from, fd_span_size(text)));
}

/* Describe a collective. Collectives of several ranks match if they have the
 * same name, size and process group. */
static fd_status
describe_group(fd_slice_texts *slices, const fd_timeline_event *event,
               fd_event_row *row)
{
    static const char *const same[] = {"Process Group Ranks", "Input Dims",
                                       "In msg nelems", "dtype"};
    fd_span value;
    fd_span group = {NULL, NULL};
    fd_span args = event->args;
    if (args.from == NULL) {
        return FD_OK;
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        bool there = fd_scan_find(args, same[i], &value);
        row->match =
            hash_of(row->match, there ? value : (fd_span){NULL, NULL});
    }
    group = fd_timeline_argument_text(event, "Process Group Name");
    row->match = hash_of(row->match, group);
    return text_number(&slices->texts, group, FD_SLICES_NAMES, &row->group);
}

static fd_status
describe_job(fd_slice_texts *slices, const fd_timeline_event *event,
             fd_span name, fd_event_row *row)
{
    uint64_t value;
    if (fd_timeline_argument(event, "step", &value) && value <= INT64_MAX) {
        row->step = (int64_t)value;
    }
    if (fd_timeline_argument(event, "stage", &value) && value <= INT64_MAX) {
        row->stage = (int64_t)value;
    }
    return text_number(&slices->texts, fd_timeline_job_type(name),
                       FD_SLICES_NAMES, &row->type);
}

/* Describe an annotation, which may be a step: it has a number, its name ends
 * in one, or neither. */
static fd_status
describe_range(fd_slice_texts *slices, const fd_timeline_event *event,
               fd_span name, fd_event_row *row)
{
    uint64_t number;
    fd_span base = fd_timeline_job_type(name);
    fd_span digits = {fd_timeline_number_in(name), name.to};
    bool known = fd_timeline_argument(event, "step_num", &number)
              || (fd_span_size(base) < fd_span_size(name)
                  && fd_span_u64(digits, &number));
    if (known && number <= INT64_MAX) {
        row->step = (int64_t)number;
    }
    return text_number(&slices->texts, base, FD_SLICES_NAMES, &row->type);
}

static fd_xla_thread
xla_thread_of(const fd_slice_texts *slices, const fd_event_row *row)
{
    return row->lane < slices->xla.count ? slices->xla.list[row->lane]
                                         : FD_XLA_NONE;
}

/* Note a thread of XLA by its name. */
static fd_status
note_thread(fd_slice_texts *slices, const fd_timeline_event *event,
            fd_event_row *row)
{
    fd_span name = fd_timeline_argument_text(event, "name");
    fd_xla_thread xla =
        name.from != NULL && fd_span_is(event->name, "\"thread_name\"")
            ? fd_timeline_xla_thread(name)
            : FD_XLA_NONE;
    if (xla == FD_XLA_NONE) {
        return FD_OK;
    }
    fd_status status = find_thread(slices, event, " ", row);
    while (status == FD_OK && slices->xla.count <= row->lane) {
        status = fd_vector_push(&slices->xla, FD_XLA_NONE);
    }
    if (status == FD_OK) {
        slices->xla.list[row->lane] = xla;
    }
    return status;
}

static fd_status
describe_slice(fd_slice_texts *slices, const fd_timeline_event *event,
               fd_event_row *row)
{
    static const char nothing[] = "";
    uint64_t step;
    fd_span none = {nothing, nothing};
    fd_span cat = event->cat.from != NULL ? fd_span_inside(event->cat) : none;
    fd_span name = fd_timeline_plain_name(
        event->name.from != NULL ? fd_span_inside(event->name) : none);
    fd_xla_thread xla =
        fd_span_size(cat) == 0 ? xla_thread_of(slices, row) : FD_XLA_NONE;
    row->kind |= xla != FD_XLA_NONE
                   ? fd_timeline_xla_kind(xla, name, &step)
                   : fd_timeline_kind_of(cat, name, event->args, &step);
    if (row->kind & (FD_IS_STEP | FD_IS_GPU_STEP)) {
        row->step = step <= INT64_MAX ? (int64_t)step : INT64_MAX;
    }
    if (row->kind & (FD_IS_KERNEL | FD_IS_COPY | FD_IS_RUNTIME)) {
        fd_gpu_facts facts;
        fd_gpu_facts_read(event, &facts);
        row->number = facts.correlation + 1;
        row->device = facts.device;
        row->stream = facts.stream;
    }
    fd_status status =
        text_number(&slices->texts, cat, FD_SLICES_NAMES, &row->category);
    fd_then(status,
            text_number(&slices->texts, name, FD_SLICES_NAMES, &row->name));
    if (status == FD_OK && row->kind & FD_IS_JOB) {
        status = describe_job(slices, event, name, row);
    }
    if (status == FD_OK && row->kind & (FD_IS_OPTIMIZER | FD_IS_RANGE)) {
        status = describe_range(slices, event, name, row);
    }
    if (status == FD_OK && row->kind & FD_IS_COMMUNICATION) {
        row->match = hash_of(0, name);
        status = describe_group(slices, event, row);
    }
    return status;
}

fd_status
fd_slice_columns_fill(fd_slice_texts *slices, const fd_timeline_event *event,
                      fd_event_row *row)
{
    char phase = event->phase;
    bool async = phase == 'b' || phase == 'e';
    fd_status status = find_process(slices, event, row);
    row->step = row->stage = FD_NO_STEP;
    if (status == FD_OK && phase == 'M') {
        return note_thread(slices, event, row);
    }
    if (status != FD_OK || phase == 0 || strchr("XBEbe", phase) == NULL) {
        return status;
    }
    row->kind = async ? FD_IS_ASYNC : 0;
    status = find_thread(slices, event, async ? "~" : " ", row);
    return status == FD_OK && phase != 'E' && phase != 'e'
             ? describe_slice(slices, event, row)
             : status;
}
