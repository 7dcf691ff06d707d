#include "et/et_writers.h"

#include "base/rows.h"
#include "et/et_names.h"
#include "json/json_writer.h"

#include <inttypes.h>
#include <string.h>

typedef struct writing {
    const fd_et *et;
    fd_json_writer json;
    int64_t *starts; /* owned; NULL: use the times of the file */
    uint64_t pid;
} writing;

static int64_t
start_of(const writing *w, uint32_t index)
{
    return w->starts != NULL ? w->starts[index]
                             : w->et->nodes.list[index].start_ns;
}

/* Return the length of a node. In a computed layout it is its own time, and
 * its children follow it. */
static int64_t
length_of(const writing *w, uint32_t index)
{
    const fd_et_node *node = &w->et->nodes.list[index];
    return w->starts != NULL ? node->self_ns : node->dur_ns;
}

static bool
is_shown(const fd_et_node *node)
{
    return (node->flags & (FD_ET_THREAD | FD_ET_PROCESS)) == 0;
}

/* Return the row of a node: the thread of the operating system, otherwise
 * PyTorch's; streams have a separate range. */
static uint64_t
row_of(const fd_et_node *node)
{
    if ((node->flags & FD_ET_GPU) != 0) {
        return UINT64_C(1) << 40
             | (uint64_t)fd_et_queue(node->device, node->stream);
    }
    return node->thread != 0 ? node->thread : node->tid;
}

static void
begin(writing *w, const char *phase, uint64_t row)
{
    fd_json_line(&w->json);
    fd_json_begin_object(&w->json, NULL);
    fd_json_put_text(&w->json, "ph", phase);
    fd_json_put_u64(&w->json, "pid", w->pid);
    fd_json_put_u64(&w->json, "tid", row);
}

static void
put_args(writing *w, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(w->et, node);
    fd_json_begin_object(&w->json, "args");
    fd_json_put_u64(&w->json, "id", node->id);
    fd_json_put_text(&w->json, "type", fd_et_type_name(node->type));
    if (comm != NULL && node->type >= FD_ET_SEND) {
        fd_json_put_text(&w->json, "collective", fd_et_coll_name(comm->type));
        fd_json_put_i64(&w->json, "bytes", comm->bytes);
        fd_et_put_text(&w->json, "Process Group Name", w->et, comm->group);
    }
    fd_json_end_object(&w->json);
}

static void
put_slice(writing *w, uint32_t index)
{
    const fd_et_node *node = &w->et->nodes.list[index];
    bool gpu = (node->flags & FD_ET_GPU) != 0;
    const char *cat = fd_et_text(w->et, node->category);
    cat = cat[0] != '\0'    ? cat
        : gpu               ? "kernel"
        : node->schema != 0 ? "cpu_op"
                            : "user_annotation";
    begin(w, "X", row_of(node));
    fd_json_put_milli(&w->json, "ts", start_of(w, index));
    fd_json_put_milli(&w->json, "dur", length_of(w, index));
    fd_json_put_text(&w->json, "cat", cat);
    fd_et_put_text(&w->json, "name", w->et, node->name);
    put_args(w, node);
    fd_json_end_object(&w->json);
}

/* Write a flow from the end of one node to the start of the other. The flow of
 * a launch begins at its start, since the kernel may run before the call
 * returns. */
static void
put_arrow(writing *w, uint32_t number)
{
    const fd_et *et = w->et;
    const fd_et_edge *edge = &et->edges.list[number];
    const fd_et_node *from = &et->nodes.list[edge->from];
    const fd_et_node *to = &et->nodes.list[edge->to];
    const char *name = "";
    for (int kind = FD_ET_KINDS; kind-- > 0;) {
        name = (edge->kinds & 1U << kind) != 0 ? fd_et_kind_name(kind) : name;
    }
    if (!is_shown(from) || !is_shown(to) || row_of(from) == row_of(to)) {
        return;
    }
    bool launch = (edge->kinds & 1U << FD_ET_LAUNCH) != 0;
    const struct {
        const char *phase;
        uint64_t row;
        int64_t time;
    } ends[] = {
        {"s", row_of(from),
         start_of(w, edge->from) + (launch ? 0 : length_of(w, edge->from))},
        {"f", row_of(to), start_of(w, edge->to)}};
    for (int i = 0; i < 2; i++) {
        begin(w, ends[i].phase, ends[i].row);
        fd_json_put_milli(&w->json, "ts", ends[i].time);
        fd_json_put_text(&w->json, "cat", name);
        fd_json_put_text(&w->json, "name", name);
        fd_json_put_u64(&w->json, "id", number);
        if (i == 1) {
            fd_json_put_text(&w->json, "bp", "e");
        }
        fd_json_end_object(&w->json);
    }
}

static void
put_name(writing *w, uint64_t row, const char *what, const char *kind,
         int64_t number)
{
    begin(w, "M", row);
    fd_json_put_text(&w->json, "name", what);
    fd_json_begin_object(&w->json, "args");
    fd_buffer_format(fd_json_put(&w->json, "name"), "\"%s %" PRId64 "\"", kind,
                     number);
    fd_json_end_object(&w->json);
    fd_json_end_object(&w->json);
}

static fd_status
put_names(writing *w)
{
    fd_map seen = {.entries = NULL};
    fd_status status = FD_OK;
    put_name(w, 0, "process_name", "rank", (int64_t)w->pid);
    for (uint32_t i = 0; i < w->et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &w->et->nodes.list[i];
        uint64_t row = row_of(node);
        bool gpu = (node->flags & FD_ET_GPU) != 0;
        if (is_shown(node) && fd_map_is_new(&seen, row + 1, &status)) {
            put_name(w, row, "thread_name", gpu ? "stream" : "thread",
                     gpu ? node->stream : (int64_t)row);
        }
    }
    fd_map_clear(&seen);
    return status;
}

/* Compute starts in one pass, because edges are sorted by `to` and ids grow
 * along them. */
static fd_status
lay_out(writing *w)
{
    const fd_et *et = w->et;
    uint32_t edge = 0;
    w->starts = fd_calloc((size_t)et->nodes.count + 1, sizeof *w->starts);
    if (w->starts == NULL) {
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        for (; edge < et->edges.count && et->edges.list[edge].to == i;
             edge++) {
            uint32_t from = et->edges.list[edge].from;
            int64_t end = w->starts[from] + et->nodes.list[from].self_ns;
            w->starts[i] = end > w->starts[i] ? end : w->starts[i];
        }
    }
    return FD_OK;
}

static fd_status
judge(writing *w, fd_error *error)
{
    bool starts = false;
    bool times = false;
    for (uint32_t i = 0; i < w->et->nodes.count; i++) {
        const fd_et_node *node = &w->et->nodes.list[i];
        starts = starts || node->start_ns != 0;
        times = times || node->self_ns != 0 || node->dur_ns != 0;
    }
    if (!times) {
        return fd_fail(error, FD_EINVAL,
                       "no times in this trace: link it with a Kineto trace "
                       "first (fastdispatch et link)");
    }
    return starts ? FD_OK : lay_out(w);
}

fd_status
fd_et_write_timeline(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    writing w = {.et = et,
                 .json = {.to = fd_bytes_out_text(out)},
                 .pid = et->rank < 0 ? 0 : (uint64_t)et->rank};
    fd_status status = judge(&w, error);
    if (status != FD_OK) {
        return status;
    }
    fd_json_begin_object(&w.json, NULL);
    if (et->rank >= 0) {
        fd_json_begin_object(&w.json, "distributedInfo");
        fd_buffer_bytes(fd_json_put(&w.json, "rank"), " ", 1);
        fd_buffer_u64(w.json.to, (uint64_t)et->rank);
        fd_json_put_u64(&w.json, "world_size", et->world);
        fd_json_end_object(&w.json);
    }
    fd_json_begin_array(&w.json, "traceEvents");
    status = put_names(&w);
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        if (is_shown(&et->nodes.list[i])) {
            put_slice(&w, i);
        }
        status = fd_bytes_out_flow(out, error);
    }
    for (uint32_t i = 0; i < et->edges.count && status == FD_OK; i++) {
        put_arrow(&w, i);
        status = fd_bytes_out_flow(out, error);
    }
    fd_json_line(&w.json);
    fd_json_end_array(&w.json);
    fd_json_end_object(&w.json);
    fd_buffer_text(w.json.to, "\n");
    fd_free(w.starts);
    return status;
}
