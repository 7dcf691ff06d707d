#include "events/stats/slice_reader.h"

#include "base/budget.h"
#include "base/hash.h"
#include "events/merged_ids.h"

enum { MOST_KEYS = 1 << 20 };

void
fd_timeline_slices_clear(fd_timeline_slices *slices)
{
    fd_text_pool_clear(&slices->pids);
    fd_text_pool_clear(&slices->threads);
    fd_text_pool_clear(&slices->texts);
    fd_buffer_clear(&slices->scratch);
    fd_map_clear(&slices->last);
    fd_vector_clear(&slices->xla);
    fd_vector_clear(&slices->open);
}

static void
go_on(fd_timeline_slices *slices, uint32_t process, uint32_t thread)
{
    fd_text_pool texts = slices->texts;
    bool facts = slices->facts;
    slices->texts = (fd_text_pool){.bytes = {.bytes = NULL}};
    fd_timeline_slices_clear(slices);
    *slices = (fd_timeline_slices){.facts = facts,
                                   .first_process = process,
                                   .first_thread = thread,
                                   .texts = texts};
}

/* Return the number of ids, including id 0. */
static uint32_t
ids_of(const fd_text_pool *pool)
{
    return pool->texts.count > 0 ? pool->texts.count : 1;
}

void
fd_timeline_slices_next(fd_timeline_slices *slices)
{
    go_on(slices, slices->first_process + ids_of(&slices->pids),
          slices->first_thread + ids_of(&slices->threads));
}

void
fd_timeline_slices_restart(fd_timeline_slices *slices)
{
    go_on(slices, 0, 0);
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

/* Viewers show an event without a pid in process 0. */
fd_status
fd_timeline_slices_process(fd_timeline_slices *slices, fd_span pid,
                           uint32_t *process)
{
    static const char zero[] = "0";
    fd_span text =
        pid.from != NULL ? fd_span_inside(pid) : (fd_span){zero, zero + 1};
    fd_status status =
        text_number(&slices->pids, text, FD_TIMELINE_MOST_PIDS, process);
    *process += slices->first_process;
    return status;
}

static fd_status
find_thread(fd_timeline_slices *slices, const fd_timeline_event *event,
            const char *mark, fd_slice *slice)
{
    fd_buffer *scratch = &slices->scratch;
    scratch->size = 0;
    fd_buffer_u64(scratch, slice->process);
    fd_buffer_text(scratch, mark);
    if (event->tid.from != NULL && *mark == ' ') {
        fd_span tid = fd_span_inside(event->tid);
        fd_buffer_bytes(scratch, tid.from, fd_span_size(tid));
    }
    fd_span text = {scratch->bytes, scratch->bytes + scratch->size};
    fd_status status = scratch->status == FD_OK
                         ? text_number(&slices->threads, text,
                                       FD_SLICES_THREADS, &slice->thread)
                         : scratch->status;
    slice->thread += slices->first_thread;
    return status;
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
describe_group(fd_timeline_slices *slices, const fd_timeline_event *event,
               fd_slice *slice)
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
        slice->group =
            hash_of(slice->group, there ? value : (fd_span){NULL, NULL});
    }
    group = fd_timeline_argument_text(event, "Process Group Name");
    slice->group = hash_of(slice->group, group);
    return text_number(&slices->texts, group, FD_SLICES_NAMES, &slice->pg);
}

static fd_status
describe_job(fd_timeline_slices *slices, const fd_timeline_event *event,
             fd_span name, fd_slice *slice)
{
    uint64_t value;
    if (fd_timeline_argument(event, "step", &value) && value <= INT64_MAX) {
        slice->step = (int64_t)value;
    }
    if (fd_timeline_argument(event, "stage", &value) && value <= INT64_MAX) {
        slice->stage = (int64_t)value;
    }
    return text_number(&slices->texts, fd_timeline_job_type(name),
                       FD_SLICES_NAMES, &slice->type);
}

/* Describe an annotation, which may be a step: it has a number, its name ends
 * in one, or neither. */
static fd_status
describe_range(fd_timeline_slices *slices, const fd_timeline_event *event,
               fd_span name, fd_slice *slice)
{
    uint64_t number;
    fd_span base = fd_timeline_job_type(name);
    fd_span digits = {fd_timeline_number_in(name), name.to};
    bool known = fd_timeline_argument(event, "step_num", &number)
              || (fd_span_size(base) < fd_span_size(name)
                  && fd_span_u64(digits, &number));
    if (known && number <= INT64_MAX) {
        slice->step = (int64_t)number;
    }
    return text_number(&slices->texts, base, FD_SLICES_NAMES, &slice->type);
}

static fd_xla_thread
xla_thread_of(const fd_timeline_slices *slices, const fd_slice *slice)
{
    uint32_t index = slice->thread - slices->first_thread;
    return index < slices->xla.count ? slices->xla.list[index] : FD_XLA_NONE;
}

/* Note a thread of XLA by its name. */
static fd_status
note_thread(fd_timeline_slices *slices, const fd_timeline_event *event)
{
    fd_slice slice = {.number = 0};
    fd_span name = fd_timeline_argument_text(event, "name");
    fd_xla_thread xla =
        name.from != NULL && fd_span_is(event->name, "\"thread_name\"")
            ? fd_timeline_xla_thread(name)
            : FD_XLA_NONE;
    if (xla == FD_XLA_NONE) {
        return FD_OK;
    }
    fd_status status =
        fd_timeline_slices_process(slices, event->pid, &slice.process);
    fd_then(status, find_thread(slices, event, " ", &slice));
    uint32_t index = slice.thread - slices->first_thread;
    while (status == FD_OK && slices->xla.count <= index) {
        status = fd_vector_push(&slices->xla, FD_XLA_NONE);
    }
    if (status == FD_OK) {
        slices->xla.list[index] = xla;
    }
    return status;
}

static fd_status
describe_slice(fd_timeline_slices *slices, const fd_timeline_event *event,
               fd_slice *slice)
{
    static const char nothing[] = "";
    uint64_t step;
    fd_span none = {nothing, nothing};
    fd_span cat = event->cat.from != NULL ? fd_span_inside(event->cat) : none;
    fd_span name = fd_timeline_plain_name(
        event->name.from != NULL ? fd_span_inside(event->name) : none);
    fd_xla_thread xla =
        fd_span_size(cat) == 0 ? xla_thread_of(slices, slice) : FD_XLA_NONE;
    slice->kind |= xla != FD_XLA_NONE
                     ? fd_timeline_xla_kind(xla, name, &step)
                     : fd_timeline_kind_of(cat, name, event->args, &step);
    if (slice->kind & (FD_IS_STEP | FD_IS_GPU_STEP)) {
        slice->step = step <= INT64_MAX ? (int64_t)step : INT64_MAX;
    }
    if (slices->facts
        && slice->kind & (FD_IS_KERNEL | FD_IS_COPY | FD_IS_RUNTIME)) {
        fd_gpu_facts_read(event, &slice->gpu);
    }
    fd_status status =
        text_number(&slices->texts, cat, FD_SLICES_NAMES, &slice->cat);
    if (status == FD_OK) {
        status =
            text_number(&slices->texts, name, FD_SLICES_NAMES, &slice->name);
    }
    if (status == FD_OK && slice->kind & FD_IS_JOB) {
        status = describe_job(slices, event, name, slice);
    }
    if (status == FD_OK && slice->kind & (FD_IS_OPTIMIZER | FD_IS_RANGE)) {
        status = describe_range(slices, event, name, slice);
    }
    if (status == FD_OK && slice->kind & FD_IS_COMMUNICATION) {
        slice->group = hash_of(0, name);
        status = describe_group(slices, event, slice);
    }
    return status;
}

/* Rebuild the map from the keys that are still in use; keys cannot be removed
 * from it. */
static fd_status
renew_keys(fd_timeline_slices *slices)
{
    fd_map fresh = {.entries = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i <= slices->last.mask && status == FD_OK; i++) {
        fd_map_entry *entry = &slices->last.entries[i];
        if (entry->key != 0 && entry->value != 0) {
            status = fd_map_put(&fresh, entry->key, entry->value);
        }
    }
    if (status == FD_OK) {
        fd_map_clear(&slices->last);
        slices->last = fresh;
    }
    else {
        fd_map_clear(&fresh);
    }
    return status;
}

static fd_status
begin_slice(fd_timeline_slices *slices, uint64_t key, const fd_slice *slice)
{
    uint32_t index = slices->free;
    fd_status status = FD_OK;
    if (slices->open_count >= fd_budget(FD_SLICES_OPEN)) {
        slices->endless++;
        return FD_OK;
    }
    if (slices->last.count >= fd_budget(MOST_KEYS)) {
        status = renew_keys(slices);
    }
    if (status == FD_OK && index == 0) {
        status = fd_vector_push(&slices->open, (fd_slice_open){.key = 0});
        index = slices->open.count;
    }
    else if (status == FD_OK) {
        slices->free = slices->open.list[index - 1].below;
    }
    if (status != FD_OK) {
        return status;
    }
    slices->open.list[index - 1] =
        (fd_slice_open){*slice, key, fd_map_get(&slices->last, key)};
    slices->open_count++;
    return fd_map_put(&slices->last, key, index);
}

static bool
end_slice(fd_timeline_slices *slices, uint64_t key, int64_t time,
          fd_slice *slice)
{
    uint32_t index = fd_map_get(&slices->last, key);
    if (index == 0) {
        slices->endless++;
        return false;
    }
    fd_slice_open *open = &slices->open.list[index - 1];
    *slice = open->slice;
    slice->end = time > slice->start ? time : slice->start;
    /* replaces a value: cannot fail */
    fd_map_put(&slices->last, key, open->below);
    *open = (fd_slice_open){.below = slices->free};
    slices->free = index;
    slices->open_count--;
    return true;
}

static uint64_t
async_key(const fd_timeline_event *event, uint32_t process)
{
    bool local = event->local_id.from != NULL;
    uint64_t key =
        hash_of(local ? process + 2 : 1, fd_timeline_text(event->cat));
    key = hash_of(key, fd_timeline_text(fd_timeline_id(event)));
    return key != 0 ? key : 1;
}

/* Return whether the times are valid and small enough that sums and
 * differences do not overflow. */
static bool
has_times(const fd_timeline_event *event, fd_slice *slice)
{
    int64_t duration = event->phase == 'X' ? event->duration : 0;
    bool has = event->has_start && (event->phase != 'X' || event->has_duration)
            && duration >= 0 && event->start > -FD_SLICES_TIME
            && event->start < FD_SLICES_TIME
            && duration < FD_SLICES_TIME - event->start;
    slice->end = has ? event->start + duration : event->start;
    return has;
}

fd_status
fd_timeline_slices_take(fd_timeline_slices *slices,
                        const fd_timeline_event *event, fd_slice *slice,
                        bool *whole)
{
    char phase = event->phase;
    bool async = phase == 'b' || phase == 'e';
    uint64_t index = slices->events++;
    *whole = false;
    if (phase == 'M') {
        return note_thread(slices, event);
    }
    if (!async && phase != 'X' && phase != 'B' && phase != 'E') {
        return FD_OK;
    }
    *slice = (fd_slice){.number = index,
                        .start = event->start,
                        .step = FD_NO_STEP,
                        .stage = FD_NO_STEP,
                        .kind = async ? FD_IS_ASYNC : 0};
    if (!has_times(event, slice)) {
        slices->timeless++;
        return FD_OK;
    }
    fd_status status =
        fd_timeline_slices_process(slices, event->pid, &slice->process);
    fd_then(status, find_thread(slices, event, async ? "~" : " ", slice));
    uint64_t key = async ? async_key(event, slice->process)
                         : UINT64_C(1) << 63 | (slice->thread + 1);
    if (status == FD_OK && (phase == 'E' || phase == 'e')) {
        *whole = end_slice(slices, key, event->start, slice);
        return FD_OK;
    }
    fd_then(status, describe_slice(slices, event, slice));
    *whole = phase == 'X' && status == FD_OK;
    return status == FD_OK && phase != 'X' ? begin_slice(slices, key, slice)
                                           : status;
}

static int64_t
moved_time(const fd_clock_map *clock, int64_t ns)
{
    int64_t to = fd_clock_apply(clock, ns);
    return to > FD_SLICES_TIME  ? FD_SLICES_TIME
         : to < -FD_SLICES_TIME ? -FD_SLICES_TIME
                                : to;
}

void
fd_slice_move(fd_slice *slice, const fd_clock_map *clock)
{
    slice->start = moved_time(clock, slice->start);
    slice->end = moved_time(clock, slice->end);
}
