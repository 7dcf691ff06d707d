#include "et/readers/kineto_reader.h"

#include "et/process_group_table.h"
#include "events/readers/event_reader.h"
#include "json/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
fd_kineto_clear(fd_kineto *kineto)
{
    fd_vector_clear(&kineto->ops);
    fd_vector_clear(&kineto->kernels);
    fd_vector_clear(&kineto->calls);
    fd_vector_clear(&kineto->syncs);
}

/* The relevant arguments of an event. */
typedef struct event_args {
    fd_span rf_id;
    fd_span external;
    fd_span correlation;
    fd_span stream;
    fd_span device;
    fd_span source;
    fd_span record;
    fd_span group;
    fd_span dtype;
    fd_span elements;
    fd_span seq;
    fd_span values;
    fd_span shapes;
    fd_span types;
    fd_span strides;
} event_args;

static void
read_args(fd_span args, event_args *t)
{
    const struct {
        const char *name;
        fd_span *to;
    } wanted[] = {{"Record function id", &t->rf_id},
                  {"External id", &t->external},
                  {"correlation", &t->correlation},
                  {"stream", &t->stream},
                  {"device", &t->device},
                  {"wait_on_stream", &t->source},
                  {"wait_on_cuda_event_record_corr_id", &t->record},
                  {"Process Group Name", &t->group},
                  {"dtype", &t->dtype},
                  {"In msg nelems", &t->elements},
                  {"Sequence number", &t->seq},
                  {"Concrete Inputs", &t->values},
                  {"Input Dims", &t->shapes},
                  {"Input type", &t->types},
                  {"Input Strides", &t->strides}};
    fd_scan scan = {.at = args.from, .end = args.to, .forgets = true};
    fd_span name;
    *t = (event_args){.rf_id = {NULL, NULL}};
    if (args.from == NULL || fd_scan_mark(&scan, '{') != FD_SCAN_OK) {
        return;
    }
    for (bool first = true; fd_scan_member(&scan, first, &name) == FD_SCAN_OK;
         first = false) {
        const char *from = scan.at;
        if (fd_scan_value(&scan) != FD_SCAN_OK) {
            return;
        }
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (fd_span_is(name, wanted[i].name)) {
                *wanted[i].to = (fd_span){from, scan.at};
            }
        }
    }
}

static uint64_t
number(fd_span value)
{
    uint64_t found;
    bool any = value.from != NULL && fd_span_u64(value, &found);
    return any && found != UINT64_MAX ? found : 0;
}

/* A stream may be -1, or a pointer. */
static int32_t
small(fd_span value)
{
    uint64_t found;
    return value.from != NULL && fd_span_u64(value, &found) ? (int32_t)found
                                                            : -1;
}

/* A thread: its number, else a number for its text. */
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

static fd_status
add_text(fd_et *et, fd_span value, uint32_t *text)
{
    fd_span inside = fd_span_inside(value);
    *text = 0;
    if (value.from == NULL) {
        return FD_OK;
    }
    if (memchr(inside.from, '\\', fd_span_size(inside)) == NULL) {
        return fd_text_pool_add_clean(&et->texts, inside.from,
                                      fd_span_size(inside), text);
    }
    return fd_et_add_said(et, inside, text);
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

static kind
kind_of(fd_span cat)
{
    static const struct {
        const char *cat;
        kind kind;
    } kinds[] = {
        {"cpu_op", OP},
        {"user_annotation", OP},
        {"Operator", OP},
        {"operator", OP},
        {"kernel", KERNEL},
        {"gpu_memcpy", KERNEL},
        {"gpu_memset", KERNEL},
        {"cuda_runtime", CALL},
        {"cuda_driver", CALL},
        {"hip_runtime", CALL},
        {"privateuse1_runtime", CALL},
        {"cuda_sync", SYNC},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (fd_span_is(cat, kinds[i].cat)) {
            return kinds[i].kind;
        }
    }
    return OTHER;
}

static fd_status
take_kernel(fd_kineto *k, fd_et *et, const fd_timeline_event *event,
            const event_args *t, fd_kineto_kernel kernel)
{
    uint64_t elements;
    fd_status status = add_text(et, event->name, &kernel.name);
    kernel.correlation = number(t->correlation);
    kernel.external = number(t->external);
    kernel.stream = small(t->stream);
    kernel.device = (uint8_t)number(t->device);
    kernel.elements = t->elements.from != NULL
                           && fd_span_u64(t->elements, &elements)
                           && elements < INT64_MAX / 64
                        ? (int64_t)elements
                        : -1;
    if (status == FD_OK) {
        status = add_text(et, event->cat, &kernel.category);
    }
    if (status == FD_OK) {
        status = add_text(et, t->group, &kernel.group);
    }
    if (status == FD_OK) {
        status = add_text(et, t->dtype, &kernel.dtype);
    }
    return status == FD_OK ? fd_vector_push(&k->kernels, kernel) : status;
}

static fd_status
add_list(fd_et *et, fd_span value, uint32_t *text)
{
    return value.from == NULL || *value.from != '['
             ? FD_OK
             : fd_et_add_json(et, value, text);
}

static fd_status
take_inputs(fd_et *et, const event_args *t, fd_et_io *in)
{
    fd_status status = add_list(et, t->values, &in->values);
    if (status == FD_OK) {
        status = add_list(et, t->shapes, &in->shapes);
    }
    if (status == FD_OK) {
        status = add_list(et, t->types, &in->types);
    }
    return status == FD_OK ? add_list(et, t->strides, &in->strides) : status;
}

/* The recorded process, and the start time. */
static void
note_process(fd_kineto *k, fd_span pid, const fd_kineto_op *op)
{
    int64_t end = fd_plus(op->start, op->dur);
    bool first = k->ops.count == 0;
    uint64_t found = number(pid);
    k->pid = first || found == k->pid ? found : 0;
    k->begin_ns = first || op->start < k->begin_ns ? op->start : k->begin_ns;
    k->end_ns = first || end > k->end_ns ? end : k->end_ns;
}

static fd_status
take_op(fd_kineto *k, fd_et *et, const fd_timeline_event *event,
        const event_args *t, fd_kineto_op op)
{
    op.rf_id = number(t->rf_id);
    op.external = number(t->external);
    op.thread = thread_of(event->tid);
    uint64_t seq;
    op.seq =
        t->seq.from != NULL && fd_span_u64(t->seq, &seq) && seq <= INT64_MAX
            ? (int64_t)seq
            : -1;
    note_process(k, event->pid, &op);
    fd_status status = add_text(et, event->name, &op.name);
    if (status == FD_OK && k->all) {
        status = take_inputs(et, t, &op.in);
    }
    return status == FD_OK ? fd_vector_push(&k->ops, op) : status;
}

static fd_status
take_event(fd_kineto *k, fd_et *et, const fd_timeline_event *event)
{
    fd_span cat = event->cat.from == NULL ? (fd_span){"", ""}
                                          : fd_span_inside(event->cat);
    kind of = kind_of(cat);
    int64_t start;
    int64_t dur = 0;
    event_args t;
    k->events++;
    if (event->phase != 'X' || of == OTHER || event->name.from == NULL) {
        return FD_OK;
    }
    if (event->ts.from == NULL || !fd_decimal_ns(event->ts, &start)
        || (event->dur.from != NULL && !fd_decimal_ns(event->dur, &dur))
        || dur < 0) {
        k->timeless++;
        return FD_OK;
    }
    read_args(fd_timeline_args(event), &t);
    switch (of) {
    case OP:
        return take_op(k, et, event, &t,
                       (fd_kineto_op){.start = start, .dur = dur});
    case KERNEL:
        return take_kernel(k, et, event, &t,
                           (fd_kineto_kernel){.start = start, .dur = dur});
    case CALL: {
        fd_kineto_call call = {
            number(t.correlation), thread_of(event->tid), start, dur, 0, 0};
        call.wait = (uint8_t)wait_of(fd_span_inside(event->name));
        return fd_vector_push(&k->calls, call);
    }
    case SYNC: {
        fd_kineto_sync sync = {number(t.correlation), number(t.record),
                               small(t.stream), small(t.source),
                               (uint8_t)number(t.device)};
        return fd_vector_push(&k->syncs, sync);
    }
    case OTHER:
        break;
    }
    return FD_OK;
}

static fd_status
take_member(fd_kineto *k, fd_et *et, fd_span key, fd_span value)
{
    fd_span found;
    uint64_t size;
    if (fd_span_is(key, "host_name")) {
        return add_text(et, value, &et->host);
    }
    if (fd_span_is(key, "baseTimeNanoseconds") && fd_span_u64(value, &size)
        && size <= INT64_MAX) {
        k->base_ns = (int64_t)size;
    }
    if (!fd_span_is(key, "distributedInfo")) {
        return FD_OK;
    }
    if (fd_scan_find(value, "rank", &found) && fd_span_u64(found, &size)
        && size <= INT32_MAX) {
        et->rank = k->rank = (int64_t)size;
    }
    if (fd_scan_find(value, "world_size", &found) && fd_span_u64(found, &size)
        && size <= UINT32_MAX) {
        et->world = (uint32_t)size;
    }
    return fd_scan_find(value, "pg_config", &found)
             ? fd_et_add_groups(et, found)
             : FD_OK;
}

static fd_status
read_file(fd_kineto *k, fd_et *et, const char *path, fd_error *error)
{
    fd_timeline_reader reader;
    fd_timeline_item item;
    fd_status status = fd_timeline_reader_open(&reader, path, NULL, error);
    while (status == FD_OK
           && (item = fd_timeline_reader_next(&reader)) != FD_TIMELINE_END) {
        status = item == FD_TIMELINE_EVENT
                   ? take_event(k, et, &reader.event)
                   : take_member(k, et, reader.key, reader.value);
    }
    status = status == FD_OK ? reader.status : status;
    k->lost = reader.lost;
    k->lost_bytes = reader.lost_bytes;
    snprintf(k->trouble, sizeof k->trouble, "%s", reader.trouble);
    if (status == FD_OK && !reader.is_trace) {
        status = fd_fail(error, FD_EFORMAT,
                         "%s: no Kineto trace: it has no traceEvents", path);
    }
    fd_timeline_reader_close(&reader);
    return status;
}

fd_status
fd_kineto_read(fd_kineto *k, fd_et *et, const char *path, fd_error *error)
{
    *k = (fd_kineto){.rank = -1};
    return read_file(k, et, path, error);
}

fd_status
fd_kineto_read_all(fd_kineto *k, fd_et *et, const char *path, fd_error *error)
{
    *k = (fd_kineto){.all = true, .rank = -1};
    return read_file(k, et, path, error);
}

static bool
is_call(const fd_et_node *node)
{
    return (node->flags
            & (FD_ET_THREAD | FD_ET_PROCESS | FD_ET_GPU | FD_ET_GUESSED))
            == 0
        && (node->flags & FD_ET_TIMED) != 0;
}

/* "ProfilerStep#12": 12 */
static bool
is_label(const char *name, uint32_t *number)
{
    static const char head[] = "ProfilerStep#";
    if (strncmp(name, head, sizeof head - 1) != 0) {
        return false;
    }
    *number = (uint32_t)strtoul(name + sizeof head - 1, NULL, 10);
    return true;
}

static fd_status
find_labels(const fd_et *et, fd_kineto_steps *steps)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        uint32_t number;
        if (is_call(node) && is_label(fd_et_text(et, node->name), &number)) {
            status = fd_vector_push(
                steps, (fd_kineto_step){node->start_ns, fd_et_end(node),
                                        number, i + 1, 0, false});
        }
    }
    return status;
}

/* Calls that enclose calls of another step belong to no step. `none` has room
 * for all nodes. */
static void
mark_spanning(const fd_et *et, uint8_t *none)
{
    for (uint32_t i = et->nodes.count; i-- > 0;) {
        const fd_et_node *node = &et->nodes.list[i];
        if (node->parent != 0
            && (none[i] != 0
                || et->nodes.list[node->parent - 1].step != node->step)) {
            none[node->parent - 1] = 1;
        }
    }
}

static fd_status
find_recorded(const fd_et *et, const uint8_t *none, fd_kineto_steps *steps)
{
    uint64_t thread = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        thread = thread == 0 && is_call(node) ? node->thread : thread;
        if (!is_call(node) || node->step == 0 || node->thread != thread
            || none[i] != 0) {
            continue;
        }
        fd_kineto_step *last =
            steps->count > 0 ? &steps->list[steps->count - 1] : NULL;
        if (last == NULL || node->step - 1 != last->number) {
            status = fd_vector_push(
                steps, (fd_kineto_step){node->start_ns, fd_et_end(node),
                                        node->step - 1, 0, 0, false});
        }
        else if (fd_et_end(node) > last->end) {
            last->end = fd_et_end(node);
        }
    }
    return status;
}

/* The step that contains a time; NULL for none. */
static fd_kineto_step *
step_at(const fd_kineto_steps *steps, int64_t time)
{
    uint32_t low = 0;
    uint32_t high = steps->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool before = steps->list[middle].begin <= time;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low > 0 && time < steps->list[low - 1].end ? &steps->list[low - 1]
                                                      : NULL;
}

/* `inner` has room for all. */
static void
find_leaves(const fd_et *et, uint8_t *inner, const fd_kineto_steps *steps)
{
    for (uint32_t i = et->nodes.count; i-- > 0;) {
        const fd_et_node *node = &et->nodes.list[i];
        bool gpu = (node->flags & FD_ET_GPU) != 0;
        bool leaf = node->schema != 0 && inner[i] == 0 && is_call(node);
        int64_t begin = node->start_ns;
        if (node->parent != 0) {
            inner[node->parent - 1] = 1;
            begin = gpu ? et->nodes.list[node->parent - 1].start_ns : begin;
        }
        fd_kineto_step *step = gpu || leaf ? step_at(steps, begin) : NULL;
        if (step != NULL && gpu) {
            step->busy = true;
        }
        if (step != NULL && leaf
            && (step->leaf == 0
                || et->nodes.list[step->leaf - 1].dur_ns <= node->dur_ns)) {
            step->leaf = i + 1;
        }
    }
}

fd_status
fd_kineto_find_steps(const fd_et *et, fd_kineto_steps *steps)
{
    fd_status status = find_labels(et, steps);
    uint8_t *flags = fd_calloc((size_t)et->nodes.count + 1, 2);
    if (status == FD_OK && flags == NULL) {
        status = FD_ENOMEM;
    }
    if (status == FD_OK && steps->count == 0) {
        mark_spanning(et, flags);
        status = find_recorded(et, flags, steps);
    }
    if (status == FD_OK) {
        find_leaves(et, flags + et->nodes.count, steps);
    }
    fd_free(flags);
    return status;
}
