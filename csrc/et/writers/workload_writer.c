#include "et/et_writers.h"

#include "json/json_writer.h"

typedef struct writing {
    const fd_et *et;
    fd_json_writer json;
    uint32_t edge; /* index of the next edge */
} writing;

static void
put_deps(writing *w, uint32_t index)
{
    const fd_et *et = w->et;
    const fd_et_node *node = &et->nodes.list[index];
    fd_json_begin_array(&w->json, "ctrlDeps");
    if (node->parent != 0) {
        fd_json_put_u64(&w->json, NULL, et->nodes.list[node->parent - 1].id);
    }
    fd_json_end_array(&w->json);
    fd_json_begin_array(&w->json, "data_deps");
    for (; w->edge < et->edges.count && et->edges.list[w->edge].to == index;
         w->edge++) {
        uint32_t from = et->edges.list[w->edge].from;
        fd_json_put_u64(&w->json, NULL, et->nodes.list[from].id);
    }
    fd_json_end_array(&w->json);
}

static int64_t
known(int64_t value)
{
    return value < 0 ? 0 : value;
}

/* Write all fields of a communication, because the feeder does not initialize
 * missing ones. An unknown type of a collective is -1. */
static void
put_comm(writing *w, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(w->et, node);
    if (comm == NULL || node->type < FD_ET_SEND) {
        return;
    }
    fd_json_put_i64(&w->json, "comm_type", comm->type);
    fd_json_put_i64(&w->json, "comm_size", known(comm->bytes));
    fd_json_put_i64(&w->json, "tensor_size", known(comm->bytes));
    fd_json_put_i64(&w->json, "comm_priority", 0);
    fd_json_put_i64(&w->json, "comm_src", known(comm->src));
    fd_json_put_i64(&w->json, "comm_dst", known(comm->dst));
    fd_json_put_i64(&w->json, "comm_tag", known(comm->tag));
    if (comm->group != 0) {
        fd_et_put_text(&w->json, "pg_name", w->et, comm->group);
    }
}

static void
put_node(writing *w, uint32_t index)
{
    const fd_et_node *node = &w->et->nodes.list[index];
    int64_t ns = (node->flags & FD_ET_TIMED) != 0 ? known(node->self_ns) : 0;
    fd_json_line(&w->json);
    fd_json_begin_object(&w->json, NULL);
    fd_json_put_u64(&w->json, "Id", node->id);
    fd_et_put_text(&w->json, "Name", w->et, node->name);
    fd_json_put_u64(&w->json, "NodeType", node->type);
    put_deps(w, index);
    fd_json_put_i64(&w->json, "runtime", fd_plus(ns, 500) / 1000);
    fd_json_put_bool(&w->json, "is_cpu_op", (node->flags & FD_ET_GPU) == 0);
    put_comm(w, node);
    fd_json_end_object(&w->json);
}

fd_status
fd_et_write_workload(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    writing w = {.et = et, .json = {.to = fd_bytes_out_text(out)}};
    fd_status status = FD_OK;
    fd_json_begin_object(&w.json, NULL);
    fd_json_begin_array(&w.json, "workload_graph");
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        put_node(&w, i);
        status = fd_bytes_out_flow(out, error);
    }
    fd_json_line(&w.json);
    fd_json_end_array(&w.json);
    fd_json_end_object(&w.json);
    fd_buffer_text(w.json.to, "\n");
    return status;
}
