#include "et/et_writers.h"

#include "et/et_names.h"
#include "graphs/graphml_writer.h"

#include <inttypes.h>
#include <stdio.h>

static const fd_graphml_key keys[] = {
    {"name", "node", "name", "string"},
    {"type", "node", "type", "string"},
    {"parent", "node", "parent", "string"},
    {"cpu", "node", "is_cpu_op", "boolean"},
    {"tid", "node", "tid", "long"},
    {"stream", "node", "stream", "int"},
    {"start", "node", "start_ns", "long"},
    {"dur", "node", "dur_ns", "long"},
    {"comm", "node", "collective", "string"},
    {"bytes", "node", "bytes", "long"},
    {"group", "node", "group", "string"},
    {"kinds", "edge", "kinds", "string"},
};

static void
put_pooled(const fd_graphml_writer *w, const fd_et *et, const char *key,
           uint32_t text)
{
    fd_graphml_put_bytes(w, key, fd_et_text(et, text),
                         fd_text_pool_size(&et->texts, text));
}

static void
put_comm(const fd_graphml_writer *w, const fd_et *et, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(et, node);
    if (comm == NULL || node->type < FD_ET_SEND) {
        return;
    }
    fd_graphml_put_text(w, "comm", fd_et_comm_name(node, comm));
    if (comm->bytes >= 0) {
        fd_graphml_put_i64(w, "bytes", comm->bytes);
    }
    if (comm->group != 0) {
        put_pooled(w, et, "group", comm->group);
    }
}

static void
put_node(const fd_graphml_writer *w, const fd_et *et, const fd_et_node *node)
{
    bool gpu = (node->flags & FD_ET_GPU) != 0;
    fd_graphml_begin_node(w, node->id);
    put_pooled(w, et, "name", node->name);
    fd_graphml_put_text(w, "type", fd_et_type_name(node->type));
    if (node->parent != 0) {
        char id[24];
        snprintf(id, sizeof id, "%" PRIu64,
                 et->nodes.list[node->parent - 1].id);
        fd_graphml_put_text(w, "parent", id);
    }
    fd_graphml_put_text(w, "cpu", gpu ? "false" : "true");
    fd_graphml_put_i64(w, gpu ? "stream" : "tid",
                       gpu ? node->stream : (int64_t)node->tid);
    if ((node->flags & FD_ET_TIMED) != 0) {
        fd_graphml_put_i64(w, "start", node->start_ns);
        fd_graphml_put_i64(w, "dur", node->dur_ns);
    }
    put_comm(w, et, node);
    fd_graphml_end_node(w);
}

static void
put_edge(const fd_graphml_writer *w, const fd_et *et, const fd_et_edge *edge)
{
    char kinds[128] = "";
    size_t size = 0;
    for (int kind = 0; kind < FD_ET_KINDS; kind++) {
        if ((edge->kinds & 1U << kind) != 0) {
            size +=
                (size_t)snprintf(kinds + size, sizeof kinds - size, "%s%s",
                                 size > 0 ? "," : "", fd_et_kind_name(kind));
        }
    }
    fd_graphml_begin_edge(w, et->nodes.list[edge->from].id,
                          et->nodes.list[edge->to].id);
    fd_graphml_put_text(w, "kinds", kinds);
    fd_graphml_end_edge(w);
}

fd_status
fd_et_write_graphml(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    const fd_graphml_writer w = {.to = fd_bytes_out_text(out), .prefix = ""};
    fd_status status = FD_OK;
    fd_graphml_begin(&w, keys, sizeof keys / sizeof *keys);
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        put_node(&w, et, &et->nodes.list[i]);
        status = fd_bytes_out_flow(out, error);
    }
    for (uint32_t i = 0; i < et->edges.count && status == FD_OK; i++) {
        put_edge(&w, et, &et->edges.list[i]);
        status = fd_bytes_out_flow(out, error);
    }
    fd_graphml_end(&w);
    return status;
}
