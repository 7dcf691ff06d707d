#include "et/et_writers.h"

#include "et/node_fields.h"
#include "et/readers/chakra_fields.h"
#include "json/json_scan.h"
#include "json/json_writer.h"

#include <string.h>

static const char schema[] = "1.1.1-chakra.0.0.4";

typedef struct writing {
    const fd_et *et;
    fd_json_writer json;
    uint32_t edge; /* index of the next edge */
    bool trusted;  /* lists are valid JSON, since they were read from JSON */
} writing;

/* Write microseconds, with three decimals unless they are whole. */
static void
put_us(writing *w, const char *key, int64_t ns)
{
    if (ns % 1000 == 0) {
        fd_json_put_i64(&w->json, key, ns / 1000);
    }
    else {
        fd_json_put_milli(&w->json, key, ns);
    }
}

static bool
is_list(const char *list, size_t size)
{
    fd_scan scan = {.at = list, .end = list + size};
    bool good = list[0] == '[' && fd_scan_value(&scan) == FD_SCAN_OK
             && scan.at == scan.end && scan.repairs.count == 0;
    fd_scan_clear(&scan);
    return good;
}

/* Write a list unchanged. Python's spelling of lists in .et files of other
 * programs is not JSON: such a list is written as one text in a list. */
static void
put_list(writing *w, const char *key, uint32_t text)
{
    const char *list = fd_et_text(w->et, text);
    size_t size = fd_text_pool_size(&w->et->texts, text);
    if (text == 0) {
        fd_json_put_raw(&w->json, key, "[]", 2);
    }
    else if (w->trusted || is_list(list, size)) {
        fd_json_put_raw(&w->json, key, list, size);
    }
    else {
        fd_json_begin_array(&w->json, key);
        fd_et_put_text(&w->json, NULL, w->et, text);
        fd_json_end_array(&w->json);
    }
}

static void
put_side(writing *w, const char *key, const fd_et_io *io)
{
    fd_json_begin_object(&w->json, key);
    put_list(w, "values", io->values);
    put_list(w, "shapes", io->shapes);
    put_list(w, "types", io->types);
    put_list(w, "strides", io->strides);
    fd_json_end_object(&w->json);
}

static void
begin_attr(writing *w, const char *name)
{
    fd_json_begin_object(&w->json, NULL);
    fd_json_put_text(&w->json, "name", name);
}

/* Write the rest of an attribute. */
static void
end_string(writing *w, uint32_t text)
{
    fd_json_put_text(&w->json, "type", "string");
    fd_et_put_text(&w->json, "value", w->et, text);
    fd_json_end_object(&w->json);
}

static void
put_member(writing *w, const fd_column *column, const fd_et_node *node)
{
    uint64_t value = fd_cell(column, node);
    begin_attr(w, column->name);
    if (column->type == FD_COLUMN_TEXT) {
        end_string(w, (uint32_t)value);
        return;
    }
    fd_json_put_text(&w->json, "type",
                     column->type == FD_COLUMN_I64 ? "int64" : "uint64");
    fd_json_put_i64(&w->json, "value", (int64_t)value);
    fd_json_end_object(&w->json);
}

static void
put_varint(writing *w, const fd_et_attr *attr)
{
    if (attr->field == FD_CHAKRA_BOOL) {
        fd_json_put_text(&w->json, "type", "bool");
        fd_json_put_bool(&w->json, "value", attr->number != 0);
    }
    else {
        fd_json_put_text(&w->json, "type", "int64");
        fd_json_put_i64(&w->json, "value", (int64_t)attr->number);
    }
    fd_json_end_object(&w->json);
}

static void
put_other(writing *w, const fd_et_attr *attr)
{
    fd_json_begin_object(&w->json, NULL);
    fd_et_put_text(&w->json, "name", w->et, attr->name);
    switch (fd_chakra_wire(attr->field)) {
    case FD_PROTO_VARINT:
        put_varint(w, attr);
        break;
    case FD_PROTO_BYTES:
        end_string(w, attr->field == FD_CHAKRA_STRING ? attr->text : 0);
        break;
    default:
        fd_json_put_text(&w->json, "type", "fixed");
        fd_json_put_u64(&w->json, "value", attr->number);
        fd_json_end_object(&w->json);
    }
}

/* Write the attributes of a node; those that readers of the format require are
 * always present. */
static void
put_own(writing *w, const fd_et_node *node)
{
    static const char *const required[] = {"kernel_backend", "kernel_file"};
    bool found[2] = {false, false};
    for (uint32_t i = 0; i < node->attr_count; i++) {
        const fd_et_attr *attr = &w->et->attrs.list[node->attrs + i];
        const char *name = fd_et_text(w->et, attr->name);
        found[0] = found[0] || strcmp(name, required[0]) == 0;
        found[1] = found[1] || strcmp(name, required[1]) == 0;
        put_other(w, attr);
    }
    for (int i = 0; i < 2; i++) {
        if (!found[i]) {
            begin_attr(w, required[i]);
            end_string(w, 0);
        }
    }
}

static void
put_attrs(writing *w, const fd_et_node *node)
{
    fd_json_begin_array(&w->json, "attrs");
    for (int i = 0; i < FD_ET_STREAM_FIELD; i++) {
        put_member(w, &fd_et_node_fields[i].column, node);
    }
    put_own(w, node);
    if (node->thread != 0) {
        put_member(w, &fd_et_node_fields[FD_ET_THREAD_FIELD].column, node);
    }
    fd_json_end_array(&w->json);
}

/* Write the nodes on which this one depends by edges of one kind; omit an
 * empty list. */
static void
put_edges(writing *w, const char *key, fd_et_edge_kind kind, uint32_t first)
{
    bool any = false;
    for (uint32_t i = first; i < w->edge; i++) {
        const fd_et_edge *edge = &w->et->edges.list[i];
        if ((edge->kinds & 1U << kind) != 0) {
            if (!any) {
                fd_json_begin_array(&w->json, key);
            }
            any = true;
            fd_json_put_u64(&w->json, NULL, w->et->nodes.list[edge->from].id);
        }
    }
    if (any) {
        fd_json_end_array(&w->json);
    }
}

/* Write one list of ids per kind of edge. Readers derive edges of other kinds
 * themselves. */
static void
put_waits(writing *w, uint32_t index)
{
    const fd_et *et = w->et;
    while (w->edge < et->edges.count && et->edges.list[w->edge].to < index) {
        w->edge++; /* the edge of an omitted node */
    }
    uint32_t first = w->edge;
    while (w->edge < et->edges.count && et->edges.list[w->edge].to == index) {
        w->edge++;
    }
    put_edges(w, "sync_dep", FD_ET_SYNC, first);
    put_edges(w, "fd_event_dep", FD_ET_EVENT, first);
    put_edges(w, "fd_given_dep", FD_ET_GIVEN, first);
}

static void
put_linked(writing *w, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(w->et, node);
    if ((node->flags & FD_ET_TIMED) != 0) {
        put_us(w, "ts", node->start_ns);
        put_us(w, "inclusive_dur", node->dur_ns);
        put_us(w, "exclusive_dur", node->self_ns);
    }
    if ((node->flags & FD_ET_GPU) == 0) {
        return;
    }
    fd_json_put_text(&w->json, "ph", "X");
    if (node->category != 0) {
        fd_et_put_text(&w->json, "cat", w->et, node->category);
    }
    else {
        fd_json_put_text(&w->json, "cat", "kernel");
    }
    fd_json_put_i64(&w->json, "stream", node->stream);
    if (node->device != 0) {
        fd_json_put_u64(&w->json, "fd_device", node->device);
    }
    if (comm != NULL && comm->group != 0) {
        fd_et_put_text(&w->json, "pg_name", w->et, comm->group);
    }
}

static void
put_node(writing *w, uint32_t index)
{
    const fd_et_node *node = &w->et->nodes.list[index];
    fd_json_line(&w->json);
    fd_json_begin_object(&w->json, NULL);
    fd_json_put_u64(&w->json, "id", node->id);
    fd_et_put_text(&w->json, "name", w->et, node->name);
    fd_json_put_u64(&w->json, "ctrl_deps",
                    node->parent == 0
                        ? node->parent_id
                        : w->et->nodes.list[node->parent - 1].id);
    put_side(w, "inputs", &node->in);
    put_side(w, "outputs", &node->out);
    put_attrs(w, node);
    put_linked(w, node);
    put_waits(w, index);
    fd_json_end_object(&w->json);
}

fd_status
fd_et_write_pytorch(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    bool written =
        et->nodes.count > 0 && (et->nodes.list[0].flags & FD_ET_WRITTEN) != 0;
    writing w = {
        .et = et, .json = {.to = fd_bytes_out_text(out)}, .trusted = !written};
    fd_status status = FD_OK;
    fd_json_begin_object(&w.json, NULL);
    fd_json_put_text(&w.json, "schema", schema);
    fd_json_put_u64(&w.json, "pid", et->pid);
    fd_et_put_text(&w.json, "time", et, et->time);
    fd_json_put_i64(&w.json, "start_ts", et->start_ts);
    fd_json_begin_array(&w.json, "nodes");
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        if (!et->unlinked || (et->nodes.list[i].flags & FD_ET_GPU) == 0) {
            put_node(&w, i);
        }
        status = fd_bytes_out_flow(out, error);
    }
    fd_json_line(&w.json);
    fd_json_end_array(&w.json);
    fd_json_put_i64(&w.json, "finish_ts", et->finish_ts);
    fd_json_end_object(&w.json);
    fd_buffer_text(w.json.to, "\n");
    return status;
}
