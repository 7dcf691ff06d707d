#include "et/tools/et_graphml.h"

#include "et/et_names.h"
#include "graphs/graph_text.h"

#include <inttypes.h>

static const char head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
    "<key id=\"name\" for=\"node\" attr.name=\"name\""
    " attr.type=\"string\"/>\n"
    "<key id=\"type\" for=\"node\" attr.name=\"type\""
    " attr.type=\"string\"/>\n"
    "<key id=\"parent\" for=\"node\" attr.name=\"parent\""
    " attr.type=\"string\"/>\n"
    "<key id=\"cpu\" for=\"node\" attr.name=\"is_cpu_op\""
    " attr.type=\"boolean\"/>\n"
    "<key id=\"tid\" for=\"node\" attr.name=\"tid\" attr.type=\"long\"/>\n"
    "<key id=\"stream\" for=\"node\" attr.name=\"stream\""
    " attr.type=\"int\"/>\n"
    "<key id=\"start\" for=\"node\" attr.name=\"start_ns\""
    " attr.type=\"long\"/>\n"
    "<key id=\"dur\" for=\"node\" attr.name=\"dur_ns\""
    " attr.type=\"long\"/>\n"
    "<key id=\"comm\" for=\"node\" attr.name=\"collective\""
    " attr.type=\"string\"/>\n"
    "<key id=\"bytes\" for=\"node\" attr.name=\"bytes\""
    " attr.type=\"long\"/>\n"
    "<key id=\"group\" for=\"node\" attr.name=\"group\""
    " attr.type=\"string\"/>\n"
    "<key id=\"kinds\" for=\"edge\" attr.name=\"kinds\""
    " attr.type=\"string\"/>\n"
    "<graph edgedefault=\"directed\">\n";

static void
put_text(fd_buffer *to, const fd_et *et, const char *key, uint32_t text)
{
    fd_buffer_format(to, "<data key=\"%s\">", key);
    fd_text_xml(to, fd_et_text(et, text), fd_text_pool_size(&et->texts, text));
    fd_buffer_text(to, "</data>");
}

static void
put_number(fd_buffer *to, const char *key, int64_t value)
{
    fd_buffer_format(to, "<data key=\"%s\">%" PRId64 "</data>", key, value);
}

static void
put_comm(fd_buffer *to, const fd_et *et, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(et, node);
    if (comm == NULL || node->type < FD_ET_SEND) {
        return;
    }
    fd_buffer_format(to, "<data key=\"comm\">%s</data>",
                     node->type == FD_ET_SEND   ? "SEND"
                     : node->type == FD_ET_RECV ? "RECV"
                                                : fd_et_coll_name(comm->type));
    if (comm->bytes >= 0) {
        put_number(to, "bytes", comm->bytes);
    }
    if (comm->group != 0) {
        put_text(to, et, "group", comm->group);
    }
}

static void
put_node(fd_buffer *to, const fd_et *et, const fd_et_node *node)
{
    bool gpu = (node->flags & FD_ET_GPU) != 0;
    fd_buffer_format(to, "<node id=\"%" PRIu64 "\">", node->id);
    put_text(to, et, "name", node->name);
    fd_buffer_format(to, "<data key=\"type\">%s</data>",
                     fd_et_type_name(node->type));
    if (node->parent != 0) {
        fd_buffer_format(to, "<data key=\"parent\">%" PRIu64 "</data>",
                         et->nodes.list[node->parent - 1].id);
    }
    fd_buffer_format(to, "<data key=\"cpu\">%s</data>",
                     gpu ? "false" : "true");
    if (gpu) {
        put_number(to, "stream", node->stream);
    }
    else {
        put_number(to, "tid", node->tid);
    }
    if ((node->flags & FD_ET_TIMED) != 0) {
        put_number(to, "start", node->start_ns);
        put_number(to, "dur", node->dur_ns);
    }
    put_comm(to, et, node);
    fd_buffer_text(to, "</node>\n");
}

static void
put_edge(fd_buffer *to, const fd_et *et, const fd_et_edge *edge)
{
    const char *before = "";
    fd_buffer_format(to,
                     "<edge source=\"%" PRIu64 "\" target=\"%" PRIu64 "\">"
                     "<data key=\"kinds\">",
                     et->nodes.list[edge->from].id,
                     et->nodes.list[edge->to].id);
    for (int kind = 0; kind < FD_ET_KINDS; kind++) {
        if ((edge->kinds & 1U << kind) != 0) {
            fd_buffer_format(to, "%s%s", before, fd_et_kind_name(kind));
            before = ",";
        }
    }
    fd_buffer_text(to, "</data></edge>\n");
}

fd_status
fd_et_write_graphml(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    fd_buffer *to = fd_bytes_out_text(out);
    fd_status status = FD_OK;
    fd_buffer_text(to, head);
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        put_node(to, et, &et->nodes.list[i]);
        status = fd_bytes_out_flow(out, error);
    }
    for (uint32_t i = 0; i < et->edges.count && status == FD_OK; i++) {
        put_edge(to, et, &et->edges.list[i]);
        status = fd_bytes_out_flow(out, error);
    }
    fd_buffer_text(to, "</graph>\n</graphml>\n");
    return status;
}
