#include "events/tools/stray_times.h"

#include "base/sums.h"
#include "base/vector.h"

#include <stdlib.h>

enum { MOST_STRAYS = 32 };

static const int64_t SECOND = 1000000000;

FD_ORDER_BY(by_time, fd_time_cluster, from, to)

/* Join a cluster to an earlier one. */
static void
join_cluster(fd_time_cluster *to, const fd_time_cluster *from)
{
    for (uint64_t i = to->count, k = 0;
         i < FD_TIME_POSITIONS && k < from->count; i++, k++) {
        to->first[i] = from->first[k];
    }
    to->to = from->to > to->to ? from->to : to->to;
    to->count += from->count;
}

/* Sort the clusters and join those with a pause of at most `pause`. */
static void
settle_clusters(fd_stray_times *times, int64_t pause)
{
    fd_time_cluster *list = times->list;
    uint32_t kept = 0;
    qsort(list, times->used, sizeof *list, by_time);
    for (uint32_t i = 0; i < times->used; i++) {
        if (kept > 0 && fd_minus(list[i].from, list[kept - 1].to) <= pause) {
            join_cluster(&list[kept - 1], &list[i]);
        }
        else {
            list[kept++] = list[i];
        }
    }
    times->used = kept;
    times->last = 0;
}

static bool
is_near(const fd_time_cluster *cluster, int64_t start, int64_t end)
{
    return start >= fd_minus(cluster->from, SECOND)
        && end <= fd_plus(cluster->to, SECOND);
}

static fd_time_cluster *
cluster_of(fd_stray_times *times, int64_t start, int64_t end)
{
    for (uint32_t i = 0; i < times->used; i++) {
        if (is_near(&times->list[i], start, end)) {
            times->last = i;
            return &times->list[i];
        }
    }
    if (times->used == FD_TIME_CLUSTERS) {
        int64_t pause = SECOND;
        for (; times->used > FD_TIME_CLUSTERS / 2;
             pause = fd_plus(pause, pause)) {
            settle_clusters(times, pause);
        }
    }
    times->last = times->used++;
    times->list[times->last] = (fd_time_cluster){.from = start, .to = end};
    return &times->list[times->last];
}

void
fd_stray_times_add(fd_stray_times *times, int64_t start, int64_t end,
                   fd_event_place position)
{
    fd_time_cluster *of = &times->list[times->last];
    if (times->used == 0 || !is_near(of, start, end)) {
        of = cluster_of(times, start, end);
    }
    of->from = start < of->from ? start : of->from;
    of->to = end > of->to ? end : of->to;
    if (of->count < FD_TIME_POSITIONS) {
        of->first[of->count] = position;
    }
    of->count++;
    times->count++;
}

/* Return whether a gap without events is too long for a pause of a program
 * whose other events take `span`. */
static bool
is_far(int64_t gap, int64_t span)
{
    return gap > span
        && (gap >= 1000 * SECOND || (gap >= SECOND && gap / 100 >= span));
}

static bool
are_strays(const fd_stray_times *times, uint32_t early, uint32_t late)
{
    const fd_time_cluster *list = times->list;
    uint32_t last = times->used - late - 1;
    uint64_t count = 0;
    for (uint32_t i = 0; i < times->used; i++) {
        count += i < early || i > last ? list[i].count : 0;
    }
    int64_t span = fd_minus(list[last].to, list[early].from);
    uint64_t most =
        times->count / 8 < MOST_STRAYS ? times->count / 8 : MOST_STRAYS;
    most = most == 0 && times->count >= 4 ? 1 : most;
    return count <= most
        && (early == 0
            || is_far(fd_minus(list[early].from, list[early - 1].to), span))
        && (late == 0
            || is_far(fd_minus(list[last + 1].from, list[last].to), span));
}

bool
fd_stray_times_find(fd_stray_times *times, uint32_t *early, uint32_t *late)
{
    *early = *late = 0;
    settle_clusters(times, SECOND);
    for (uint32_t i = 0; i < times->used; i++) {
        for (uint32_t j = 0; i + j < times->used; j++) {
            if (i + j > *early + *late && are_strays(times, i, j)) {
                *early = i;
                *late = j;
            }
        }
    }
    return *early + *late > 0;
}
