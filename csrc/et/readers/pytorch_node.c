#include "et/readers/et_readers.h"

#include "et/et_names.h"
#include "et/node_fields.h"
#include "et/readers/chakra_fields.h"
#include "json/decimal.h"

#include <string.h>

/* The values of a node, collected before the node is added, so that a
 * truncated object adds no node. */
typedef struct parts {
    fd_span id;
    fd_span name;
    fd_span parent;
    fd_span cat;
    fd_span group;
    fd_span ts;
    fd_span dur;
    fd_span self;
    fd_span sync;
    fd_span event;
    fd_span given;
    fd_span thread;
    fd_span attrs;
    fd_span members[FD_ET_NODE_FIELDS];
    fd_span in[4]; /* values, shapes, types, strides */
    fd_span out[4];
    bool raw_name; /* not escaped by PyTorch */
} parts;

/* Return where to store a single value, by its name, which is a member of the
 * node or, since 1.0.2, an attribute. */
static fd_span *
field_of(parts *p, fd_span name)
{
    const struct {
        const char *name;
        fd_span *span;
    } fields[] = {
        {"id", &p->id},
        {"name", &p->name},
        {"ctrl_deps", &p->parent},
        {"parent", &p->parent},
        {"attrs", &p->attrs},
        {"ts", &p->ts},
        {"inclusive_dur", &p->dur},
        {"exclusive_dur", &p->self},
        {"cat", &p->cat},
        {"pg_name", &p->group},
        {"sync_dep", &p->sync},
        {"fd_event_dep", &p->event},
        {"fd_given_dep", &p->given},
        {"inter_thread_dep", &p->thread},
        {"input_shapes", &p->in[1]},
        {"input_types", &p->in[2]},
        {"output_shapes", &p->out[1]},
        {"output_types", &p->out[2]},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fd_span_is(name, fields[i].name)) {
            return fields[i].span;
        }
    }
    size_t at = fd_et_field_at(fd_et_node_fields, FD_ET_NODE_FIELDS, name);
    return at < FD_ET_OTHER_FIELDS || at == FD_ET_THREAD_FIELD
             ? &p->members[at]
             : NULL;
}

/* Find the end of a name with unescaped quotes: the start of the member that
 * follows names in PyTorch's files. */
static bool
find_name_end(fd_scan *scan, const char *from)
{
    static const char *const next[] = {"\", \"ctrl_deps\":",
                                       "\", \"parent\":"};
    const char *line = memchr(from, '\n', (size_t)(scan->end - from));
    size_t size = (size_t)((line != NULL ? line : scan->end) - from);
    for (size_t i = 0; i < 2; i++) {
        const char *end = memmem(from, size, next[i], strlen(next[i]));
        if (end != NULL) {
            scan->at = end + 1;
            return true;
        }
    }
    return false;
}

static fd_scan_result
scan_name(fd_scan *scan, parts *p)
{
    const char *from = scan->at;
    uint32_t repairs = scan->repairs.count;
    if (from == scan->end) {
        return FD_SCAN_CUT;
    }
    fd_scan_result result = fd_scan_value(scan);
    if (result == FD_SCAN_OK) {
        p->name = (fd_span){from, scan->at};
        fd_scan_space(scan);
        if (scan->at == scan->end) {
            return FD_SCAN_CUT;
        }
        if (*scan->at == ',' || *scan->at == '}') {
            return FD_SCAN_OK;
        }
    }
    if (result == FD_SCAN_ENOMEM || *from != '"'
        || !find_name_end(scan, from + 1)) {
        return result == FD_SCAN_OK ? FD_SCAN_BAD : result;
    }
    scan->repairs.count = repairs;
    p->name = (fd_span){from, scan->at};
    p->raw_name = true;
    return FD_SCAN_OK;
}

/* Scan "inputs" or "outputs": an object of four lists; in 1.0.1, the
 * values. */
static fd_scan_result
scan_side(fd_scan *scan, fd_span side[4])
{
    static const char *const names[] = {"values", "shapes", "types",
                                        "strides"};
    const char *from = scan->at;
    fd_span name;
    fd_scan_result result;
    if (scan->at == scan->end) {
        return FD_SCAN_CUT;
    }
    if (*scan->at != '{') {
        result = fd_scan_value(scan);
        side[0] = (fd_span){from, scan->at};
        return result;
    }
    scan->at++;
    for (bool first = true;; first = false) {
        result = fd_scan_member(scan, first, &name);
        if (result != FD_SCAN_OK) {
            return result == FD_SCAN_DONE ? FD_SCAN_OK : result;
        }
        from = scan->at;
        result = fd_scan_value(scan);
        if (result != FD_SCAN_OK) {
            return result;
        }
        for (int i = 0; i < 4; i++) {
            if (fd_span_is(name, names[i])) {
                side[i] = (fd_span){from, scan->at};
            }
        }
    }
}

static fd_scan_result
scan_member(fd_scan *scan, fd_span name, parts *p)
{
    if (fd_span_is(name, "inputs")) {
        return scan_side(scan, p->in);
    }
    if (fd_span_is(name, "outputs")) {
        return scan_side(scan, p->out);
    }
    if (fd_span_is(name, "name")) {
        return scan_name(scan, p);
    }
    const char *from = scan->at;
    fd_scan_result result = fd_scan_value(scan);
    fd_span *field = field_of(p, name);
    if (field != NULL) {
        *field = (fd_span){from, scan->at};
    }
    return result;
}

bool
fd_et_take_number(fd_et *et, fd_span value, int64_t *number)
{
    uint64_t size;
    bool negative = value.from < value.to && *value.from == '-';
    bool good = value.from != NULL
             && fd_span_u64((fd_span){value.from + negative, value.to}, &size);
    if (good) {
        *number = negative ? (int64_t)(0 - size) : (int64_t)size;
    }
    et->faults.wrong +=
        value.from != NULL && !good && !fd_span_is(value, "null");
    return good;
}

uint32_t
fd_et_take_text(fd_et *et, const fd_scan *scan, fd_span value)
{
    fd_span inside = fd_span_inside(value);
    if (value.from == NULL || fd_span_size(inside) == 0
        || fd_span_is(value, "null")) {
        return 0;
    }
    return scan->repairs.count == 0
                && memchr(inside.from, '\\', fd_span_size(inside)) == NULL
             ? fd_et_add_bytes(et, inside)
             : fd_et_add_json_text(et, inside);
}

void
fd_et_count_repairs(fd_et *et, const fd_scan *scan)
{
    for (uint32_t i = 0; i < scan->repairs.count; i++) {
        fd_span bad = scan->repairs.list[i].bad;
        bad.from += *bad.from == '-';
        bool number = fd_span_is(bad, "NaN") || fd_span_is(bad, "Infinity");
        et->faults.repaired += number;
        et->faults.invalid += !number;
    }
}

/* Add a JSON value, repaired if necessary. */
static uint32_t
take_json(fd_et *et, const fd_scan *scan, fd_span value)
{
    if (value.from == NULL || scan->repairs.count == 0) {
        return value.from == NULL ? 0 : fd_et_add_json(et, value);
    }
    fd_buffer *good = fd_arena_buffer(&et->arena);
    fd_scan_copy(scan, value, good);
    fd_arena_check(&et->arena, good->status);
    uint32_t text = fd_et_add_json(et, fd_span_of(good));
    fd_arena_drop(good);
    return text;
}

static uint32_t
take_name(fd_et *et, const fd_scan *scan, const parts *p)
{
    if (!p->raw_name) {
        return fd_et_take_text(et, scan, p->name);
    }
    et->faults.invalid++;
    return fd_et_add_text(et, fd_span_inside(p->name));
}

/* Add an attribute without a field in the node. */
static void
keep_attr(fd_et *et, const fd_scan *scan, fd_et_node *node, fd_span name,
          fd_span value)
{
    fd_et_attr attr = {.name = fd_et_take_text(et, scan, name),
                       .field = FD_CHAKRA_STRING};
    int64_t number;
    if (value.from < value.to && *value.from == '"') {
        attr.text = fd_et_take_text(et, scan, value);
    }
    else if (fd_span_is(value, "true") || fd_span_is(value, "false")) {
        attr.field = FD_CHAKRA_BOOL;
        attr.number = *value.from == 't';
    }
    else if (fd_span_size(value) < 20
             && strspn(value.from, "-0123456789") >= fd_span_size(value)
             && fd_et_take_number(et, value, &number)) {
        attr.field = FD_CHAKRA_INT64;
        attr.number = (uint64_t)number;
    }
    else {
        attr.text = take_json(et, scan, value);
    }
    fd_et_add_attr(et, node, attr);
}

/* Read the list of attributes into `p`; if `node` is not NULL, add the other
 * attributes to it. */
static void
take_attrs(fd_et *et, const fd_scan *whole, parts *p, fd_et_node *node)
{
    fd_scan scan = {.at = p->attrs.from, .end = p->attrs.to, .forgets = true};
    fd_span name;
    fd_scan_result result =
        p->attrs.from == NULL ? FD_SCAN_BAD : fd_scan_mark(&scan, '[');
    while (result == FD_SCAN_OK && fd_scan_mark(&scan, '{') == FD_SCAN_OK) {
        fd_span key = {NULL, NULL};
        fd_span value = {NULL, NULL};
        bool first = true;
        while ((result = fd_scan_member(&scan, first, &name)) == FD_SCAN_OK) {
            const char *from = scan.at;
            result = fd_scan_value(&scan);
            fd_span found = {from, scan.at};
            key = fd_span_is(name, "name") ? found : key;
            value = fd_span_is(name, "value") ? found : value;
            first = false;
        }
        if (key.from != NULL && value.from != NULL) {
            fd_span *field = field_of(p, fd_span_inside(key));
            if (node == NULL && field != NULL) {
                *field = value;
            }
            if (node != NULL && field == NULL) {
                keep_attr(et, whole, node, key, value);
            }
        }
        result = fd_scan_mark(&scan, ',');
    }
}

static void
take_side(fd_et *et, const fd_scan *scan, const fd_span side[4], fd_et_io *io)
{
    uint32_t *const texts[] = {&io->values, &io->shapes, &io->types,
                               &io->strides};
    for (int i = 0; i < 4; i++) {
        *texts[i] = take_json(et, scan, side[i]);
    }
}

static void
take_numbers(fd_et *et, const parts *p, fd_et_node *node)
{
    int64_t number;
    if (fd_et_take_number(et, p->parent, &number)) {
        node->parent_id = (uint64_t)number;
    }
    for (int i = 0; i < FD_ET_NODE_FIELDS; i++) {
        bool known = i != FD_ET_SCHEMA_FIELD
                  && (i != FD_ET_STREAM_FIELD || p->cat.from != NULL);
        if (known && fd_et_take_number(et, p->members[i], &number)) {
            fd_cell_set(&fd_et_node_fields[i].column, node, (uint64_t)number);
        }
    }
}

/* Read the members that the linker adds. */
static void
take_times(fd_et *et, const parts *p, fd_et_node *node)
{
    int64_t ts = 0;
    int64_t dur = 0;
    int64_t self = 0;
    if (p->ts.from == NULL || fd_span_is(p->ts, "null")) {
        return;
    }
    if (!fd_decimal_ns(p->ts, &ts)
        || (p->dur.from != NULL && !fd_decimal_ns(p->dur, &dur))
        || (p->self.from != NULL && !fd_decimal_ns(p->self, &self))) {
        et->faults.wrong++;
        return;
    }
    node->flags |= FD_ET_TIMED;
    node->start_ns = ts;
    node->dur_ns = dur;
    node->self_ns = self;
}

/* Read dependencies: "sync_dep" is a list of ids, "inter_thread_dep" one
 * id. */
static void
take_given(fd_et *et, fd_span value, uint32_t kinds)
{
    const char *at = value.from;
    while (at != NULL && at < value.to) {
        const char *from = at;
        while (at < value.to && *at >= '0' && *at <= '9') {
            at++;
        }
        uint64_t id;
        if (fd_span_u64((fd_span){from, at}, &id)) {
            fd_et_given given = {et->nodes.count - 1, kinds, id};
            fd_arena_push(&et->arena, &et->given, given);
        }
        at++;
    }
}

static void
take_group(fd_et *et, const fd_scan *scan, const parts *p)
{
    uint32_t group = fd_et_take_text(et, scan, p->group);
    if (group != 0) {
        fd_et_make_comm(et, et->nodes.count - 1)->group = group;
    }
}

static void
build_node(fd_et *et, const fd_scan *scan, parts *p, uint64_t id)
{
    fd_et_node *node = fd_et_add(et);
    take_attrs(et, scan, p, NULL);
    node->id = node->parent_id = id;
    take_numbers(et, p, node);
    take_times(et, p, node);
    node->name = take_name(et, scan, p);
    node->schema = fd_et_take_text(et, scan, p->members[FD_ET_SCHEMA_FIELD]);
    node->category = fd_et_take_text(et, scan, p->cat);
    take_side(et, scan, p->in, &node->in);
    take_side(et, scan, p->out, &node->out);
    take_attrs(et, scan, p, node);
    const char *cat = fd_et_text(et, node->category);
    bool host = node->category == 0 || strcmp(cat, "cpu_op") == 0
             || strcmp(cat, "user_annotation") == 0;
    node->flags |= fd_et_root(fd_et_text(et, node->name));
    node->flags |= host ? 0 : FD_ET_GPU;
    fd_et_count_repairs(et, scan);
    const struct {
        fd_span ids;
        fd_et_edge_kind kind;
    } waits[] = {{p->sync, FD_ET_SYNC},
                 {p->event, FD_ET_EVENT},
                 {p->given, FD_ET_GIVEN},
                 {p->thread, FD_ET_GIVEN}};
    for (size_t i = 0; i < 4; i++) {
        take_given(et, waits[i].ids, 1U << waits[i].kind);
    }
    take_group(et, scan, p);
}

fd_scan_result
fd_et_scan_node(fd_scan *scan, fd_et *et)
{
    parts p = {.raw_name = false};
    fd_span name;
    uint64_t id;
    fd_scan_result result = fd_scan_mark(scan, '{');
    for (bool first = true; result == FD_SCAN_OK; first = false) {
        result = fd_scan_member(scan, first, &name);
        if (result == FD_SCAN_OK) {
            result = scan_member(scan, name, &p);
        }
    }
    if (result != FD_SCAN_DONE) {
        return result;
    }
    if (p.id.from == NULL || !fd_span_u64(p.id, &id)) {
        return FD_SCAN_BAD;
    }
    build_node(et, scan, &p, id);
    return FD_SCAN_OK;
}
