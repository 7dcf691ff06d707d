#include "et/tools/et_timeline.h"

#include "et/et_names.h"

#include <inttypes.h>
#include <string.h>

typedef struct writing {
    const fd_et *et;
    fd_buffer *to;
    int64_t *starts; /* owned; NULL: as the file says */
    uint64_t pid;
    bool any;
} writing;

static int64_t
start_of(const writing *w, uint32_t place)
{
    return w->starts != NULL ? w->starts[place]
                             : w->et->nodes.list[place].start_ns;
}

/* Laid out, a node takes its own time: what it encloses comes after it. */
static int64_t
length_of(const writing *w, uint32_t place)
{
    const fd_et_node *node = &w->et->nodes.list[place];
    return w->starts != NULL ? node->self_ns : node->dur_ns;
}

static bool
is_shown(const fd_et_node *node)
{
    return (node->flags & (FD_ET_THREAD | FD_ET_PROCESS)) == 0;
}

/* Threads of the operating system, else PyTorch's; streams far from both. */
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
put_us(fd_buffer *to, int64_t ns)
{
    fd_buffer_format(to, "%s%" PRId64 ".%03d", ns < 0 ? "-" : "",
                     ns < 0 ? -(ns / 1000) : ns / 1000,
                     (int)(ns < 0 ? -(ns % 1000) : ns % 1000));
}

static void
begin(writing *w, const char *phase, uint64_t row)
{
    fd_buffer_text(w->to, w->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    fd_buffer_text(w->to, phase);
    fd_buffer_text(w->to, "\",\"pid\":");
    fd_buffer_u64(w->to, w->pid);
    fd_buffer_text(w->to, ",\"tid\":");
    fd_buffer_u64(w->to, row);
    w->any = true;
}

static void
put_slice(writing *w, uint32_t place)
{
    const fd_et *et = w->et;
    const fd_et_node *node = &et->nodes.list[place];
    const fd_et_comm *comm = fd_et_comm_of(et, node);
    bool gpu = (node->flags & FD_ET_GPU) != 0;
    const char *cat = fd_et_text(et, node->category);
    begin(w, "X", row_of(node));
    fd_buffer_text(w->to, ",\"ts\":");
    put_us(w->to, start_of(w, place));
    fd_buffer_text(w->to, ",\"dur\":");
    put_us(w->to, length_of(w, place));
    fd_buffer_text(w->to, ",\"cat\":");
    cat = cat[0] != '\0'    ? cat
        : gpu               ? "kernel"
        : node->schema != 0 ? "cpu_op"
                            : "user_annotation";
    fd_buffer_json(w->to, cat, strlen(cat));
    fd_buffer_text(w->to, ",\"name\":");
    fd_buffer_json(w->to, fd_et_text(et, node->name),
                   fd_text_pool_size(&et->texts, node->name));
    fd_buffer_format(w->to, ",\"args\":{\"id\":%" PRIu64 ",\"type\":\"%s\"",
                     node->id, fd_et_type_name(node->type));
    if (comm != NULL && node->type >= FD_ET_SEND) {
        fd_buffer_format(w->to,
                         ",\"collective\":\"%s\",\"bytes\":%" PRId64
                         ",\"Process Group Name\":",
                         fd_et_coll_name(comm->type), comm->bytes);
        fd_buffer_json(w->to, fd_et_text(et, comm->group),
                       fd_text_pool_size(&et->texts, comm->group));
    }
    fd_buffer_text(w->to, "}}");
}

/* From the end of the one to the begin of the other; a launch from its begin,
 * since the kernel may run before the call returns. */
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
        fd_buffer_text(w->to, ",\"ts\":");
        put_us(w->to, ends[i].time);
        fd_buffer_format(
            w->to, ",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu32 "%s}",
            name, name, number, i == 0 ? "" : ",\"bp\":\"e\"");
    }
}

static void
put_name(writing *w, uint64_t row, const char *kind, int64_t number)
{
    begin(w, "M", row);
    fd_buffer_format(w->to,
                     ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s "
                     "%" PRId64 "\"}}",
                     kind, number);
}

static fd_status
put_names(writing *w)
{
    fd_map seen = {.entries = NULL};
    fd_status status = FD_OK;
    begin(w, "M", 0);
    fd_buffer_format(w->to,
                     ",\"name\":\"process_name\",\"args\":{\"name\":\"rank "
                     "%" PRIu64 "\"}}",
                     w->pid);
    for (uint32_t i = 0; i < w->et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &w->et->nodes.list[i];
        uint64_t row = row_of(node);
        if (!is_shown(node) || fd_map_get(&seen, row + 1) != 0) {
            continue;
        }
        status = fd_map_put(&seen, row + 1, 1);
        bool gpu = (node->flags & FD_ET_GPU) != 0;
        put_name(w, row, gpu ? "stream" : "thread",
                 gpu ? node->stream : (int64_t)row);
    }
    fd_map_clear(&seen);
    return status;
}

/* Edges are sorted by `to` and grow: one pass. */
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
                 .to = fd_bytes_out_text(out),
                 .pid = et->rank < 0 ? 0 : (uint64_t)et->rank};
    fd_status status = judge(&w, error);
    if (status != FD_OK) {
        return status;
    }
    fd_buffer_text(w.to, "{");
    if (et->rank >= 0) {
        fd_buffer_format(w.to,
                         "\"distributedInfo\":{\"rank\": %" PRId64
                         ",\"world_size\":%" PRIu32 "},",
                         et->rank, et->world);
    }
    fd_buffer_text(w.to, "\"traceEvents\":[");
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
    fd_buffer_text(w.to, "\n]}\n");
    fd_free(w.starts);
    return status;
}
