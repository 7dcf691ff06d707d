/* The order of collectives and messages of a trace. Every rank numbers and
 * selects them in the same way. */
#include "events/alignment/sync_events.h"

#include "base/budget.h"

/* Maximum of collectives and messages stored for all inputs together, and the
 * minimum per input. */
enum { MOST_MOMENTS = 1 << 20, LEAST_MOMENTS = 128 };

uint32_t
fd_timeline_sync_share(uint32_t count)
{
    uint32_t share = count < 2 ? 0 : (uint32_t)fd_budget(MOST_MOMENTS) / count;
    return count < 2                 ? 0
         : share > FD_TIMELINE_PARTS ? FD_TIMELINE_PARTS
         : share < LEAST_MOMENTS     ? LEAST_MOMENTS
                                     : share;
}

FD_ORDER_BY(by_kind, fd_timeline_part, kind, begin)

FD_ORDER_BY(by_peer, fd_timeline_message, peer, received, tag, time)

static void
number_parts(fd_timeline_sync *sync)
{
    fd_timeline_part *list = sync->parts.list;
    fd_vector_sort(&sync->parts, by_kind);
    for (uint32_t i = 0, next; i < sync->parts.count; i = next) {
        for (next = i;
             next < sync->parts.count && list[next].kind == list[i].kind;
             next++) {
            list[next].order =
                list[next].total > 0 ? next - i : list[next].order;
        }
        for (uint32_t at = i; at < next; at++) {
            list[at].total = list[at].total > 0 ? next - i : 0;
        }
    }
}

static void
number_messages(fd_timeline_sync *sync)
{
    fd_timeline_message *list = sync->messages.list;
    fd_vector_sort(&sync->messages, by_peer);
    for (uint32_t i = 0, next; i < sync->messages.count; i = next) {
        for (next = i;
             next < sync->messages.count && list[next].peer == list[i].peer
             && list[next].received == list[i].received
             && list[next].tag == list[i].tag;
             next++) {
            list[next].order = next - i;
        }
        for (uint32_t at = i; at < next; at++) {
            list[at].total = next - i;
        }
    }
}

/* Return a power of two, so that selections with different strides have
 * entries in common. */
static uint64_t
stride_of(uint32_t count, uint32_t most)
{
    uint64_t stride = 1;
    while (count / stride > most) {
        stride *= 2;
    }
    return stride;
}

/* Free the unused capacity of a list. */
static fd_status
shrink_list(void **list, uint32_t count, uint32_t *capacity, size_t size)
{
    void *smaller = count == 0 ? NULL : fd_realloc(*list, count * size);
    if (count > 0 && smaller == NULL) {
        return FD_ENOMEM;
    }
    if (count == 0) {
        fd_free(*list);
    }
    *list = smaller;
    *capacity = count;
    return FD_OK;
}

/* Set the missing peers of messages if the world has two ranks; otherwise
 * remove these messages. */
static void
name_peers(fd_timeline_sync *sync)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sync->messages.count; i++) {
        fd_timeline_message message = sync->messages.list[i];
        bool unnamed = message.peer == FD_TIMELINE_NO_PEER;
        message.peer = unnamed ? sync->only_peer : message.peer;
        if (!unnamed || sync->has_peer) {
            sync->messages.list[kept++] = message;
        }
    }
    sync->messages.count = kept;
}

fd_status
fd_timeline_sync_settle(fd_timeline_sync *sync, uint32_t most)
{
    uint32_t kept = 0;
    name_peers(sync);
    number_parts(sync);
    number_messages(sync);
    uint64_t stride = stride_of(sync->parts.count, most);
    for (uint32_t i = 0; i < sync->parts.count; i++) {
        if (sync->parts.list[i].order % stride == 0 && kept < most) {
            sync->parts.list[kept++] = sync->parts.list[i];
        }
    }
    sync->parts.count = kept;
    stride = stride_of(sync->messages.count, most);
    kept = 0;
    for (uint32_t i = 0; i < sync->messages.count; i++) {
        if (sync->messages.list[i].order % stride == 0 && kept < most) {
            sync->messages.list[kept++] = sync->messages.list[i];
        }
    }
    sync->messages.count = kept;
    fd_status status =
        shrink_list((void **)&sync->parts.list, sync->parts.count,
                    &sync->parts.capacity, sizeof *sync->parts.list);
    return fd_then(status, shrink_list((void **)&sync->messages.list, kept,
                                       &sync->messages.capacity,
                                       sizeof *sync->messages.list));
}

void
fd_timeline_sync_clear(fd_timeline_sync *sync)
{
    fd_vector_clear(&sync->parts);
    fd_vector_clear(&sync->messages);
    fd_vector_clear(&sync->pings);
}
