#include "events/stats/message_table.h"

#include "base/budget.h"

/* Number of outer ranges examined when searching the range around a launch. */
enum { MOST_AROUND = 64 };

void
fd_messages_clear(fd_messages *messages)
{
    for (uint32_t i = 0; i < messages->rows.count; i++) {
        fd_digest_clear(&messages->rows.list[i].rate);
    }
    fd_vector_clear(&messages->list);
    fd_vector_clear(&messages->rows);
}

fd_status
fd_messages_add(fd_messages *messages, const fd_message_slice *transfer)
{
    if (messages->list.count >= fd_budget(FD_MESSAGES)) {
        messages->left_out++;
        return FD_OK;
    }
    return fd_vector_push(&messages->list, *transfer);
}

static int
by_place(const void *left, const void *right)
{
    const fd_message_slice *a = left;
    const fd_message_slice *b = right;
    int order = FD_ORDER(a->rank, b->rank);
    order = order != 0 ? order : FD_ORDER(a->level, b->level);
    order = order != 0 ? order : FD_ORDER(a->thread, b->thread);
    order = order != 0 ? order : FD_ORDER(a->start, b->start);
    return order != 0 ? order : FD_ORDER(b->end, a->end);
}

/* Return the innermost range that was open on a thread at the time of a
 * launch. `list`: the ranges of one rank and one level. */
static fd_message_slice *
range_around(fd_message_slice *list, uint32_t count,
             const fd_gpu_launch *launch)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const fd_message_slice *at = &list[middle];
        if (at->thread < launch->thread
            || (at->thread == launch->thread && at->start <= launch->start)) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    for (uint32_t i = 0; i < MOST_AROUND && low > 0; i++) {
        fd_message_slice *at = &list[--low];
        if (at->thread != launch->thread) {
            break;
        }
        if (at->end >= launch->end
            && at->message.operation != FD_OPERATION_NONE) {
            return at;
        }
    }
    return NULL;
}

/* Find or add a row. Return NULL after a failed allocation. */
static fd_message_row *
find_row(fd_messages *messages, const fd_message_slice *of)
{
    for (uint32_t i = 0; i < messages->rows.count; i++) {
        fd_message_row *row = &messages->rows.list[i];
        if (row->operation == of->message.operation
            && row->members == of->message.members
            && row->group == of->group) {
            return row;
        }
    }
    fd_message_row made = {.operation = of->message.operation,
                           .members = of->message.members,
                           .group = of->group};
    return fd_vector_push(&messages->rows, made) == FD_OK
             ? &messages->rows.list[messages->rows.count - 1]
             : NULL;
}

/* Add a transfer. `time` is its duration, or 0 if unknown. */
static fd_status
add_transfer(fd_messages *messages, const fd_message_slice *of, uint64_t time)
{
    if (of->message.operation == FD_OPERATION_NONE) {
        return FD_OK;
    }
    fd_message_row *row = find_row(messages, of);
    if (row == NULL) {
        return FD_ENOMEM;
    }
    row->count++;
    row->unsized += !of->message.sized;
    if (!of->message.sized) {
        return FD_OK;
    }
    row->bytes += of->message.bytes;
    if (time == 0) {
        return FD_OK;
    }
    row->timed++;
    row->timed_bytes += of->message.bytes;
    row->time += time;
    return fd_digest_add(&row->rate,
                         fd_bytes_per_second(of->message.bytes, time));
}

static uint64_t
own_time(const fd_message_slice *of)
{
    return of->launches ? of->kernel : (uint64_t)(of->end - of->start);
}

/* Add the kernels of a rank. The time of a kernel of unknown size is added to
 * the range around its launch. Ranges without kernels are counted only if no
 * kernel has a known size. */
static fd_status
add_kernels(fd_messages *messages, const fd_stream_table *streams,
            fd_message_slice *list, uint32_t kernels, uint32_t ranges)
{
    bool any_sized = false;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < kernels && status == FD_OK; i++) {
        const fd_message_slice *at = &list[i];
        const fd_gpu_launch *launch =
            fd_stream_table_find(streams, at->rank, at->correlation);
        fd_message_slice *range =
            launch != NULL && !at->message.sized
                ? range_around(list + kernels, ranges, launch)
                : NULL;
        any_sized = any_sized || at->message.sized;
        if (range != NULL) {
            range->kernel += own_time(at);
        }
        else {
            status = add_transfer(messages, at, own_time(at));
        }
    }
    for (uint32_t i = kernels; i < kernels + ranges && status == FD_OK; i++) {
        if (list[i].kernel > 0 || (!any_sized && list[i].message.sized)) {
            status = add_transfer(messages, &list[i], own_time(&list[i]));
        }
    }
    return status;
}

/* Add the transfers of one rank, sorted by level. */
static fd_status
add_rank(fd_messages *messages, const fd_stream_table *streams,
         fd_message_slice *list, uint32_t count)
{
    uint32_t of[FD_MESSAGE_LEVELS] = {0};
    bool sized[FD_MESSAGE_LEVELS] = {false};
    for (uint32_t i = 0; i < count; i++) {
        of[list[i].level]++;
        sized[list[i].level] |= list[i].message.sized;
    }
    if (of[FD_MESSAGE_KERNEL] > 0) {
        return add_kernels(messages, streams, list, of[FD_MESSAGE_KERNEL],
                           of[FD_MESSAGE_BACKEND]);
    }
    bool calls = of[FD_MESSAGE_BACKEND] == 0
              || (!sized[FD_MESSAGE_BACKEND] && sized[FD_MESSAGE_CALL]);
    uint32_t from = calls ? of[FD_MESSAGE_BACKEND] : 0;
    uint32_t to = calls ? count : of[FD_MESSAGE_BACKEND];
    fd_status status = FD_OK;
    for (uint32_t i = from; i < to && status == FD_OK; i++) {
        status = add_transfer(messages, &list[i], own_time(&list[i]));
    }
    return status;
}

fd_status
fd_messages_finish(fd_messages *messages, const fd_stream_table *streams)
{
    fd_message_slice *list = messages->list.list;
    uint32_t count = messages->list.count;
    fd_status status = FD_OK;
    fd_vector_sort(&messages->list, by_place);
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        for (next = i; next < count && list[next].rank == list[i].rank;) {
            next++;
        }
        status = add_rank(messages, streams, &list[i], next - i);
    }
    fd_vector_clear(&messages->list);
    return status;
}
