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
    fd_text_pool_clear(&slices->subjects);
    fd_text_pool_clear(&slices->titles);
    fd_vector_clear(&slices->kinds);
    fd_vector_clear(&slices->names);
    fd_buffer_clear(&slices->scratch);
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
               fd_span name, fd_event_row *row)
{
    static const char *const same[] = {"Process Group Ranks", "Input Dims",
                                       "In msg nelems", "dtype",
                                       "Process Group Name"};
    enum { SAME = sizeof same / sizeof *same, GROUP = SAME - 1 };
    fd_span values[SAME] = {{NULL, NULL}};
    row->match = hash_of(0, name);
    if (event->args.from == NULL) {
        return FD_OK;
    }
    fd_scan_members(event->args, same, SAME, values);
    values[GROUP] = fd_timeline_text(values[GROUP]);
    for (size_t i = 0; i < SAME; i++) {
        row->match = hash_of(row->match, values[i]);
    }
    return text_number(&slices->texts, values[GROUP], FD_SLICES_NAMES,
                       &row->group);
}

static int64_t
argument_number(const fd_timeline_event *event, const char *name, int64_t none)
{
    uint64_t value;
    return fd_timeline_argument(event, name, &value) && value <= INT64_MAX
             ? (int64_t)value
             : none;
}

/* Note the name of a thread. */
static fd_status
note_thread(fd_slice_texts *slices, const fd_timeline_event *event,
            fd_event_row *row)
{
    uint32_t title;
    fd_span name = fd_timeline_argument_text(event, "name");
    if (name.from == NULL || event->name.from == NULL
        || !fd_span_is(event->name, "\"thread_name\"")) {
        return FD_OK;
    }
    fd_status status = find_thread(slices, event, " ", row);
    fd_then(status,
            text_number(&slices->titles, name, FD_SLICES_THREADS, &title));
    while (status == FD_OK && slices->names.count <= row->lane) {
        status = fd_vector_push(&slices->names, 0);
    }
    if (status == FD_OK) {
        slices->names.list[row->lane] = title;
    }
    return status;
}

/* Compose the subject of a slice. Threads and arguments decide only on slices
 * without a category, and on kernels. */
static fd_status
compose_subject(fd_slice_texts *slices, const fd_timeline_event *event,
                fd_span cat, fd_span name, uint32_t lane)
{
    static const char *const names[] = {"Task Type", "step_num",
                                        "Collective name"};
    fd_span values[3] = {{NULL, NULL}};
    bool kernel = fd_span_is(cat, "kernel") || fd_span_is(cat, "Kernel")
               || fd_span_is(cat, "cuda");
    bool titled = fd_span_size(cat) == 0 && lane < slices->names.count;
    fd_span title = fd_text_pool_span(&slices->titles,
                                      titled ? slices->names.list[lane] : 0);
    if (event->args.from != NULL && (kernel || fd_span_size(cat) == 0)) {
        fd_scan_members(event->args, names, 3, values);
    }
    fd_buffer *to = &slices->scratch;
    to->size = 0;
    fd_buffer_bytes(to, cat.from, fd_span_size(cat));
    fd_buffer_bytes(to, "", 1);
    fd_buffer_bytes(to, title.from, fd_span_size(title));
    fd_buffer_bytes(to, "", 1);
    if (values[0].from != NULL) {
        fd_buffer_bytes(to, values[0].from, fd_span_size(values[0]));
    }
    fd_buffer_bytes(to, "\0001", values[1].from != NULL ? 2 : 1);
    fd_buffer_bytes(to, "\0001", values[2].from != NULL ? 2 : 1);
    fd_buffer_bytes(to, "", 1);
    fd_buffer_bytes(to, name.from, fd_span_size(name));
    return to->status;
}

/* Make the facts about the subject in `scratch`. */
static fd_status
add_subject(fd_slice_texts *slices, fd_span cat, fd_span name)
{
    fd_slice_subject made = {.of = {.step = FD_NO_STEP}};
    const fd_buffer *subject = &slices->scratch;
    if (!slices->kind_of(
            slices->context,
            (fd_span){subject->bytes, subject->bytes + subject->size},
            &made.of)) {
        return FD_EINVAL;
    }
    fd_status status =
        text_number(&slices->texts, cat, FD_SLICES_NAMES, &made.category);
    fd_then(status,
            text_number(&slices->texts, name, FD_SLICES_NAMES, &made.name));
    if (made.of.kind & (FD_IS_JOB | FD_IS_OPTIMIZER | FD_IS_RANGE)) {
        name.to -= made.of.end <= fd_span_size(name) ? made.of.end : 0;
        fd_then(status, text_number(&slices->texts, name, FD_SLICES_NAMES,
                                    &made.type));
    }
    return fd_then(status, fd_vector_push(&slices->kinds, made));
}

/* Find the subject of a slice. If there are too many, start again. */
static fd_status
find_subject(fd_slice_texts *slices, const fd_timeline_event *event,
             fd_span cat, fd_span name, uint32_t lane, fd_slice_subject *found)
{
    uint32_t id;
    fd_status status = compose_subject(slices, event, cat, name, lane);
    if (slices->subjects.texts.count >= fd_budget(FD_SLICES_NAMES)) {
        fd_text_pool_clear(&slices->subjects);
        slices->kinds.count = 0;
    }
    fd_then(status, fd_text_pool_add(&slices->subjects, slices->scratch.bytes,
                                     slices->scratch.size, &id));
    if (status == FD_OK && id > slices->kinds.count) {
        status = add_subject(slices, cat, name);
    }
    if (status == FD_OK) {
        *found = slices->kinds.list[id - 1];
    }
    return status;
}

/* Return `aten::mm (12.3 ms)` without its duration. */
static fd_span
plain_name(fd_span name)
{
    static const char *const units[] = {" ns)", " us)", " ms)", " s)"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t size = strlen(units[i]);
        const char *at = name.to - size;
        if (fd_span_size(name) <= size || memcmp(at, units[i], size) != 0) {
            continue;
        }
        while (at > name.from
               && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.')) {
            at--;
        }
        if (at - name.from > 2 && at[-1] == '(' && at[-2] == ' ') {
            name.to = at - 2;
        }
    }
    return name;
}

static fd_status
describe_slice(fd_slice_texts *slices, const fd_timeline_event *event,
               fd_event_row *row)
{
    static const char nothing[] = "";
    fd_span none = {nothing, nothing};
    fd_slice_subject subject;
    fd_span cat = event->cat.from != NULL ? fd_span_inside(event->cat) : none;
    fd_span name = plain_name(
        event->name.from != NULL ? fd_span_inside(event->name) : none);
    fd_status status =
        find_subject(slices, event, cat, name, row->lane, &subject);
    if (status != FD_OK) {
        return status;
    }
    bool whole = event->phase == 'X' && fd_timeline_named(event);
    uint32_t flags = event->phase == 'b' ? 0 : subject.of.flags;
    uint32_t kind = subject.of.kind;
    row->kind |= kind;
    row->category = subject.category;
    row->name = subject.name;
    row->type = subject.type;
    row->flags |= whole ? flags : flags & (FD_ROW_KERNEL | FD_ROW_PROFILED);
    if (kind & (FD_IS_KERNEL | FD_IS_COPY | FD_IS_RUNTIME)) {
        fd_gpu_facts facts;
        fd_gpu_facts_read(event, &facts);
        row->number = facts.correlation + 1;
        row->device = facts.device;
        row->stream = facts.stream;
    }
    if (kind & (FD_IS_STEP | FD_IS_GPU_STEP)) {
        row->step = subject.of.step;
    }
    else if (kind & (FD_IS_OPTIMIZER | FD_IS_RANGE)) {
        row->step = argument_number(event, "step_num", subject.of.step);
    }
    else if (kind & FD_IS_JOB) {
        row->step = argument_number(event, "step", FD_NO_STEP);
        row->stage = argument_number(event, "stage", FD_NO_STEP);
    }
    if (whole && (flags & (FD_ROW_STEP | FD_ROW_GPU_STEP)) != 0) {
        row->number = (uint64_t)subject.of.step;
    }
    return kind & FD_IS_COMMUNICATION
             ? describe_group(slices, event, name, row)
             : FD_OK;
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
