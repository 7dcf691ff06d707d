#include "events/stats/stream_table.h"

#include "base/budget.h"

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

FD_ORDER_BY(by_correlation, fd_gpu_launch, rank, correlation, start)

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

/* Return the first launch of an activity, or NULL. The launches must be
 * sorted. */
static const fd_gpu_launch *
launch_of(const fd_stream_table *streams, const fd_gpu_activity *activity)
{
    const fd_gpu_launch key = {.correlation = activity->correlation,
                               .start = INT64_MIN,
                               .rank = activity->rank};
    uint32_t low = 0;
    uint32_t high = streams->launches.count;
    FD_BISECT(low, high,
              by_correlation(&streams->launches.list[middle], &key) < 0);
    const fd_gpu_launch *found =
        low < streams->launches.count ? &streams->launches.list[low] : NULL;
    return key.correlation != 0 && found != NULL && found->rank == key.rank
                && found->correlation == key.correlation
             ? found
             : NULL;
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

static fd_status
add_delay(fd_gpu_delays *row, const fd_gpu_activity *at,
          const fd_gpu_launch *launch)
{
    uint64_t call = (uint64_t)(launch->end - launch->start);
    uint64_t delay =
        at->start > launch->end ? (uint64_t)(at->start - launch->end) : 0;
    fd_status status = fd_digest_add(&row->delay, delay);
    return fd_then(status, fd_digest_add(&row->call, call));
}

/* Find or add the row of a rank; ranks ascend. Return NULL after a failed
 * allocation. */
static fd_gpu_delays *
delays_of(fd_stream_table *streams, uint32_t rank)
{
    uint32_t count = streams->delays.count;
    bool known = count > 0 && streams->delays.list[count - 1].rank == rank;
    fd_gpu_delays added = {.rank = rank};
    return known || fd_vector_push(&streams->delays, added) == FD_OK
             ? &streams->delays.list[streams->delays.count - 1]
             : NULL;
}

static fd_status
measure_stream(fd_stream_table *streams, const fd_gpu_activity *list,
               uint32_t count, fd_gpu_delays *delays)
{
    fd_stream_row row = {.rank = list->rank,
                         .device = list->device,
                         .stream = list->stream,
                         .count = count,
                         .first = list->start,
                         .last = list->start};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        const fd_gpu_activity *at = &list[i];
        const fd_gpu_launch *launch = launch_of(streams, at);
        if (i > 0 && at->start > row.last) {
            add_gap(&row, at, launch, row.last);
        }
        int64_t from = at->start > row.last ? at->start : row.last;
        row.busy += at->end > from ? at->end - from : 0;
        row.last = at->end > row.last ? at->end : row.last;
        row.launched += launch != NULL;
        status = launch != NULL ? add_delay(delays, at, launch) : FD_OK;
    }
    return fd_then(status, fd_vector_push(&streams->rows, row));
}

fd_status
fd_stream_table_finish(fd_stream_table *streams)
{
    const fd_gpu_activity *list = streams->activities.list;
    uint32_t count = streams->activities.count;
    fd_status status = FD_OK;
    fd_vector_sort(&streams->launches, by_correlation);
    fd_vector_sort(&streams->activities, by_time);
    for (uint32_t i = 0, next; i < count && status == FD_OK; i = next) {
        for (next = i;
             next < count && by_stream(&list[i], &list[next]) == 0;) {
            next++;
        }
        fd_gpu_delays *delays = delays_of(streams, list[i].rank);
        status = delays == NULL
                   ? FD_ENOMEM
                   : measure_stream(streams, &list[i], next - i, delays);
    }
    fd_vector_clear(&streams->launches);
    fd_vector_clear(&streams->activities);
    return status;
}
