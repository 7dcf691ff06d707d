#include "et/et_writers.h"

#include "base/rows.h"
#include "et/et_names.h"
#include "et/readers/kineto_reader.h"
#include "json/json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Times are relative to a multiple of 2^49 ns (about 6.5 days): as doubles
 * they are exact to a nanosecond, and all ranks of a run have the same
 * base. */
#define BASE_NS (INT64_C(1) << 49)

/* The number of the first launch. Readers that select the smallest integer
 * type of a column store row numbers in the same column. */
#define FIRST_LAUNCH (UINT64_C(1) << 24)

/* CUDA's number of PyTorch's default stream. */
enum { STAND_IN_STREAM = 7 };

typedef struct writing {
    const fd_et *et;
    fd_json_writer json;
    fd_kineto_steps steps; /* owned */
    int64_t base;
    int64_t first;     /* time of the first event */
    uint64_t thread;   /* thread of the steps */
    uint64_t launches; /* correlation of the last launch */
} writing;

static bool
is_event(const fd_et_node *node)
{
    return (node->flags & (FD_ET_THREAD | FD_ET_PROCESS | FD_ET_GPU)) == 0
        && (node->flags & FD_ET_TIMED) != 0
        && (node->flags & FD_ET_GUESSED) == 0;
}

/* Return the call that launched a kernel, or NULL if it is missing. */
static const fd_et_node *
launcher_of(const fd_et *et, const fd_et_node *kernel)
{
    const fd_et_node *call =
        kernel->parent == 0 ? NULL : &et->nodes.list[kernel->parent - 1];
    return call != NULL && is_event(call) ? call : NULL;
}

static uint64_t
row_of(const fd_et_node *node)
{
    return node->thread != 0 ? node->thread : node->tid;
}

/* Write an event up to its arguments. */
static void
begin(writing *w, const char *cat, const char *name, uint64_t pid,
      uint64_t row, int64_t start, int64_t dur)
{
    fd_json_writer *json = &w->json;
    fd_json_line(json);
    fd_json_begin_object(json, NULL);
    fd_json_put_text(json, "ph", "X");
    fd_json_put_text(json, "cat", cat);
    fd_json_put_text(json, "name", name);
    fd_json_put_u64(json, "pid", pid);
    fd_json_put_u64(json, "tid", row);
    fd_json_put_milli(json, "ts", fd_minus(start, w->base));
    fd_json_put_milli(json, "dur", dur);
    fd_json_begin_object(json, "args");
}

/* End the arguments and the event. */
static void
end(writing *w)
{
    fd_json_end_object(&w->json);
    fd_json_end_object(&w->json);
}

/* Write the ranks of a group; a group without a list has all ranks. */
static void
put_ranks(writing *w, const fd_et_group *group)
{
    const char *list = fd_et_text(w->et, group->ranks);
    if (list[0] != '\0' && strcmp(list, "[]") != 0) {
        fd_json_put_raw(&w->json, "ranks", list, strlen(list));
        return;
    }
    fd_json_begin_array(&w->json, "ranks");
    for (uint32_t i = 0; i < w->et->world; i++) {
        fd_json_put_u64(&w->json, NULL, i);
    }
    fd_json_end_array(&w->json);
}

static void
put_groups(writing *w)
{
    const fd_et *et = w->et;
    fd_json_put_u64(&w->json, "pg_count", et->groups.count);
    fd_json_begin_array(&w->json, "pg_config");
    for (uint32_t i = 0; i < et->groups.count; i++) {
        const fd_et_group *group = &et->groups.list[i];
        fd_json_begin_object(&w->json, NULL);
        fd_et_put_text(&w->json, "pg_name", w->et, group->name);
        fd_et_put_text(&w->json, "pg_desc", w->et, group->about);
        fd_json_put_u64(&w->json, "pg_size", group->size);
        put_ranks(w, group);
        fd_json_end_object(&w->json);
    }
    fd_json_end_array(&w->json);
}

/* Write the members before the events. HTA searches the rank line by line, and
 * requires this space. */
static void
put_head(writing *w)
{
    const fd_et *et = w->et;
    fd_json_writer *json = &w->json;
    fd_json_begin_object(json, NULL);
    fd_json_put_u64(json, "schemaVersion", 1);
    fd_json_put_raw(json, "deviceProperties", "[]", 2);
    fd_json_line(json);
    fd_json_begin_object(json, "distributedInfo");
    fd_json_line(json);
    fd_buffer_bytes(fd_json_put(json, "rank"), " ", 1);
    fd_buffer_u64(json->to, et->rank < 0 ? 0 : (uint64_t)et->rank);
    fd_json_line(json);
    fd_json_put_u64(json, "world_size", et->world > 0 ? et->world : 1);
    put_groups(w);
    fd_json_end_object(json);
    fd_json_line(json);
    if (et->host != 0) {
        fd_et_put_text(&w->json, "host_name", w->et, et->host);
        fd_json_line(json);
    }
    fd_json_put_text(json, "displayTimeUnit", "ms");
    fd_json_put_i64(json, "baseTimeNanoseconds", w->base);
    fd_json_line(json);
    fd_json_begin_array(json, "traceEvents");
}

static void
put_name(writing *w, const char *what, uint64_t pid, uint64_t row,
         const char *name, uint64_t number)
{
    fd_json_writer *json = &w->json;
    fd_json_line(json);
    fd_json_begin_object(json, NULL);
    fd_json_put_text(json, "ph", "M");
    fd_json_put_text(json, "name", what);
    fd_json_put_u64(json, "pid", pid);
    fd_json_put_u64(json, "tid", row);
    fd_json_put_milli(json, "ts", w->first - w->base);
    fd_json_begin_object(json, "args");
    fd_buffer_format(fd_json_put(json, "name"), "\"%s %" PRIu64 "\"", name,
                     number);
    end(w);
}

/* Write the metadata of a stream. Each device is a process, as in traces of
 * torch.profiler. */
static fd_status
put_stream(writing *w, const fd_et_node *kernel, fd_map *seen)
{
    uint64_t device = UINT64_C(1) << 40 | kernel->device;
    uint64_t queue = (UINT64_C(1) << 41)
                   + (uint64_t)fd_et_queue(kernel->device, kernel->stream);
    fd_status status = FD_OK;
    if (fd_map_is_new(seen, device, &status)) {
        put_name(w, "process_name", kernel->device, 0, "GPU", kernel->device);
    }
    if (status == FD_OK && fd_map_is_new(seen, queue, &status)) {
        put_name(w, "thread_name", kernel->device, (uint64_t)kernel->stream,
                 "stream", (uint64_t)kernel->stream);
    }
    return status;
}

static fd_status
put_names(writing *w)
{
    const fd_et *et = w->et;
    fd_map seen = {.entries = NULL};
    fd_status status = FD_OK;
    put_name(w, "process_name", et->pid, 0, "rank",
             et->rank < 0 ? 0 : (uint64_t)et->rank);
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        uint64_t row = row_of(&et->nodes.list[i]);
        if ((et->nodes.list[i].flags & FD_ET_GPU) != 0) {
            status = put_stream(w, &et->nodes.list[i], &seen);
        }
        if (is_event(&et->nodes.list[i])
            && fd_map_is_new(&seen, row + 1, &status)) {
            put_name(w, "thread_name", et->pid, row, "thread", row);
        }
    }
    fd_map_clear(&seen);
    return status;
}

static void
put_comm(writing *w, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(w->et, node);
    if (comm == NULL || node->type < FD_ET_SEND) {
        return;
    }
    fd_json_put_text(&w->json, "Collective name", fd_et_comm_name(node, comm));
    if (comm->group != 0) {
        fd_et_put_text(&w->json, "Process Group Name", w->et, comm->group);
    }
    if (comm->bytes >= 0) {
        fd_json_put_i64(&w->json, "fd_bytes", comm->bytes);
    }
}

static void
put_list(writing *w, const char *key, uint32_t text)
{
    const char *list = text == 0 ? "[]" : fd_et_text(w->et, text);
    fd_json_put_raw(&w->json, key, list, strlen(list));
}

/* Write an operator or range. Readers join by Kineto's "External id" or the
 * execution trace's "Record function id": both are the same number. */
static void
put_call(writing *w, uint32_t index)
{
    const fd_et *et = w->et;
    const fd_et_node *node = &et->nodes.list[index];
    begin(w, node->scope == 7 ? "user_annotation" : "cpu_op",
          fd_et_text(et, node->name), et->pid, row_of(node), node->start_ns,
          node->dur_ns);
    fd_json_put_u64(&w->json, "External id", node->rf_id);
    fd_json_put_u64(&w->json, "Record function id", node->rf_id);
    fd_json_put_u64(&w->json, "Ev Idx", index);
    if (node->seq >= 0) {
        fd_json_put_i64(&w->json, "Sequence number", node->seq);
        fd_json_put_u64(&w->json, "Fwd thread id", node->fw_tid);
    }
    put_list(w, "Input Dims", node->in.shapes);
    put_list(w, "Input Strides", node->in.strides);
    put_list(w, "Input type", node->in.types);
    put_comm(w, node);
    end(w);
}

/* Return a time rounded up to the next microsecond. */
static int64_t
whole(const writing *w, int64_t ns)
{
    return w->base + (ns - w->base + 999) / 1000 * 1000;
}

/* Write the arguments that a kernel and its launch share. */
static void
put_launch(writing *w, const fd_et_node *node)
{
    fd_json_put_u64(&w->json, "External id", node->rf_id);
    fd_json_put_u64(&w->json, "correlation", w->launches);
}

/* Write the device and stream of a kernel, and end its arguments. */
static void
end_kernel(writing *w, uint64_t device, int64_t stream)
{
    fd_json_put_u64(&w->json, "device", device);
    fd_json_put_u64(&w->json, "context", 1);
    fd_json_put_i64(&w->json, "stream", stream);
    end(w);
}

/* Write a launch within an operator and a placeholder kernel, for readers that
 * require kernels, in whole microseconds, which readers do not round. */
static void
put_stand_in(writing *w, const fd_et_node *node)
{
    int64_t launch = whole(w, node->start_ns);
    w->launches++;
    begin(w, "cuda_runtime", "cudaLaunchKernel", w->et->pid, row_of(node),
          launch, fd_plus(launch, 1000) <= fd_et_end(node) ? 1000 : 0);
    put_launch(w, node);
    fd_json_put_bool(&w->json, "fd_stand_in", true);
    end(w);
    begin(w, "kernel", "fastdispatch stand-in: no kernel ran", 0,
          STAND_IN_STREAM, fd_plus(launch, 1000), 1000);
    put_launch(w, node);
    fd_json_put_bool(&w->json, "fd_stand_in", true);
    end_kernel(w, 0, STAND_IN_STREAM);
}

static void
put_step(writing *w, const fd_kineto_step *step)
{
    char name[32];
    if (step->label != 0) {
        return;
    }
    snprintf(name, sizeof name, "ProfilerStep#%" PRIu32, step->number);
    begin(w, "user_annotation", name, w->et->pid, w->thread, step->begin,
          fd_minus(step->end, step->begin));
    fd_json_put_bool(&w->json, "fd_stand_in", true);
    end(w);
}

/* Write one end of a flow. */
static void
put_end(writing *w, const char *cat, bool begins, uint64_t number,
        uint64_t pid, uint64_t row, int64_t time)
{
    fd_json_writer *json = &w->json;
    fd_json_line(json);
    fd_json_begin_object(json, NULL);
    fd_json_put_text(json, "ph", begins ? "s" : "f");
    fd_json_put_text(json, "cat", cat);
    fd_json_put_text(json, "name", cat);
    fd_json_put_u64(json, "id", number);
    fd_json_put_u64(json, "pid", pid);
    fd_json_put_u64(json, "tid", row);
    fd_json_put_milli(json, "ts", fd_minus(time, w->base));
    if (!begins) {
        fd_json_put_text(json, "bp", "e");
    }
    fd_json_end_object(json);
}

/* Write a kernel and its launch, whose duration is unknown. */
static void
put_kernel(writing *w, const fd_et_node *node)
{
    const fd_et *et = w->et;
    const fd_et_node *call = launcher_of(et, node);
    const fd_et_attr *at = fd_et_attr_of(et, node, "fd_launch_ns");
    if (call == NULL) {
        return;
    }
    int64_t launch = at == NULL ? call->start_ns : (int64_t)at->number;
    w->launches++;
    begin(w, "cuda_runtime", "cudaLaunchKernel", et->pid, row_of(call), launch,
          0);
    put_launch(w, node);
    fd_json_put_text(&w->json, "fd_timing", "cuda_event");
    end(w);
    begin(w, "kernel", fd_et_text(et, node->name), node->device,
          (uint64_t)node->stream, node->start_ns, node->dur_ns);
    put_launch(w, node);
    fd_json_put_text(&w->json, "fd_timing", "cuda_event");
    end_kernel(w, node->device, node->stream);
    put_end(w, "ac2g", true, w->launches, et->pid, row_of(call), launch);
    put_end(w, "ac2g", false, w->launches, node->device,
            (uint64_t)node->stream, node->start_ns);
}

/* Write a flow from the operator that created an autograd node to the node. */
static void
put_arrow(writing *w, uint32_t index)
{
    const fd_et_node *to = &w->et->nodes.list[index];
    uint32_t from = to->fw_parent == 0 ? 0 : fd_et_index(w->et, to->fw_parent);
    if (from == 0 || !is_event(&w->et->nodes.list[from - 1])) {
        return;
    }
    const fd_et_node *ends[] = {&w->et->nodes.list[from - 1], to};
    for (int i = 0; i < 2; i++) {
        put_end(w, "fwdbwd", i == 0, (uint64_t)index + 1, w->et->pid,
                row_of(ends[i]), ends[i]->start_ns);
    }
}

static fd_status
put_events(writing *w, fd_bytes_out *out, fd_error *error)
{
    const fd_et *et = w->et;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < w->steps.count; i++) {
        put_step(w, &w->steps.list[i]);
    }
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        if (is_event(&et->nodes.list[i])) {
            put_call(w, i);
            put_arrow(w, i);
        }
        if ((et->nodes.list[i].flags & FD_ET_GPU) != 0) {
            put_kernel(w, &et->nodes.list[i]);
        }
        status = fd_bytes_out_flow(out, error);
    }
    for (uint32_t i = 0; i < w->steps.count; i++) {
        uint32_t leaf = w->steps.list[i].leaf;
        if (leaf != 0 && !w->steps.list[i].busy) {
            put_stand_in(w, &et->nodes.list[leaf - 1]);
        }
    }
    return status;
}

static void
find_base(writing *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->et->nodes.count && !any; i++) {
        const fd_et_node *node = &w->et->nodes.list[i];
        any = is_event(node);
        w->first = any ? node->start_ns : 0;
        w->base = w->first / BASE_NS * BASE_NS;
        w->thread = any ? row_of(node) : 0;
    }
}

fd_status
fd_et_write_kineto(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    writing w = {.et = et,
                 .json = {.to = fd_bytes_out_text(out)},
                 .launches = FIRST_LAUNCH};
    fd_status status = fd_kineto_find_steps(et, &w.steps);
    find_base(&w);
    if (status == FD_OK) {
        put_head(&w);
        status = put_names(&w);
    }
    if (status == FD_OK) {
        status = put_events(&w, out, error);
    }
    fd_buffer_text(w.json.to, "\n]}\n"); /* also after a failure */
    fd_vector_clear(&w.steps);
    return status;
}
