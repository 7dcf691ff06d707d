#include "et/writers/pytorch_writer.h"

#include "et/readers/chakra_fields.h"
#include "json/json_scan.h"

#include <inttypes.h>
#include <string.h>

static const char schema[] = "1.1.1-chakra.0.0.4";

typedef struct writing {
    const fd_et *et;
    fd_buffer *to;
    uint32_t edge; /* the next one */
    bool trusted;  /* lists came from JSON */
} writing;

static void
put_text(writing *w, uint32_t text)
{
    fd_buffer_json(w->to, fd_et_text(w->et, text),
                   fd_text_pool_size(&w->et->texts, text));
}

static void
put_i64(fd_buffer *to, int64_t value)
{
    fd_buffer_text(to, value < 0 ? "-" : "");
    fd_buffer_u64(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Microseconds with three digits behind the point. */
static void
put_us(fd_buffer *to, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    fd_buffer_text(to, ns < 0 ? "-" : "");
    fd_buffer_u64(to, size / 1000);
    char digits[] = {'.', (char)('0' + size / 100 % 10),
                     (char)('0' + size / 10 % 10), (char)('0' + size % 10)};
    fd_buffer_bytes(to, digits, size % 1000 == 0 ? 0 : sizeof digits);
}

/* What is no JSON, as one text in a list. */
static void
put_odd_list(writing *w, uint32_t text)
{
    fd_buffer_text(w->to, "[");
    put_text(w, text);
    fd_buffer_text(w->to, "]");
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

/* A list as it stands. Other programs' .et files have Python's spelling of
 * lists, which is no JSON: then as one text in a list. */
static void
put_list(writing *w, const char *name, uint32_t text)
{
    const char *list = fd_et_text(w->et, text);
    fd_buffer_text(w->to, name);
    if (text == 0) {
        fd_buffer_text(w->to, "[]");
    }
    else if (w->trusted
             || is_list(list, fd_text_pool_size(&w->et->texts, text))) {
        fd_buffer_bytes(w->to, list, fd_text_pool_size(&w->et->texts, text));
    }
    else {
        put_odd_list(w, text);
    }
}

static void
put_side(writing *w, const char *name, const fd_et_io *io)
{
    fd_buffer_text(w->to, name);
    put_list(w, "{\"values\":", io->values);
    put_list(w, ",\"shapes\":", io->shapes);
    put_list(w, ",\"types\":", io->types);
    put_list(w, ",\"strides\":", io->strides);
    fd_buffer_text(w->to, "}");
}

static void
put_number(writing *w, const char *name, const char *type, int64_t value)
{
    fd_buffer_text(w->to, "{\"name\":\"");
    fd_buffer_text(w->to, name);
    fd_buffer_text(w->to, "\",\"type\":\"");
    fd_buffer_text(w->to, type);
    fd_buffer_text(w->to, "\",\"value\":");
    put_i64(w->to, value);
    fd_buffer_text(w->to, "},");
}

static void
put_string(writing *w, uint32_t text)
{
    fd_buffer_text(w->to, "\"type\":\"string\",\"value\":");
    put_text(w, text);
    fd_buffer_text(w->to, "}");
}

static void
put_other(writing *w, const fd_et_attr *attr)
{
    fd_buffer_text(w->to, ",{\"name\":");
    put_text(w, attr->name);
    fd_buffer_text(w->to, ",");
    switch (fd_chakra_wire(attr->field)) {
    case FD_PROTO_VARINT:
        if (attr->field == FD_CHAKRA_BOOL) {
            fd_buffer_text(w->to, "\"type\":\"bool\",\"value\":");
            fd_buffer_text(w->to, attr->number != 0 ? "true" : "false");
        }
        else {
            fd_buffer_text(w->to, "\"type\":\"int64\",\"value\":");
            put_i64(w->to, (int64_t)attr->number);
        }
        fd_buffer_text(w->to, "}");
        break;
    case FD_PROTO_BYTES:
        put_string(w, attr->field == FD_CHAKRA_STRING ? attr->text : 0);
        break;
    default:
        fd_buffer_text(w->to, "\"type\":\"fixed\",\"value\":");
        fd_buffer_u64(w->to, attr->number);
        fd_buffer_text(w->to, "}");
    }
}

/* Those which readers of the format ask for are always there. */
static void
put_attrs(writing *w, const fd_et_node *node)
{
    static const char *const wanted[] = {"kernel_backend", "kernel_file"};
    const fd_et *et = w->et;
    fd_buffer_text(w->to, ",\"attrs\":[");
    put_number(w, "rf_id", "uint64", (int64_t)node->rf_id);
    put_number(w, "fw_parent", "uint64", (int64_t)node->fw_parent);
    put_number(w, "seq_id", "int64", node->seq);
    put_number(w, "scope", "uint64", node->scope);
    put_number(w, "tid", "uint64", node->tid);
    put_number(w, "fw_tid", "uint64", node->fw_tid);
    fd_buffer_text(w->to, "{\"name\":\"op_schema\",");
    put_string(w, node->schema);
    bool found[2] = {false, false};
    for (uint32_t i = 0; i < node->attr_count; i++) {
        const fd_et_attr *attr = &et->attrs.list[node->attrs + i];
        const char *name = fd_et_text(et, attr->name);
        found[0] = found[0] || strcmp(name, wanted[0]) == 0;
        found[1] = found[1] || strcmp(name, wanted[1]) == 0;
        put_other(w, attr);
    }
    for (int i = 0; i < 2; i++) {
        if (!found[i]) {
            fd_buffer_text(w->to, ",{\"name\":\"");
            fd_buffer_text(w->to, wanted[i]);
            fd_buffer_text(w->to, "\",");
            put_string(w, 0);
        }
    }
    if (node->thread != 0) {
        fd_buffer_text(w->to, ",");
        put_number(w, "fd_thread", "uint64", (int64_t)node->thread);
        w->to->size -= w->to->status == FD_OK;
    }
    fd_buffer_text(w->to, "]");
}

/* Ids of what a node waits for, a list a kind; edges of the others are found
 * again by whoever reads the file. */
static void
put_waits(writing *w, uint32_t place)
{
    static const struct {
        const char *name;
        fd_et_edge_kind kind;
    } lists[] = {{",\"sync_dep\":[", FD_ET_SYNC},
                 {",\"fd_event_dep\":[", FD_ET_EVENT},
                 {",\"fd_given_dep\":[", FD_ET_GIVEN}};
    const fd_et *et = w->et;
    while (w->edge < et->edges.count && et->edges.list[w->edge].to < place) {
        w->edge++; /* of a node that is left out */
    }
    uint32_t first = w->edge;
    while (w->edge < et->edges.count && et->edges.list[w->edge].to == place) {
        w->edge++;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        bool any = false;
        for (uint32_t j = first; j < w->edge; j++) {
            const fd_et_edge *edge = &et->edges.list[j];
            if ((edge->kinds & 1U << lists[i].kind) != 0) {
                fd_buffer_text(w->to, any ? "," : lists[i].name);
                fd_buffer_u64(w->to, et->nodes.list[edge->from].id);
                any = true;
            }
        }
        fd_buffer_text(w->to, any ? "]" : "");
    }
}

static void
put_linked(writing *w, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(w->et, node);
    if ((node->flags & FD_ET_TIMED) != 0) {
        fd_buffer_text(w->to, ",\"ts\":");
        put_us(w->to, node->start_ns);
        fd_buffer_text(w->to, ",\"inclusive_dur\":");
        put_us(w->to, node->dur_ns);
        fd_buffer_text(w->to, ",\"exclusive_dur\":");
        put_us(w->to, node->self_ns);
    }
    if ((node->flags & FD_ET_GPU) != 0) {
        fd_buffer_text(w->to, ",\"ph\":\"X\",\"cat\":");
        if (node->category != 0) {
            put_text(w, node->category);
        }
        else {
            fd_buffer_text(w->to, "\"kernel\"");
        }
        fd_buffer_text(w->to, ",\"stream\":");
        put_i64(w->to, node->stream);
        if (node->device != 0) {
            fd_buffer_format(w->to, ",\"fd_device\":%d", node->device);
        }
        if (comm != NULL && comm->group != 0) {
            fd_buffer_text(w->to, ",\"pg_name\":");
            put_text(w, comm->group);
        }
    }
}

static void
put_node(writing *w, uint32_t place)
{
    const fd_et_node *node = &w->et->nodes.list[place];
    uint64_t parent = node->parent == 0
                        ? node->parent_id
                        : w->et->nodes.list[node->parent - 1].id;
    fd_buffer_text(w->to, place == 0 ? "\n{\"id\":" : ",\n{\"id\":");
    fd_buffer_u64(w->to, node->id);
    fd_buffer_text(w->to, ",\"name\":");
    put_text(w, node->name);
    fd_buffer_text(w->to, ",\"ctrl_deps\":");
    fd_buffer_u64(w->to, parent);
    put_side(w, ",\"inputs\":", &node->in);
    put_side(w, ",\"outputs\":", &node->out);
    put_attrs(w, node);
    put_linked(w, node);
    put_waits(w, place);
    fd_buffer_text(w->to, "}");
}

fd_status
fd_et_write_pytorch(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    bool written =
        et->nodes.count > 0 && (et->nodes.list[0].flags & FD_ET_WRITTEN) != 0;
    writing w = {.et = et, .to = fd_bytes_out_text(out), .trusted = !written};
    fd_status status = FD_OK;
    fd_buffer_format(w.to, "{\"schema\":\"%s\",\"pid\":%" PRIu64 ",\"time\":",
                     schema, et->pid);
    put_text(&w, et->time);
    fd_buffer_format(w.to, ",\"start_ts\":%" PRId64 ",\"nodes\":[",
                     et->start_ts);
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        if (!et->unlinked || (et->nodes.list[i].flags & FD_ET_GPU) == 0) {
            put_node(&w, i);
        }
        status = fd_bytes_out_flow(out, error);
    }
    fd_buffer_format(w.to, "\n],\"finish_ts\":%" PRId64 "}\n", et->finish_ts);
    return status;
}
