#include "et/readers/et_readers.h"

#include "base/budget.h"
#include "et/et_names.h"
#include "et/node_fields.h"
#include "et/process_group_table.h"
#include "et/readers/chakra_fields.h"

enum { MOST = FD_BYTES_IN_MOST / 2, LONGEST = 10 };

/* An attribute of a message. */
typedef struct attribute {
    fd_span name;
    uint32_t field; /* field of the value; 0: no value */
    uint64_t number;
    fd_span bytes;
} attribute;

static bool
read_attr(const fd_proto_field *message, attribute *attr)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    *attr = (attribute){.name = {"", ""}};
    while (fd_proto_next(&r, &f)) {
        fd_span bytes = {f.bytes, f.bytes + f.size};
        if (f.number == FD_CHAKRA_ATTR_NAME) {
            attr->name = bytes;
        }
        else if (f.number >= FD_CHAKRA_DOUBLE && f.number <= FD_CHAKRA_LAST
                 && f.wire == fd_chakra_wire(f.number)) {
            attr->field = f.number;
            attr->number = f.value;
            attr->bytes = bytes;
        }
    }
    return !r.bad;
}

/* Store an attribute in a member; a text instead of a number, or the reverse,
 * is a fault. */
static void
fill_member(fd_et *et, void *record, const fd_et_field *field,
            const attribute *attr)
{
    bool is_text = fd_chakra_wire(attr->field) == FD_PROTO_BYTES;
    if (is_text != (field->column.type == FD_COLUMN_TEXT)) {
        et->faults.wrong++;
        return;
    }
    fd_cell_set(&field->column, record,
                is_text ? fd_et_add_text(et, attr->bytes) : attr->number);
}

/* Return the current node, which can move when nodes are added. */
static fd_et_node *
last_node(fd_et *et)
{
    return &et->nodes.list[et->nodes.count - 1];
}

static void
keep_attr(fd_et *et, const attribute *attr)
{
    fd_et_attr kept = {.name = fd_et_add_text(et, attr->name),
                       .field = attr->field,
                       .number = attr->number};
    if (fd_chakra_wire(attr->field) == FD_PROTO_BYTES) {
        /* Bytes are copied unchanged: lists of numbers are not text. */
        kept.text = fd_et_add_bytes(et, attr->bytes);
    }
    fd_et_add_attr(et, last_node(et), kept);
}

static void
take_attr(fd_et *et, const attribute *attr, fd_span *kinds)
{
    size_t member =
        fd_et_field_at(fd_et_node_fields, FD_ET_NODE_FIELDS, attr->name);
    size_t comm =
        fd_et_field_at(fd_et_comm_fields, FD_ET_COMM_FIELDS, attr->name);
    if (member < FD_ET_NODE_FIELDS) {
        fill_member(et, last_node(et), &fd_et_node_fields[member], attr);
    }
    else if (comm < FD_ET_COMM_FIELDS) {
        fill_member(et, fd_et_make_comm(et, et->nodes.count - 1),
                    &fd_et_comm_fields[comm], attr);
    }
    else if (fd_span_is(attr->name, "is_cpu_op")) {
        last_node(et)->flags &=
            (uint8_t)(attr->number != 0 ? ~FD_ET_GPU : 0xFF);
    }
    else if (fd_span_is(attr->name, "fd_edges")) {
        *kinds = attr->bytes;
    }
    else if (attr->field != 0) {
        keep_attr(et, attr);
    }
}

static void
read_side(fd_et *et, const fd_proto_field *message, fd_et_io *side)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(message->bytes, message->size);
    while (fd_proto_next(&r, &f)) {
        uint32_t *to = f.number == FD_CHAKRA_VALUES ? &side->values
                     : f.number == FD_CHAKRA_SHAPES ? &side->shapes
                     : f.number == FD_CHAKRA_TYPES  ? &side->types
                                                    : NULL;
        if (to != NULL && f.wire == FD_PROTO_BYTES) {
            *to = fd_et_add_text(et, (fd_span){f.bytes, f.bytes + f.size});
        }
    }
}

static void
add_dep(fd_et *et, bool control, uint64_t id)
{
    fd_et_node *node = last_node(et);
    if (control && node->parent_id == node->id) {
        node->parent_id = id;
        return;
    }
    fd_et_given given = {et->nodes.count - 1, 1U << FD_ET_GIVEN, id};
    fd_arena_push(&et->arena, &et->given, given);
}

/* Read dependencies, packed or one per field. */
static void
take_deps(fd_et *et, const fd_proto_field *f)
{
    bool control = f->number == FD_CHAKRA_CTRL_DEPS;
    if (f->wire == FD_PROTO_VARINT) {
        add_dep(et, control, f->value);
        return;
    }
    const char *at = f->bytes;
    const char *end = f->bytes + f->size;
    uint64_t id;
    while (f->wire == FD_PROTO_BYTES && fd_proto_varint(&at, end, &id)) {
        add_dep(et, control, id);
    }
}

static void
take_field(fd_et *et, const fd_proto_field *f, fd_span *kinds)
{
    fd_et_node *node = last_node(et);
    attribute attr;
    switch (f->number) {
    case FD_CHAKRA_NAME:
        node->name =
            fd_et_add_text(et, (fd_span){f->bytes, f->bytes + f->size});
        break;
    case FD_CHAKRA_TYPE:
        node->type = f->value < FD_ET_TYPES ? (uint8_t)f->value : 0;
        break;
    case FD_CHAKRA_START:
        node->start_ns =
            f->value > INT64_MAX / 1000 ? 0 : (int64_t)f->value * 1000;
        break;
    case FD_CHAKRA_DURATION:
        node->self_ns =
            f->value > INT64_MAX / 1000 ? 0 : (int64_t)f->value * 1000;
        node->dur_ns = node->self_ns;
        break;
    case FD_CHAKRA_CTRL_DEPS:
    case FD_CHAKRA_DATA_DEPS:
        take_deps(et, f);
        break;
    case FD_CHAKRA_INPUTS:
        read_side(et, f, &node->in);
        break;
    case FD_CHAKRA_OUTPUTS:
        read_side(et, f, &node->out);
        break;
    case FD_CHAKRA_ATTR:
        et->faults.wrong += !read_attr(f, &attr);
        take_attr(et, &attr, kinds);
        break;
    default:
        break;
    }
}

/* Set the kinds of edges, which files of fastdispatch state. */
static void
set_kinds(fd_et *et, uint32_t from, fd_span kinds)
{
    if (et->given.count - from != fd_span_size(kinds)) {
        return;
    }
    for (uint32_t i = from; i < et->given.count; i++) {
        et->given.list[i].kinds = (unsigned char)kinds.from[i - from];
    }
}

/* Add a node; return false if its message is malformed. */
static bool
read_node(fd_et *et, const char *bytes, size_t size)
{
    fd_proto_field f;
    fd_proto_reader r = fd_proto_read(bytes, size);
    fd_span kinds = {NULL, NULL};
    uint32_t deps = et->given.count;
    fd_et_node *node = fd_et_add(et);
    node->flags = FD_ET_GPU | FD_ET_WRITTEN;
    node->type = 0;
    while (fd_proto_next(&r, &f)) {
        node->id = f.number == FD_CHAKRA_ID ? f.value : node->id;
    }
    if (r.bad) {
        et->nodes.count--;
        return false;
    }
    node->parent_id = node->id;
    r = fd_proto_read(bytes, size);
    while (fd_proto_next(&r, &f)) {
        take_field(et, &f, &kinds);
    }
    node = last_node(et);
    node->flags |= fd_et_root(fd_et_text(et, node->name));
    node->flags |= node->start_ns > 0 || node->dur_ns > 0 ? FD_ET_TIMED : 0;
    set_kinds(et, deps, kinds);
    return true;
}

static void
take_group(fd_et *et, fd_span group)
{
    fd_buffer *list = fd_arena_buffer(&et->arena);
    fd_buffer_text(list, "[");
    fd_buffer_bytes(list, group.from, fd_span_size(group));
    fd_buffer_text(list, "]");
    fd_arena_check(&et->arena, list->status);
    fd_et_add_groups(et, fd_span_of(list));
    fd_arena_drop(list);
}

static void
take_head_attr(fd_et *et, const attribute *attr)
{
    size_t at =
        fd_et_field_at(fd_et_head_fields, FD_ET_HEAD_FIELDS, attr->name);
    bool is_string = attr->field == FD_CHAKRA_STRING;
    if (is_string && fd_span_is(attr->name, "fd_group")) {
        take_group(et, attr->bytes);
    }
    if (at == FD_ET_HEAD_FIELDS) {
        return;
    }
    const fd_et_field *field = &fd_et_head_fields[at];
    uint64_t most = field->use == FD_ET_KNOWN           ? INT32_MAX
                  : field->column.type == FD_COLUMN_U32 ? UINT32_MAX
                                                        : UINT64_MAX;
    if (field->column.type != FD_COLUMN_TEXT && attr->number <= most) {
        fd_cell_set(&field->column, et, attr->number);
        et->finished = et->finished || at == FD_ET_FINISH_FIELD;
    }
    if (field->column.type == FD_COLUMN_TEXT && is_string) {
        fd_cell_set(&field->column, et, fd_et_add_text(et, attr->bytes));
    }
}

static void
read_head(fd_et *et, const char *bytes, size_t size)
{
    fd_proto_field f;
    attribute attr;
    fd_proto_reader r = fd_proto_read(bytes, size);
    while (fd_proto_next(&r, &f)) {
        if (f.number == FD_CHAKRA_META_ATTR && f.wire == FD_PROTO_BYTES
            && read_attr(&f, &attr)) {
            take_head_attr(et, &attr);
        }
    }
}

/* Read until `size` bytes are in memory. */
static bool
have_bytes(fd_bytes_in *in, size_t size)
{
    while ((size_t)(in->end - in->at) < size) {
        if (!fd_bytes_in_more(in)) {
            return false;
        }
    }
    return true;
}

static void
lose_bytes(fd_et *et, const fd_bytes_in *in, const char *what, uint64_t bytes)
{
    et->faults.lost_bytes += bytes;
    fd_et_note_damage(et, in, in->at,
                      in->trouble != NULL ? in->trouble : what);
}

void
fd_et_read_chakra(fd_et *et, fd_bytes_in *in)
{
    bool head = true;
    for (;;) {
        uint64_t size;
        have_bytes(in, LONGEST);
        const char *at = in->at;
        if (at == in->end) {
            break;
        }
        if (!fd_proto_varint(&at, in->end, &size) || size > fd_budget(MOST)
            || !have_bytes(in, (size_t)(at - in->at) + (size_t)size)) {
            uint64_t from = fd_bytes_in_offset(in, in->at);
            lose_bytes(et, in, "cut short", 0);
            do {
                in->at = in->end;
            } while (fd_bytes_in_more(in));
            et->faults.lost_bytes += fd_bytes_in_offset(in, in->end) - from;
            break;
        }
        /* Reading may have moved the earlier bytes. */
        at = in->at;
        fd_proto_varint(&at, in->end, &size);
        if (head) {
            read_head(et, at, (size_t)size);
        }
        else if (!read_node(et, at, (size_t)size)) {
            lose_bytes(et, in, "no node", size);
        }
        head = false;
        in->at = at + size;
    }
    if (in->trouble != NULL && et->faults.lost == 0) {
        lose_bytes(et, in, "", 0);
    }
    fd_arena_check(&et->arena, in->status);
}

bool
fd_et_is_chakra(const char *head, size_t size)
{
    uint64_t length;
    fd_proto_field f;
    const char *at = head;
    const char *end = head + size;
    if (size == 0 || !fd_proto_varint(&at, end, &length)
        || length > (uint64_t)(end - at)) {
        return false;
    }
    fd_proto_reader r = fd_proto_read(at, (size_t)length);
    bool good = true;
    while (fd_proto_next(&r, &f)) {
        good = good && f.number <= FD_CHAKRA_META_ATTR
            && f.wire == FD_PROTO_BYTES;
    }
    return good && !r.bad;
}
