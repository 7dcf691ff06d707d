#include "et/readers/kineto_reader.h"

#include "et/process_group_table.h"
#include "events/readers/event_reader.h"
#include "events/stats/gpu_facts.h"
#include "json/decimal.h"

#include <stdio.h>
#include <string.h>

/* The arguments of an event that are read. */
typedef enum argument {
    RF_ID,
    EXTERNAL,
    CORRELATION,
    STREAM,
    DEVICE,
    SOURCE,
    RECORD,
    GROUP,
    DTYPE,
    ELEMENTS,
    SEQUENCE,
    ARGUMENTS
} argument;

static const char *const arguments[ARGUMENTS] = {
    [RF_ID] = "Record function id",
    [EXTERNAL] = "External id",
    [CORRELATION] = "correlation",
    [STREAM] = "stream",
    [DEVICE] = "device",
    [SOURCE] = "wait_on_stream",
    [RECORD] = "wait_on_cuda_event_record_corr_id",
    [GROUP] = "Process Group Name",
    [DTYPE] = "dtype",
    [ELEMENTS] = "In msg nelems",
    [SEQUENCE] = "Sequence number"};

static uint64_t
span_number(fd_span value)
{
    uint64_t found;
    bool any = value.from != NULL && fd_decimal_whole(value, &found);
    return any && found != UINT64_MAX ? found : 0;
}

/* Parse a small number. A stream can be -1. */
static int32_t
small_number(fd_span value)
{
    uint64_t found;
    return value.from != NULL && fd_decimal_whole(value, &found)
             ? (int32_t)found
             : -1;
}

/* Return the number of a thread, or a number for its text. */
static uint64_t
thread_of(fd_span value)
{
    uint64_t found;
    if (value.from == NULL) {
        return 1;
    }
    if (fd_span_u64(value, &found) && found < UINT64_C(1) << 60) {
        return found != 0 ? found : UINT64_C(1) << 61;
    }
    return fd_hash_bytes(value.from, fd_span_size(value)) >> 4 | 1;
}

static uint32_t
add_text(fd_et *et, fd_span value)
{
    fd_span inside = fd_span_inside(value);
    return value.from == NULL ? 0
         : memchr(inside.from, '\\', fd_span_size(inside)) == NULL
             ? fd_et_add_text(et, inside)
             : fd_et_add_json_text(et, inside);
}

static fd_kineto_wait
wait_of(fd_span name)
{
    return fd_span_is(name, "cudaDeviceSynchronize")
                || fd_span_is(name, "hipDeviceSynchronize")
                || fd_span_is(name, "cuCtxSynchronize")
             ? FD_KINETO_DEVICE
         : fd_span_begins(name, "cudaStreamSynchronize")
                   || fd_span_begins(name, "cudaEventSynchronize")
                   || fd_span_begins(name, "hipStreamSynchronize")
                   || fd_span_begins(name, "hipEventSynchronize")
             ? FD_KINETO_STREAM
         : fd_span_is(name, "cudaMemcpy") || fd_span_is(name, "hipMemcpy")
             ? FD_KINETO_COPY
             : FD_KINETO_NO_WAIT;
}

typedef enum kind { OTHER, OP, KERNEL, CALL, SYNC } kind;

/* Return whether a category ends in `_runtime` or `_driver`, as those of calls
 * of GPU runtimes and drivers do. */
static bool
is_runtime(fd_span cat)
{
    static const char *const ends[] = {"_runtime", "_driver"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);
        if (fd_span_size(cat) > size
            && memcmp(cat.to - size, ends[i], size) == 0) {
            return true;
        }
    }
    return fd_span_is(cat, "Runtime") || fd_span_is(cat, "cuda_api");
}

static kind
kind_of(fd_span cat)
{
    static const struct {
        const char *cat;
        kind kind;
    } kinds[] = {
        {"cpu_op", OP},         {"user_annotation", OP},
        {"Operator", OP},       {"operator", OP},
        {"kernel", KERNEL},     {"gpu_memcpy", KERNEL},
        {"gpu_memset", KERNEL}, {"cuda_sync", SYNC},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (fd_span_is(cat, kinds[i].cat)) {
            return kinds[i].kind;
        }
    }
    return is_runtime(cat) ? CALL : OTHER;
}

static void
take_kernel(fd_kineto *k, fd_et *et, const fd_timeline_event *event,
            const fd_span *args, fd_kineto_kernel kernel)
{
    uint64_t elements;
    fd_gpu_facts facts;
    kernel.correlation = span_number(args[CORRELATION]);
    kernel.external = span_number(args[EXTERNAL]);
    fd_gpu_facts_read(event, &facts);
    /* A stream can be a pointer. */
    kernel.stream = facts.stream == FD_NO_STREAM
                      ? small_number(event->tid)
                      : (int32_t)(facts.stream & INT32_MAX);
    kernel.device = facts.device == FD_NO_STREAM ? 0 : (uint8_t)facts.device;
    kernel.elements = args[ELEMENTS].from != NULL
                           && fd_span_u64(args[ELEMENTS], &elements)
                           && elements < INT64_MAX / 64
                        ? (int64_t)elements
                        : -1;
    kernel.name = add_text(et, event->name);
    kernel.category = add_text(et, event->cat);
    kernel.group = add_text(et, args[GROUP]);
    kernel.dtype = add_text(et, args[DTYPE]);
    fd_arena_push(&et->arena, &k->kernels, kernel);
}

/* Note the recorded process and the start time. */
static void
note_process(fd_kineto *k, fd_span pid, const fd_kineto_op *op)
{
    int64_t end = fd_plus(op->start, op->dur);
    bool first = k->ops.count == 0;
    uint64_t found = span_number(pid);
    k->pid = first || found == k->pid ? found : 0;
    k->begin_ns = first || op->start < k->begin_ns ? op->start : k->begin_ns;
    k->end_ns = first || end > k->end_ns ? end : k->end_ns;
}

static void
take_op(fd_kineto *k, fd_et *et, const fd_timeline_event *event,
        const fd_span *args, fd_kineto_op op)
{
    op.rf_id = span_number(args[RF_ID]);
    op.external = span_number(args[EXTERNAL]);
    op.thread = thread_of(event->tid);
    uint64_t seq;
    op.seq = args[SEQUENCE].from != NULL && fd_span_u64(args[SEQUENCE], &seq)
                  && seq <= INT64_MAX
               ? (int64_t)seq
               : -1;
    note_process(k, event->pid, &op);
    op.name = add_text(et, event->name);
    fd_arena_push(&et->arena, &k->ops, op);
}

static void
take_event(fd_kineto *k, fd_et *et, const fd_timeline_event *event)
{
    fd_span cat = event->cat.from == NULL ? (fd_span){"", ""}
                                          : fd_span_inside(event->cat);
    kind of = kind_of(cat);
    int64_t start;
    int64_t dur = 0;
    fd_span args[ARGUMENTS];
    k->events++;
    if (event->phase != 'X' || of == OTHER || event->name.from == NULL) {
        return;
    }
    if (event->ts.from == NULL || !fd_decimal_ns(event->ts, &start)
        || (event->dur.from != NULL && !fd_decimal_ns(event->dur, &dur))
        || dur < 0) {
        k->timeless++;
        return;
    }
    fd_scan_members(event->args, arguments, ARGUMENTS, args);
    switch (of) {
    case OP:
        take_op(k, et, event, args,
                (fd_kineto_op){.start = start, .dur = dur});
        break;
    case KERNEL:
        take_kernel(k, et, event, args,
                    (fd_kineto_kernel){.start = start, .dur = dur});
        break;
    case CALL: {
        fd_kineto_call call = {span_number(args[CORRELATION]),
                               thread_of(event->tid), start, dur,
                               (uint8_t)wait_of(fd_span_inside(event->name))};
        fd_arena_push(&et->arena, &k->calls, call);
        break;
    }
    case SYNC: {
        fd_kineto_sync sync = {
            span_number(args[CORRELATION]), span_number(args[RECORD]),
            small_number(args[STREAM]), small_number(args[SOURCE]),
            (uint8_t)span_number(args[DEVICE])};
        fd_arena_push(&et->arena, &k->syncs, sync);
        break;
    }
    case OTHER:
        break;
    }
}

static void
take_member(fd_kineto *k, fd_et *et, fd_span key, fd_span value)
{
    fd_span found;
    uint64_t size;
    if (fd_span_is(key, "host_name")) {
        et->host = add_text(et, value);
    }
    if (fd_span_is(key, "baseTimeNanoseconds")
        && fd_decimal_whole(value, &size) && size <= INT64_MAX) {
        k->base_ns = (int64_t)size;
    }
    if (!fd_span_is(key, "distributedInfo")) {
        return;
    }
    if (fd_scan_find(value, "rank", &found) && fd_decimal_whole(found, &size)
        && size <= INT32_MAX) {
        et->rank = k->rank = (int64_t)size;
    }
    if (fd_scan_find(value, "world_size", &found)
        && fd_decimal_whole(found, &size) && size <= UINT32_MAX) {
        et->world = (uint32_t)size;
    }
    if (fd_scan_find(value, "pg_config", &found)) {
        fd_et_add_groups(et, found);
    }
}

static void
close_reader(void *reader)
{
    fd_timeline_reader_close(reader);
}

static void
read_file(fd_kineto *k, fd_et *et, const char *path)
{
    fd_arena *arena = &et->arena;
    fd_timeline_reader *reader =
        fd_arena_owned(arena, sizeof *reader, close_reader);
    fd_timeline_item item;
    *k = (fd_kineto){.rank = -1};
    fd_arena_check(arena, fd_timeline_reader_open(reader, path, arena->error));
    while ((item = fd_timeline_reader_next(reader)) != FD_TIMELINE_END) {
        if (item == FD_TIMELINE_EVENT) {
            take_event(k, et, &reader->event);
        }
        else {
            take_member(k, et, reader->key, reader->value);
        }
    }
    fd_arena_check(arena, reader->status);
    k->lost = reader->lost;
    k->lost_bytes = reader->lost_bytes;
    snprintf(k->trouble, sizeof k->trouble, "%s", reader->trouble);
    if (!reader->is_trace) {
        fd_arena_fail(arena, fd_fail(arena->error, FD_EFORMAT,
                                     "%s: no Kineto trace: it has no "
                                     "traceEvents",
                                     path));
    }
    fd_arena_drop(reader);
}

fd_status
fd_kineto_read(fd_kineto *k, fd_et *et, const char *path, fd_error *error)
{
    if (fd_arena_caught(&et->arena, error)) {
        return et->arena.status;
    }
    read_file(k, et, path);
    return fd_arena_left(&et->arena);
}
