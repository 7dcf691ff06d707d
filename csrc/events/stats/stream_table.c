#include "events/stats/stream_table.h"

#include "base/budget.h"

#include <string.h>

enum {
    MOST_NESTED = 8, /* calls within a launch, with its id */
    MOST_PROCESSES = 64
};

/* Processes of a rank, sorted; `full`: there are more. */
typedef struct process_list {
    uint32_t list[MOST_PROCESSES];
    uint32_t count;
    bool full;
} process_list;

void
fd_stream_table_clear(fd_stream_table *streams)
{
    for (uint32_t i = 0; i < streams->delays.count; i++) {
        fd_digest_clear(&streams->delays.list[i].delay);
        fd_digest_clear(&streams->delays.list[i].call);
    }
    fd_vector_clear(&streams->launches);
    fd_vector_clear(&streams->activities);
    fd_vector_clear(&streams->rows);
    fd_vector_clear(&streams->delays);
}

fd_status
fd_stream_table_launch(fd_stream_table *streams, const fd_gpu_launch *launch)
{
    if (streams->launches.count >= fd_budget(FD_GPU_EVENTS)) {
        streams->left_out++;
        return FD_OK;
    }
    return fd_vector_push(&streams->launches, *launch);
}

fd_status
fd_stream_table_activity(fd_stream_table *streams,
                         const fd_gpu_activity *activity)
{
    if (streams->activities.count >= fd_budget(FD_GPU_EVENTS)) {
        streams->left_out++;
        return FD_OK;
    }
    return fd_vector_push(&streams->activities, *activity);
}

FD_ORDER_AS(by_correlation, fd_gpu_launch, FD_UP(rank), FD_UP(group),
            FD_UP(correlation), FD_UP(start))

/* Order by stream, or by thread if the stream is unknown. */
static int
by_stream(const fd_gpu_activity *a, const fd_gpu_activity *b)
{
    int order = FD_ORDER(a->rank, b->rank);
    order = order != 0 ? order : FD_ORDER(a->device, b->device);
    order = order != 0 ? order : FD_ORDER(a->stream, b->stream);
    return order != 0 || a->stream != FD_NO_STREAM
             ? order
             : FD_ORDER(a->thread, b->thread);
}

FD_ORDER_AS(by_time, fd_gpu_activity, by_stream(one, other), FD_UP(start),
            FD_UP(end))

static bool
has_same_id(const fd_gpu_launch *a, const fd_gpu_launch *b)
{
    return a->rank == b->rank && a->group == b->group
        && a->correlation == b->correlation;
}

/* Return whether two launches with the same id are two calls, and not a call
 * of the driver within one of the runtime. */
static bool
are_apart(const fd_gpu_launch *a, const fd_gpu_launch *b)
{
    return a->thread != b->thread || b->start >= a->end;
}

/* Return the launch of an activity, or NULL. If programs joined traces without
 * making ids unique, it is the last one before the activity. The launches must
 * be sorted. */
static fd_gpu_launch *
launch_of(fd_stream_table *streams, const fd_gpu_activity *activity)
{
    const fd_gpu_launch key = {.correlation = activity->correlation,
                               .start = activity->start,
                               .rank = activity->rank,
                               .group = activity->group};
    fd_gpu_launch *list = streams->launches.list;
    uint32_t count = streams->launches.count;
    uint32_t low = 0;
    uint32_t high = count;
    FD_BISECT(low, high, by_correlation(&list[middle], &key) <= 0);
    if (low > 0 && has_same_id(&list[low - 1], &key)) {
        low--;
    }
    else if (low == count || !has_same_id(&list[low], &key)) {
        return NULL;
    }
    for (int i = 0;
         i < MOST_NESTED && low > 0 && has_same_id(&list[low - 1], &key)
         && !are_apart(&list[low - 1], &list[low]);
         i++) {
        low--;
    }
    /* Programs write 0 for an unknown id, and also as the first id. */
    bool one = (low == 0 || !has_same_id(&list[low - 1], &key))
            && (low + 1 >= count || !has_same_id(&list[low + 1], &key)
                || !are_apart(&list[low], &list[low + 1]));
    return key.correlation != 0 || one ? &list[low] : NULL;
}

/* Add the gap between work that ended at `end` and an activity. */
static void
add_gap(fd_stream_row *row, const fd_gpu_activity *at,
        const fd_gpu_launch *launch, int64_t end)
{
    int64_t gap = at->start - end;
    int64_t *to = launch != NULL && launch->start > end ? &row->host_wait
                : gap < FD_GPU_KERNEL_WAIT              ? &row->kernel_wait
                                                        : &row->other;
    *to += gap;
}

/* Find or add the row of a rank, mostly that of the previous call. Return NULL
 * after a failed allocation. */
static fd_gpu_delays *
delays_of(fd_stream_table *streams, uint32_t rank)
{
    fd_gpu_delays added = {.rank = rank};
    uint32_t *last = &streams->last;
    if (*last >= streams->delays.count
        || streams->delays.list[*last].rank != rank) {
        *last = 0;
        while (*last < streams->delays.count
               && streams->delays.list[*last].rank != rank) {
            (*last)++;
        }
    }
    return *last < streams->delays.count
                || fd_vector_push(&streams->delays, added) == FD_OK
             ? &streams->delays.list[*last]
             : NULL;
}

/* Add a process to a sorted list. */
static void
list_process(process_list *to, uint32_t process)
{
    uint32_t at = to->count;
    while (at > 0 && to->list[at - 1] >= process) {
        at--;
    }
    if (to->count == MOST_PROCESSES
        || (at < to->count && to->list[at] == process)) {
        to->full = to->full || to->count == MOST_PROCESSES;
        return;
    }
    memmove(&to->list[at + 1], &to->list[at],
            (to->count++ - at) * sizeof *to->list);
    to->list[at] = process;
}

static uint32_t
index_of(const process_list *of, uint32_t process)
{
    uint32_t i = 0;
    while (i < of->count && of->list[i] != process) {
        i++;
    }
    return i;
}

/* Pair the processes that launch with those of GPUs, in the order in which they
 * appear, if a rank has as many of both. Launches and activities are sorted by
 * rank. */
static void
pair_processes(fd_stream_table *streams, uint32_t rank)
{
    process_list hosts = {.count = 0};
    process_list gpus = {.count = 0};
    fd_gpu_launch *launches = streams->launches.list;
    fd_gpu_activity *work = streams->activities.list;
    uint32_t from[2] = {0, 0};
    uint32_t to[2] = {streams->launches.count, streams->activities.count};
    FD_BISECT(from[0], to[0], launches[middle].rank < rank);
    FD_BISECT(from[1], to[1], work[middle].rank < rank);
    for (; to[0] < streams->launches.count && launches[to[0]].rank == rank;
         to[0]++) {
        list_process(&hosts, launches[to[0]].process);
    }
    for (; to[1] < streams->activities.count && work[to[1]].rank == rank;
         to[1]++) {
        list_process(&gpus, work[to[1]].process);
    }
    if (hosts.count != gpus.count || hosts.full || gpus.full) {
        return;
    }
    for (uint32_t i = from[0]; i < to[0]; i++) {
        launches[i].group = index_of(&hosts, launches[i].process);
    }
    for (uint32_t i = from[1]; i < to[1]; i++) {
        work[i].group = index_of(&gpus, work[i].process);
    }
}

/* Count launches with the id of an earlier one in the rank, and pair processes
 * if there are any. */
static fd_status
find_repeated(fd_stream_table *streams)
{
    const fd_gpu_launch *list = streams->launches.list;
    uint32_t first = streams->delays.count;
    for (uint32_t i = 1; i < streams->launches.count; i++) {
        if (list[i].correlation == 0 || !has_same_id(&list[i - 1], &list[i])
            || !are_apart(&list[i - 1], &list[i])) {
            continue;
        }
        fd_gpu_delays *row = delays_of(streams, list[i].rank);
        if (row == NULL) {
            return FD_ENOMEM;
        }
        row->repeated++;
    }
    for (uint32_t i = first; i < streams->delays.count; i++) {
        pair_processes(streams, streams->delays.list[i].rank);
    }
    if (streams->delays.count > first) {
        fd_vector_sort(&streams->launches, by_correlation);
    }
    return FD_OK;
}

static fd_status
add_delay(fd_stream_table *streams, const fd_gpu_launch *launch)
{
    fd_gpu_delays *row = delays_of(streams, launch->rank);
    bool early = launch->first < launch->start;
    if (row == NULL) {
        return FD_ENOMEM;
    }
    uint64_t call = (uint64_t)(launch->end - launch->start);
    uint64_t delay = launch->first > launch->end
                       ? (uint64_t)(launch->first - launch->end)
                       : 0;
    int64_t skew = early ? launch->start - launch->first : 0;
    row->early += early;
    row->skew = skew > row->skew ? skew : row->skew;
    fd_status status = fd_digest_add(&row->delay, delay);
    return fd_then(status, fd_digest_add(&row->call, call));
}

static fd_status
add_delays(fd_stream_table *streams)
{
    const fd_gpu_launch *list = streams->launches.list;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < streams->launches.count && status == FD_OK; i++) {
        status = list[i].started ? add_delay(streams, &list[i]) : FD_OK;
    }
    return status;
}

/* Note the start of the first work of a launch. */
static void
note_start(fd_gpu_launch *launch, int64_t start)
{
    launch->first =
        launch->started && launch->first < start ? launch->first : start;
    launch->started = true;
}

static fd_status
measure_stream(fd_stream_table *streams, const fd_gpu_activity *list,
               uint32_t count, fd_launch_pair *take, void *context)
{
    fd_stream_row row = {.rank = list->rank,
                         .device = list->device,
                         .stream = list->stream,
                         .count = count,
                         .first = list->start,
                         .last = list->start};
    for (uint32_t i = 0; i < count; i++) {
        const fd_gpu_activity *at = &list[i];
        fd_gpu_launch *launch = launch_of(streams, at);
        if (i > 0 && at->start > row.last) {
            add_gap(&row, at, launch, row.last);
        }
        int64_t from = at->start > row.last ? at->start : row.last;
        row.busy += at->end > from ? at->end - from : 0;
        row.last = at->end > row.last ? at->end : row.last;
        if (launch != NULL) {
            row.launched++;
            note_start(launch, at->start);
            if (take != NULL) {
                take(context, launch, at);
            }
        }
    }
    return fd_vector_push(&streams->rows, row);
}

fd_status
fd_stream_table_finish(fd_stream_table *streams, fd_launch_pair *take,
                       void *context)
{
    const fd_gpu_activity *list = streams->activities.list;
    uint32_t count = streams->activities.count;
    fd_status status = FD_OK;
    fd_vector_sort(&streams->launches, by_correlation);
    fd_vector_sort(&streams->activities, by_time);
    status = find_repeated(streams);
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        for (next = i;
             next < count && by_stream(&list[i], &list[next]) == 0;) {
            next++;
        }
        status = measure_stream(streams, &list[i], next - i, take, context);
    }
    fd_then(status, add_delays(streams));
    fd_vector_clear(&streams->launches);
    fd_vector_clear(&streams->activities);
    return status;
}
