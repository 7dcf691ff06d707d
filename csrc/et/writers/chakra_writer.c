#include "et/et_file.h"

#include "et/node_fields.h"
#include "et/readers/chakra_fields.h"
#include "streams/output_stream.h"
#include "streams/protobuf.h"
#include "json/json_writer.h"

#include <string.h>

/* Buffers that are reused for each node. */
typedef struct writing {
    const fd_et *et;
    fd_buffer *out;
    fd_buffer node;
    fd_buffer part;
    fd_buffer packed;
    uint32_t edge; /* index of the next edge */
} writing;

static void
put_text(writing *w, fd_buffer *to, uint32_t field, uint32_t text)
{
    size_t size = fd_text_pool_size(&w->et->texts, text);
    if (size > 0) {
        fd_proto_bytes(to, field, fd_et_text(w->et, text), size);
    }
}

static void
put_number(writing *w, uint32_t owner, const char *name, uint32_t field,
           uint64_t value)
{
    fd_proto_text(&w->part, FD_CHAKRA_ATTR_NAME, name);
    fd_proto_number(&w->part, field, value);
    fd_proto_message(&w->node, owner, &w->part);
}

/* Write members of a record, from `field` on, as attributes of the message. */
static void
put_members(writing *w, uint32_t owner, const fd_et_field *field,
            const fd_et_field *end, const void *record, bool timed)
{
    for (; field < end; field++) {
        const char *name = field->column.name;
        uint64_t value = fd_cell(&field->column, record);
        bool used = field->use == FD_ET_ALWAYS
                 || (field->use == FD_ET_NONZERO && value != 0)
                 || (field->use == FD_ET_KNOWN && (int64_t)value >= 0)
                 || (field->use == FD_ET_IF_TIMED && timed)
                 || (field->use == FD_ET_LISTED && value != 0
                     && strcmp(fd_et_text(w->et, (uint32_t)value), "[]") != 0);
        if (used && field->column.type == FD_COLUMN_TEXT) {
            fd_proto_text(&w->part, FD_CHAKRA_ATTR_NAME, name);
            fd_proto_bytes(&w->part, FD_CHAKRA_STRING,
                           fd_et_text(w->et, (uint32_t)value),
                           fd_text_pool_size(&w->et->texts, (uint32_t)value));
            fd_proto_message(&w->node, owner, &w->part);
        }
        else if (used) {
            put_number(w, owner, name, field->number, value);
        }
    }
}

static void
put_length(writing *w)
{
    uint8_t bytes[10];
    uint8_t *end = fd_proto_put(bytes, w->node.size);
    fd_buffer_bytes(w->out, bytes, (size_t)(end - bytes));
    fd_buffer_bytes(w->out, w->node.bytes, w->node.size);
    if (w->node.status != FD_OK || w->part.status != FD_OK
        || w->packed.status != FD_OK) {
        w->out->status = FD_ENOMEM;
    }
    w->node.size = 0;
}

/* Write a process group as JSON: the format has no message for it. */
static void
put_group(writing *w, const fd_et_group *group)
{
    const fd_et *et = w->et;
    fd_json_writer json = {.to = &w->packed};
    fd_json_begin_object(&json, NULL);
    fd_et_put_text(&json, "pg_name", et, group->name);
    fd_et_put_text(&json, "pg_desc", et, group->description);
    fd_json_put_u64(&json, "group_size", group->size);
    if (group->ranks != 0) {
        fd_buffer_text(fd_json_put(&json, "ranks"),
                       fd_et_text(et, group->ranks));
    }
    fd_json_end_object(&json);
    fd_proto_text(&w->part, FD_CHAKRA_ATTR_NAME, "fd_group");
    fd_proto_message(&w->part, FD_CHAKRA_STRING, &w->packed);
    fd_proto_message(&w->node, FD_CHAKRA_META_ATTR, &w->part);
}

static void
put_head(writing *w)
{
    const fd_et *et = w->et;
    fd_proto_text(&w->node, FD_CHAKRA_VERSION, "1.0.0");
    put_members(w, FD_CHAKRA_META_ATTR, fd_et_head_fields,
                fd_et_head_fields + FD_ET_HEAD_FIELDS, et, false);
    for (uint32_t i = 0; i < et->groups.count; i++) {
        put_group(w, &et->groups.list[i]);
    }
    put_length(w);
}

static void
put_side(writing *w, uint32_t field, const fd_et_io *io)
{
    put_text(w, &w->part, FD_CHAKRA_VALUES, io->values);
    put_text(w, &w->part, FD_CHAKRA_SHAPES, io->shapes);
    put_text(w, &w->part, FD_CHAKRA_TYPES, io->types);
    if (w->part.size > 0) {
        fd_proto_message(&w->node, field, &w->part);
    }
}

static void
pack_varint(fd_buffer *to, uint64_t value)
{
    uint8_t bytes[10];
    uint8_t *end = fd_proto_put(bytes, value);
    fd_buffer_bytes(to, bytes, (size_t)(end - bytes));
}

/* Write `data_deps`; append their kinds to `part`, for the attribute. */
static void
put_deps(writing *w, uint32_t index)
{
    const fd_et *et = w->et;
    const fd_et_node *node = &et->nodes.list[index];
    w->part.size = 0;
    if (node->parent != 0) {
        pack_varint(&w->packed, et->nodes.list[node->parent - 1].id);
        fd_proto_message(&w->node, FD_CHAKRA_CTRL_DEPS, &w->packed);
    }
    for (; w->edge < et->edges.count && et->edges.list[w->edge].to == index;
         w->edge++) {
        const fd_et_edge *edge = &et->edges.list[w->edge];
        uint8_t kinds = (uint8_t)edge->kinds;
        pack_varint(&w->packed, et->nodes.list[edge->from].id);
        fd_buffer_bytes(&w->part, &kinds, 1);
    }
    if (w->packed.size > 0) {
        fd_proto_message(&w->node, FD_CHAKRA_DATA_DEPS, &w->packed);
    }
}

static void
put_kinds(writing *w)
{
    if (w->part.size > 0) {
        fd_buffer_bytes(&w->packed, w->part.bytes, w->part.size);
        w->part.size = 0;
        fd_proto_text(&w->part, FD_CHAKRA_ATTR_NAME, "fd_edges");
        fd_proto_message(&w->part, FD_CHAKRA_BYTES, &w->packed);
        fd_proto_message(&w->node, FD_CHAKRA_ATTR, &w->part);
    }
}

/* Write the value of an attribute; return false for an empty text. */
static bool
put_value(writing *w, const fd_et_attr *attr)
{
    uint8_t bytes[10 + 4];
    switch (fd_chakra_wire(attr->field)) {
    case FD_PROTO_FIXED64:
        fd_proto_fixed(&w->part, attr->field, &attr->number);
        return true;
    case FD_PROTO_VARINT:
        fd_proto_number(&w->part, attr->field, attr->number);
        return true;
    case FD_PROTO_FIXED32: {
        uint8_t *end =
            fd_proto_put(bytes, attr->field << 3 | FD_PROTO_FIXED32);
        for (int i = 0; i < 4; i++) {
            *end++ = (uint8_t)(attr->number >> 8 * i);
        }
        fd_buffer_bytes(&w->part, bytes, (size_t)(end - bytes));
        return true;
    }
    default:
        put_text(w, &w->part, attr->field, attr->text);
        return attr->text != 0;
    }
}

/* Write attributes without a field in the node; skip empty ones. */
static void
put_others(writing *w, const fd_et_node *node)
{
    const fd_et *et = w->et;
    for (uint32_t i = 0; i < node->attr_count; i++) {
        const fd_et_attr *attr = &et->attrs.list[node->attrs + i];
        const char *name = fd_et_text(et, attr->name);
        /* Already written for a communication. */
        if (node->comm != 0 && strcmp(name, "pg_name") == 0) {
            continue;
        }
        fd_proto_text(&w->part, FD_CHAKRA_ATTR_NAME, name);
        if (!put_value(w, attr)) {
            w->part.size = 0;
            continue;
        }
        fd_proto_message(&w->node, FD_CHAKRA_ATTR, &w->part);
    }
}

/* Write the members of a node and of its communication. The feeder reads each
 * of them with one fixed type, without a check. */
static void
put_fields(writing *w, const fd_et_node *node)
{
    const uint32_t owner = FD_CHAKRA_ATTR;
    const fd_et_field *stream = fd_et_node_fields + FD_ET_STREAM_FIELD;
    const fd_et_field *others = fd_et_node_fields + FD_ET_OTHER_FIELDS;
    const fd_et_comm *comm = fd_et_comm_of(w->et, node);
    put_members(w, owner, fd_et_node_fields, stream, node, false);
    put_number(w, owner, "is_cpu_op", FD_CHAKRA_BOOL,
               (node->flags & FD_ET_GPU) == 0);
    put_members(w, owner, stream, others, node, false);
    if (comm != NULL && node->type >= FD_ET_SEND) {
        put_members(w, owner, fd_et_comm_fields,
                    fd_et_comm_fields + FD_ET_COMM_FIELDS, comm, false);
    }
    put_members(w, owner, others, fd_et_node_fields + FD_ET_NODE_FIELDS, node,
                (node->flags & FD_ET_TIMED) != 0);
}

static uint64_t
to_micros(int64_t ns, int64_t up)
{
    return ns <= 0 ? 0 : ((uint64_t)ns + (uint64_t)up) / 1000;
}

static void
put_node(writing *w, uint32_t index)
{
    const fd_et *et = w->et;
    const fd_et_node *node = &et->nodes.list[index];
    fd_proto_number(&w->node, FD_CHAKRA_ID, node->id);
    fd_proto_bytes(&w->node, FD_CHAKRA_NAME, fd_et_text(et, node->name),
                   fd_text_pool_size(&et->texts, node->name));
    fd_proto_number(&w->node, FD_CHAKRA_TYPE, node->type);
    put_deps(w, index);
    put_kinds(w);
    if ((node->flags & FD_ET_TIMED) != 0) {
        fd_proto_number(&w->node, FD_CHAKRA_START,
                        to_micros(node->start_ns, 0));
        fd_proto_number(&w->node, FD_CHAKRA_DURATION,
                        to_micros(node->self_ns, 500));
    }
    put_side(w, FD_CHAKRA_INPUTS, &node->in);
    put_side(w, FD_CHAKRA_OUTPUTS, &node->out);
    put_fields(w, node);
    put_others(w, node);
    put_length(w);
}

static fd_status
write_all(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    writing w = {.et = et, .out = fd_bytes_out_text(out)};
    fd_status status = FD_OK;
    put_head(&w);
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        put_node(&w, i);
        status = fd_bytes_out_flow(out, error);
    }
    fd_buffer_clear(&w.node);
    fd_buffer_clear(&w.part);
    fd_buffer_clear(&w.packed);
    return status;
}

fd_status
fd_et_save(const fd_et *et, const char *path, fd_error *error)
{
    fd_status status;
    size_t size = strlen(path);
    size -= size > 3 && strcmp(path + size - 3, ".gz") == 0 ? 3 : 0;
    if (size <= 3 || memcmp(path + size - 3, ".et", 3) != 0) {
        return fd_fail(error, FD_EINVAL,
                       "%s: write a name that ends in .et or .json, with .gz "
                       "or without",
                       path);
    }
    fd_bytes_out *out = fd_bytes_out_open(path, &status, error);
    if (status != FD_OK) {
        return status;
    }
    status = write_all(et, out, error);
    if (status == FD_OK) {
        return fd_bytes_out_keep(out, error);
    }
    fd_bytes_out_drop(out);
    return status;
}
