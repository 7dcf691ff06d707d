#include "events/alignment/sync_events.h"

#include "base/budget.h"
#include "base/collective_names.h"
#include "base/hash.h"

#include <string.h>

enum { INPUT_PEER = 2, INPUT_TAG = 3 };

static uint64_t
hash_of(uint64_t seed, fd_span text)
{
    return text.from == NULL
             ? seed
             : fd_hash_next(seed,
                            fd_hash_bytes(text.from, fd_span_size(text)));
}

/* Return element `index` of an array. */
static fd_span
array_element(fd_span array, uint32_t index)
{
    fd_span none = {NULL, NULL};
    fd_span value = none;
    fd_scan scan = {.forgets = true};
    if (array.from == NULL) {
        return none;
    }
    fd_scan_begin(&scan, array.from, array.to);
    fd_scan_result result = fd_scan_mark(&scan, '[');
    for (uint32_t i = 0; i <= index && result == FD_SCAN_OK; i++) {
        result = i > 0 ? fd_scan_mark(&scan, ',') : result;
        fd_scan_space(&scan);
        value.from = scan.at;
        result = result == FD_SCAN_OK ? fd_scan_value(&scan) : result;
        value.to = scan.at;
    }
    fd_scan_clear(&scan);
    return result == FD_SCAN_OK ? fd_span_inside(value) : none;
}

/* Return whether no rank can end the collective before all ranks have begun
 * it. This does not hold for broadcasts and reductions. */
static bool
waits_for_all(fd_operation operation)
{
    return operation == FD_ALL_REDUCE || operation == FD_ALL_GATHER
        || operation == FD_REDUCE_SCATTER
        || operation == FD_REDUCE_SCATTER_BLOCK || operation == FD_ALL_TO_ALL
        || operation == FD_BARRIER;
}

/* Return the kind of a collective, or 0. On a GPU the kernel is used, not the
 * call or range that launched it. */
static uint64_t
kind_of(const fd_timeline_event *event, fd_span name)
{
    bool gloo = fd_span_begins(name, "gloo:");
    if (!gloo && !fd_span_begins(name, "ncclDev")
        && !fd_span_begins(name, "ncclKernel")) {
        return 0;
    }
    fd_operation what = fd_operation_of(name.from, fd_span_size(name));
    if (!waits_for_all(what)) {
        return 0;
    }
    uint64_t kind = fd_hash_word(what);
    kind =
        hash_of(kind, fd_timeline_argument_text(event, "Process Group Name"));
    kind = hash_of(kind, fd_timeline_argument_text(
                             event, gloo ? "Input Dims" : "In msg nelems"));
    return kind != 0 ? kind : 1;
}

static fd_timeline_part
make_part(uint64_t kind, const fd_timeline_event *event, int64_t begin)
{
    fd_timeline_part part = {.kind = kind, .begin = begin};
    fd_span order = fd_timeline_argument_text(event, "Seq");
    part.exact = order.from != NULL && fd_span_u64(order, &part.order);
    return part;
}

static fd_status
add_part(fd_timeline_sync *sync, fd_timeline_part part, int64_t end)
{
    part.end = end;
    return end >= part.begin
                && sync->parts.count < fd_budget(FD_TIMELINE_MOST_PARTS)
             ? fd_vector_push(&sync->parts, part)
             : FD_OK;
}

static bool
is_async(const fd_timeline_event *event)
{
    return event->phase == 'b' || event->phase == 'e';
}

/* Return a key that is equal for the start and the end of a slice. */
static uint64_t
key_of(const fd_timeline_event *event, fd_span name)
{
    uint64_t key = hash_of((uint64_t)is_async(event), event->pid);
    key = hash_of(key, is_async(event) ? fd_timeline_id(event) : event->tid);
    return is_async(event) ? hash_of(key, name) : key;
}

static bool
take_peer(fd_timeline_message *message, fd_span peer, fd_span tag)
{
    uint64_t rank;
    if (peer.from == NULL || !fd_span_u64(peer, &rank)
        || rank >= FD_TIMELINE_RANKS) {
        return false;
    }
    message->peer = (uint32_t)rank;
    message->tag = hash_of(1, tag);
    return true;
}

/* Describe a send or receive of PyTorch. The peer is in the arguments of the
 * operator; the arrival of a message is the end of the range of the back end
 * inside it. */
static void
describe_operator(fd_timeline_sync *sync, const fd_timeline_event *event,
                  fd_span name, fd_sync_slice *slice)
{
    fd_timeline_message *message = &slice->message;
    sync->receiving = false;
    message->received = fd_span_begins(name, "c10d::recv_");
    if (!message->received && !fd_span_is(name, "c10d::send")) {
        return;
    }
    fd_span inputs = fd_timeline_argument_text(event, "Concrete Inputs");
    if (inputs.from == NULL) { /* without recorded shapes */
        message->peer = FD_TIMELINE_NO_PEER;
    }
    else if (!take_peer(message, array_element(inputs, INPUT_PEER),
                        array_element(inputs, INPUT_TAG))) {
        return;
    }
    slice->what = message->received ? FD_SYNC_RECEIVING : FD_SYNC_MESSAGE;
    if (message->received) {
        sync->receiving = true;
        sync->pending = *message;
        sync->pending_end = INT64_MAX;
    }
}

static void
describe_received(fd_timeline_sync *sync, fd_sync_slice *slice)
{
    int64_t begin = slice->message.time;
    if (sync->receiving && begin >= sync->pending.time
        && begin <= sync->pending_end) {
        slice->what = FD_SYNC_MESSAGE;
        slice->message = sync->pending;
    }
    sync->receiving = false;
}

/* Describe a slice whose name starts with send or recv and whose arguments
 * name its peer. */
static void
describe_named(const fd_timeline_event *event, fd_span name,
               fd_sync_slice *slice)
{
    slice->message.received = fd_span_begins(name, "rec");
    if (!slice->message.received && !fd_span_begins(name, "send")) {
        return;
    }
    fd_span tag = fd_timeline_argument_text(event, "tag");
    tag = tag.from != NULL ? tag
                           : fd_timeline_argument_text(event, "micro_batch");
    if (take_peer(&slice->message, fd_timeline_argument_text(event, "peer"),
                  tag)) {
        slice->what = FD_SYNC_MESSAGE;
    }
}

/* Describe a send or receive kernel of NCCL: PyTorch adds the peer to its
 * arguments. */
static void
describe_kernel(const fd_timeline_event *event, fd_span name,
                fd_sync_slice *slice)
{
    static const fd_span no_tag = {NULL, NULL};
    if (!fd_span_begins(name, "ncclDev")
        && !fd_span_begins(name, "ncclKernel")) {
        return;
    }
    fd_span peer = fd_timeline_argument_text(event, "Dst Rank");
    slice->message.received = peer.from == NULL;
    if (slice->message.received) {
        peer = fd_timeline_argument_text(event, "Src Rank");
    }
    if (take_peer(&slice->message, peer, no_tag)) {
        slice->what = FD_SYNC_MESSAGE;
    }
}

static fd_sync_slice
describe_slice(fd_timeline_sync *sync, const fd_timeline_event *event,
               fd_span name, int64_t begin)
{
    fd_sync_slice slice = {.what = FD_SYNC_NONE, .message = {.time = begin}};
    uint64_t kind = kind_of(event, name);
    if (fd_span_begins(name, "c10d::")) {
        describe_operator(sync, event, name, &slice);
    }
    else if (fd_span_is(name, "gloo:recv")) {
        describe_received(sync, &slice);
    }
    else if (kind != 0) {
        slice.what = FD_SYNC_PART;
        slice.part = make_part(kind, event, begin);
    }
    else if (fd_span_begins(name, "nccl")) {
        describe_kernel(event, name, &slice);
    }
    else {
        describe_named(event, name, &slice);
    }
    return slice;
}

static fd_status
finish_slice(fd_timeline_sync *sync, const fd_sync_slice *slice, int64_t end)
{
    fd_timeline_message message = slice->message;
    switch (slice->what) {
    case FD_SYNC_NONE:
        break;
    case FD_SYNC_PART:
        return add_part(sync, slice->part, end);
    case FD_SYNC_RECEIVING:
        sync->pending_end = end;
        break;
    case FD_SYNC_MESSAGE:
        if (end < message.time) {
            break;
        }
        message.time = message.received ? end : message.time;
        if (sync->messages.count < fd_budget(FD_TIMELINE_MOST_PARTS)) {
            return fd_vector_push(&sync->messages, message);
        }
    }
    return FD_OK;
}

/* Return the innermost open slice with this key, or NULL. */
static fd_timeline_begun *
find_begun(fd_timeline_sync *sync, uint64_t key)
{
    for (uint32_t i = sync->begun_count; i > 0; i--) {
        if (sync->begun[i - 1].key == key) {
            return &sync->begun[i - 1];
        }
    }
    return NULL;
}

static void
take_begin(fd_timeline_sync *sync, const fd_timeline_event *event,
           fd_span name, int64_t ts)
{
    uint64_t key = key_of(event, name);
    fd_timeline_begun *around = find_begun(sync, key);
    fd_sync_slice slice = describe_slice(sync, event, name, ts);
    if (around != NULL && is_async(event)) {
        around->slice = slice; /* the open slice has no end */
    }
    else if (slice.what != FD_SYNC_NONE
             && sync->begun_count < FD_TIMELINE_SYNC_OPEN) {
        sync->begun[sync->begun_count++] = (fd_timeline_begun){key, 0, slice};
    }
    else if (around != NULL) {
        around->inner++;
    }
}

static fd_status
take_end(fd_timeline_sync *sync, const fd_timeline_event *event, fd_span name,
         int64_t ts)
{
    fd_timeline_begun *begun = find_begun(sync, key_of(event, name));
    if (begun == NULL || begun->inner > 0) {
        if (begun != NULL) {
            begun->inner--;
        }
        return FD_OK;
    }
    const fd_sync_slice slice = begun->slice;
    const fd_timeline_begun *last = &sync->begun[--sync->begun_count];
    memmove(begun, begun + 1, (size_t)(last - begun) * sizeof *begun);
    return finish_slice(sync, &slice, ts);
}

/* Return false for events that are certainly irrelevant, by a few bytes of
 * their name. */
static bool
may_matter(const fd_timeline_sync *sync, const fd_timeline_event *event,
           fd_span name)
{
    bool may_end = sync->begun_count > 0 && event->phase != 0
                && strchr("BE", event->phase) != NULL;
    return event->phase != 0 && strchr("XbeBE", event->phase) != NULL
        && event->has_start
        && (may_end || fd_span_begins(name, "gloo:")
            || fd_span_begins(name, "nccl") || fd_span_begins(name, "c10d::")
            || fd_span_begins(name, "send") || fd_span_begins(name, "rec"));
}

fd_status
fd_timeline_sync_event(fd_timeline_sync *sync, const fd_timeline_event *event)
{
    int64_t ts = event->start;
    fd_span name = event->name.from != NULL ? fd_span_inside(event->name)
                                            : (fd_span){"", ""};
    if (!may_matter(sync, event, name)) {
        return FD_OK;
    }
    if (event->phase == 'e' || event->phase == 'E') {
        return take_end(sync, event, name, ts);
    }
    if (event->phase != 'X') {
        take_begin(sync, event, name, ts);
        return FD_OK;
    }
    int64_t end;
    if (!fd_timeline_interval(event, &ts, &end)) {
        return FD_OK;
    }
    const fd_sync_slice slice = describe_slice(sync, event, name, ts);
    return finish_slice(sync, &slice, end);
}

fd_status
fd_timeline_sync_slice(fd_timeline_sync *sync, fd_span name, int64_t begin,
                       int64_t end)
{
    const fd_timeline_event event = {.args = {NULL, NULL}};
    uint64_t kind = kind_of(&event, name);
    return kind != 0 ? add_part(sync, make_part(kind, &event, begin), end)
                     : FD_OK;
}

void
fd_timeline_sync_clear(fd_timeline_sync *sync)
{
    fd_vector_clear(&sync->parts);
    fd_vector_clear(&sync->messages);
}
