#include "events/merged_ids.h"

#include "base/budget.h"
#include "base/hash.h"
#include "events/recorded/call_flows.h"
#include "json/decimal.h"

#include <string.h>

void
fd_timeline_ids_clear(fd_timeline_ids *ids)
{
    fd_text_pool_clear(&ids->pids);
    fd_text_pool_clear(&ids->tids);
    fd_text_pool_clear(&ids->names);
    fd_vector_clear(&ids->processes);
    fd_vector_clear(&ids->threads);
    fd_map_clear(&ids->thread_of);
    fd_buffer_clear(&ids->scratch);
}

/* Add a process by the text of its pid: 17 and "17" are the same process for
 * viewers. */
static fd_status
add_process(fd_timeline_ids *ids, fd_span pid, uint32_t *process)
{
    uint64_t number;
    fd_span text = fd_span_inside(pid);
    if (ids->pids.texts.count >= fd_budget(FD_TIMELINE_MOST_PIDS)) {
        return FD_EFULL;
    }
    fd_status status =
        fd_text_pool_add(&ids->pids, text.from, fd_span_size(text), process);
    while (status == FD_OK && ids->processes.count <= *process) {
        status = fd_vector_push(&ids->processes, (fd_timeline_process){0});
    }
    if (status != FD_OK || ids->processes.list[*process].pid != 0) {
        return status;
    }
    uint32_t number_in_rank = ids->first + *process;
    bool known = fd_span_u64(text, &number);
    ids->processes.list[*process].pid =
        ids->keeps_pids && known && number > 0 && number <= UINT32_MAX
            ? (uint32_t)number
        : number_in_rank < FD_TIMELINE_PIDS - 1
            ? ids->rank * FD_TIMELINE_PIDS + number_in_rank + 1
            : (*ids->spare_pid)++;
    return known ? FD_OK : fd_timeline_ids_name(ids, *process, pid);
}

static inline bool
is_last(const fd_last_id *last, fd_span id)
{
    size_t size = fd_span_size(id);
    return size == last->size && size > 0
        && memcmp(id.from, last->text, size) == 0;
}

static void
remember_id(fd_last_id *last, fd_span id, uint32_t index)
{
    size_t size = fd_span_size(id);
    last->size = 0;
    last->index = index;
    if (size <= sizeof last->text) {
        memcpy(last->text, id.from, size);
        last->size = (uint32_t)size;
    }
}

fd_status
fd_timeline_ids_process(fd_timeline_ids *ids, fd_span pid, uint32_t *process)
{
    if (is_last(&ids->last_pid, pid)) {
        *process = ids->last_pid.index;
        return FD_OK;
    }
    fd_status status = add_process(ids, pid, process);
    if (status == FD_OK) {
        remember_id(&ids->last_pid, pid, *process);
    }
    return status;
}

static void
begin_row(fd_buffer *rows, const char *name, uint32_t pid, uint32_t tid)
{
    fd_buffer_text(rows, ",\n{\"ph\":\"M\",\"name\":\"");
    fd_buffer_text(rows, name);
    fd_buffer_text(rows, "\",\"pid\":");
    fd_buffer_u64(rows, pid);
    fd_buffer_text(rows, ",\"tid\":");
    fd_buffer_u64(rows, tid);
    fd_buffer_text(rows, ",\"args\":{");
}

/* Put the value into the buffer as a JSON string without its quotes. */
static fd_status
spell_value(fd_timeline_ids *ids, fd_span value)
{
    fd_buffer *scratch = &ids->scratch;
    scratch->size = 0;
    if (*value.from == '"') {
        fd_span inside = fd_span_inside(value);
        fd_buffer_bytes(scratch, inside.from, fd_span_size(inside));
    }
    else {
        fd_buffer_json(scratch, value.from, fd_span_size(value));
        scratch->size -= scratch->status == FD_OK ? 2 : 0;
        if (scratch->status == FD_OK) {
            memmove(scratch->bytes, scratch->bytes + 1, scratch->size);
        }
    }
    return scratch->status;
}

/* Add a thread by the text of its tid: 17 and "17" are the same thread. */
static fd_status
add_thread(fd_timeline_ids *ids, uint32_t pid, fd_span tid, uint64_t key,
           uint32_t text)
{
    uint64_t plain;
    fd_timeline_thread made = {.pid = pid, .tid = (*ids->spare_tid)++};
    fd_status status = FD_OK;
    if (text != 0) { /* Perfetto does not show an empty name */
        status = spell_value(ids, tid);
        fd_buffer name = {.bytes = NULL};
        fd_buffer_text(&name,
                       fd_span_u64(fd_span_inside(tid), &plain) ? "tid " : "");
        fd_buffer_bytes(&name, ids->scratch.bytes, ids->scratch.size);
        fd_then(status, name.status);
        fd_then(status, fd_text_pool_add(&ids->names, name.bytes, name.size,
                                         &made.was));
        fd_buffer_clear(&name);
    }
    fd_then(status, fd_vector_push(&ids->threads, made));
    return fd_then(status,
                   fd_map_put(&ids->thread_of, key, ids->threads.count));
}

static fd_status
find_thread(fd_timeline_ids *ids, uint32_t pid, fd_span tid, uint32_t *thread)
{
    uint32_t text;
    fd_span inside = fd_span_inside(tid);
    if (ids->tids.texts.count >= fd_budget(FD_TIMELINE_MOST_TIDS)
        || ids->threads.count >= fd_budget(FD_TIMELINE_MOST_TIDS)) {
        return FD_EFULL;
    }
    fd_status status =
        fd_text_pool_add(&ids->tids, inside.from, fd_span_size(inside), &text);
    uint64_t key = (uint64_t)pid << 32 | (text + 1);
    uint32_t found = fd_map_get(&ids->thread_of, key);
    if (status == FD_OK && found == 0) {
        status = add_thread(ids, pid, tid, key, text);
        found = ids->threads.count;
    }
    *thread = found - 1;
    return status;
}

fd_status
fd_timeline_ids_thread(fd_timeline_ids *ids, uint32_t pid, fd_span tid,
                       uint32_t *thread)
{
    if (pid == ids->last_tid_pid && is_last(&ids->last_tid, tid)) {
        *thread = ids->last_tid.index;
        return FD_OK;
    }
    fd_status status = find_thread(ids, pid, tid, thread);
    if (status == FD_OK) {
        ids->last_tid_pid = pid;
        remember_id(&ids->last_tid, tid, *thread);
    }
    return status;
}

uint64_t
fd_timeline_ids_number(const fd_timeline_ids *ids, fd_span id)
{
    uint64_t most = UINT64_MAX / ids->inputs - 1;
    uint64_t number;
    fd_span text = fd_span_inside(id);
    bool known = *id.from == '"' ? fd_span_hex(text, &number)
                                 : fd_span_u64(id, &number);
    if (!known) {
        number = fd_hash_bytes(text.from, fd_span_size(text));
    }
    if (number > most) {
        number = fd_hash_word(number) % most;
    }
    bool shared = ids->shares_transfers && fd_is_transfer_id(number);
    return number * ids->inputs + (shared ? ids->inputs - 1 : ids->input);
}

void
fd_timeline_ids_flow(const fd_timeline_ids *ids, fd_span id, fd_buffer *to)
{
    fd_timeline_put_id(fd_timeline_ids_number(ids, id), to);
}

fd_status
fd_timeline_ids_name(fd_timeline_ids *ids, uint32_t process, fd_span name)
{
    fd_status status = spell_value(ids, name);
    return fd_then(status,
                   fd_text_pool_add(&ids->names, ids->scratch.bytes,
                                    ids->scratch.size,
                                    &ids->processes.list[process].name));
}

/* Find the process of an event. Viewers show an event without a pid in process
 * 0. */
static fd_status
process_of(fd_timeline_ids *ids, const fd_timeline_event *event,
           uint32_t *process)
{
    static const char zero[] = "0";
    fd_span pid =
        event->pid.from != NULL ? event->pid : (fd_span){zero, zero + 1};
    return fd_timeline_ids_process(ids, pid, process);
}

fd_status
fd_timeline_ids_take(fd_timeline_ids *ids, const fd_timeline_event *event,
                     uint32_t *process, bool *taken)
{
    fd_span value;
    int64_t thousandths;
    fd_status status = process_of(ids, event, process);
    *taken = false;
    if (status != FD_OK || event->phase != 'M' || event->name.from == NULL
        || event->args.from == NULL) {
        return status;
    }
    fd_span what = fd_span_inside(event->name);
    bool names = fd_span_is(what, "process_name");
    *taken = names || fd_span_is(what, "process_sort_index");
    if (names && fd_timeline_find(event, "name", &value)) {
        status = fd_timeline_ids_name(ids, *process, value);
    }
    else if (*taken && !names && fd_timeline_find(event, "sort_index", &value)
             && fd_decimal_ns(fd_span_inside(value), &thousandths)) {
        ids->processes.list[*process].sort_index = thousandths;
        ids->processes.list[*process].sorted = true;
    }
    return status;
}

FD_ORDER_BY(by_sort_index, fd_timeline_sorted, sort_index, process)

/* Remove a prefix of a name that is also in the label: "python" remains of
 * "rank 3 | node7 | python" for the label "rank 3 | node7". */
static fd_span
beside_label(fd_span name, fd_span label)
{
    static const char mark[] = " | ";
    for (const char *end = label.to; end > label.from; end--) {
        size_t size = (size_t)(end - label.from);
        bool part = end == label.to
                 || (label.to - end > 3 && memcmp(end, mark, 3) == 0);
        if (!part || fd_span_size(name) < size
            || memcmp(name.from, label.from, size) != 0) {
            continue;
        }
        name.from += size;
        if (name.from == name.to) {
            return name;
        }
        if (fd_span_size(name) > 3 && memcmp(name.from, mark, 3) == 0) {
            name.from += 3;
            return name;
        }
        name.from -= size;
    }
    return name;
}

void
fd_timeline_ids_title(const fd_timeline_ids *ids, fd_span label, fd_span name,
                      fd_buffer *to)
{
    name = beside_label(name, label);
    fd_buffer_bytes(to, label.from, fd_span_size(label));
    fd_buffer_text(to, ids->program[0] != '\0' ? " | " : "");
    fd_buffer_text(to, ids->program);
    bool labelled = fd_span_size(label) > 0 || ids->program[0] != '\0';
    fd_buffer_text(to, labelled && fd_span_size(name) > 0 ? " | " : "");
    fd_buffer_bytes(to, name.from, fd_span_size(name));
}

uint32_t
fd_timeline_ids_sort_index(const fd_timeline_ids *ids, uint32_t index)
{
    index += ids->first;
    index = index < FD_TIMELINE_PIDS ? index : FD_TIMELINE_PIDS - 1;
    return ids->rank * FD_TIMELINE_PIDS + index;
}

static void
process_rows(const fd_timeline_ids *ids, uint32_t process, uint32_t index,
             fd_span label, fd_buffer *rows)
{
    const fd_timeline_process *p = &ids->processes.list[process];
    fd_span name = fd_text_pool_span(&ids->names, p->name);
    begin_row(rows, "process_name", p->pid, 0);
    fd_buffer_text(rows, "\"name\":\"");
    fd_timeline_ids_title(ids, label, name, rows);
    fd_buffer_text(rows, "\"}}");
    begin_row(rows, "process_sort_index", p->pid, 0);
    fd_buffer_format(rows, "\"sort_index\":%u}}",
                     (unsigned)fd_timeline_ids_sort_index(ids, index));
}

fd_status
fd_timeline_ids_order(const fd_timeline_ids *ids, fd_timeline_order *order)
{
    order->count = 0;
    for (uint32_t i = 0; i < ids->processes.count; i++) {
        const fd_timeline_process *p = &ids->processes.list[i];
        int64_t index = p->sorted ? p->sort_index : INT64_MAX;
        if (p->pid != 0
            && fd_vector_push(order, (fd_timeline_sorted){index, i})
                   != FD_OK) {
            return FD_ENOMEM;
        }
    }
    fd_vector_sort(order, by_sort_index);
    return FD_OK;
}

static void
thread_rows(const fd_timeline_ids *ids, fd_buffer *rows)
{
    for (uint32_t i = 0; i < ids->threads.count; i++) {
        const fd_timeline_thread *thread = &ids->threads.list[i];
        if (!thread->named && thread->was != 0) {
            begin_row(rows, "thread_name", thread->pid, thread->tid);
            fd_buffer_text(rows, "\"name\":\"");
            fd_buffer_bytes(rows, fd_text_pool_get(&ids->names, thread->was),
                            fd_text_pool_size(&ids->names, thread->was));
            fd_buffer_text(rows, "\"}}");
        }
    }
}

fd_status
fd_timeline_ids_rows(fd_timeline_ids *ids, fd_buffer *rows)
{
    fd_timeline_order order = {NULL, 0, 0};
    fd_buffer label = {.bytes = NULL};
    fd_buffer_json(&label, ids->label, strlen(ids->label));
    fd_status status = label.status;
    fd_then(status, fd_timeline_ids_order(ids, &order));
    for (uint32_t i = 0; i < order.count && status == FD_OK; i++) {
        process_rows(ids, order.list[i].process, i,
                     (fd_span){label.bytes + 1, label.bytes + label.size - 1},
                     rows);
    }
    fd_buffer_clear(&label);
    fd_vector_clear(&order);
    thread_rows(ids, rows);
    return fd_then(status, rows->status);
}
