#include "et/readers/workload_node.h"

#include "et/et_names.h"

#include <string.h>

/* The values of the members, absent ones without a text. */
typedef struct members {
    fd_span id;
    fd_span name;
    fd_span type;
    fd_span parents;
    fd_span deps;
    fd_span runtime;
    fd_span cpu;
    fd_span kind;
    fd_span size;
    fd_span src;
    fd_span dst;
    fd_span tag;
    fd_span group;
} members;

static void
take_member(members *m, fd_span name, fd_span value)
{
    const struct {
        const char *name;
        fd_span *to;
    } fields[] = {{"Id", &m->id},          {"Name", &m->name},
                  {"NodeType", &m->type},  {"ctrlDeps", &m->parents},
                  {"data_deps", &m->deps}, {"runtime", &m->runtime},
                  {"is_cpu_op", &m->cpu},  {"comm_type", &m->kind},
                  {"comm_size", &m->size}, {"comm_src", &m->src},
                  {"comm_dst", &m->dst},   {"comm_tag", &m->tag},
                  {"pg_name", &m->group}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fd_span_is(name, fields[i].name)) {
            *fields[i].to = value;
        }
    }
}

/* A number from 0 to `most`; `otherwise` if the member is absent or another
 * value, which is a fault. */
static int64_t
number(fd_et *et, fd_span value, int64_t most, int64_t otherwise)
{
    uint64_t found;
    if (value.from == NULL || fd_span_is(value, "null")) {
        return otherwise;
    }
    bool good = fd_span_u64(value, &found) && found <= (uint64_t)most;
    et->faults.wrong += !good;
    return good ? (int64_t)found : otherwise;
}

static fd_status
add_text(fd_et *et, fd_span value, uint32_t *text)
{
    bool quoted = value.from != NULL && *value.from == '"';
    return quoted ? fd_et_add_said(et, fd_span_inside(value), text) : FD_OK;
}

/* Read the ids of a list; only the first one if `first` is not NULL. */
static fd_status
take_ids(fd_et *et, fd_span list, uint64_t *first)
{
    fd_scan scan = {.at = list.from, .end = list.to, .forgets = true};
    fd_scan_result result =
        list.from == NULL ? FD_SCAN_BAD : fd_scan_mark(&scan, '[');
    fd_status status = FD_OK;
    while (result == FD_SCAN_OK && status == FD_OK) {
        uint64_t id;
        fd_scan_space(&scan);
        const char *from = scan.at;
        if (fd_scan_value(&scan) != FD_SCAN_OK
            || !fd_span_u64((fd_span){from, scan.at}, &id)) {
            break;
        }
        if (first != NULL) {
            *first = id;
            break;
        }
        fd_et_given given = {et->nodes.count - 1, 1U << FD_ET_GIVEN, id};
        status = fd_vector_push(&et->given, given);
        result = fd_scan_mark(&scan, ',');
    }
    return status;
}

static fd_status
take_comm(fd_et *et, const members *m)
{
    fd_et_comm *comm = fd_et_make_comm(et, et->nodes.count - 1);
    if (comm == NULL) {
        return FD_ENOMEM;
    }
    bool collective = et->nodes.list[et->nodes.count - 1].type == FD_ET_COLL;
    bool known = collective && m->kind.from != NULL && *m->kind.from != '-';
    comm->type =
        known ? (int32_t)number(et, m->kind, FD_ET_COLLS - 1, -1) : -1;
    comm->bytes = number(et, m->size, INT64_MAX, -1);
    if (!collective) {
        comm->src = (int32_t)number(et, m->src, INT32_MAX, -1);
        comm->dst = (int32_t)number(et, m->dst, INT32_MAX, -1);
        comm->tag = (int32_t)number(et, m->tag, INT32_MAX, -1);
    }
    et->faults.untyped += collective && comm->type < 0;
    uint32_t group = 0;
    fd_status status = add_text(et, m->group, &group);
    comm->group = group;
    return status;
}

static fd_status
build(fd_et *et, const members *m, uint64_t id)
{
    fd_et_node *node = fd_et_add(et);
    if (node == NULL) {
        return FD_ENOMEM;
    }
    node->id = node->parent_id = id;
    node->type = (uint8_t)number(et, m->type, FD_ET_TYPES - 1, FD_ET_INVALID);
    node->flags = FD_ET_WRITTEN;
    node->flags |= fd_span_is(m->cpu, "false") ? FD_ET_GPU : 0;
    node->self_ns = number(et, m->runtime, INT64_MAX / 1000, 0) * 1000;
    node->dur_ns = node->self_ns;
    node->flags |= node->dur_ns > 0 ? FD_ET_TIMED : 0;
    fd_status status = add_text(et, m->name, &node->name);
    node->flags |= fd_et_root(fd_et_text(et, node->name));
    if (status == FD_OK) {
        status = take_ids(et, m->parents, &node->parent_id);
    }
    if (status == FD_OK && node->type >= FD_ET_SEND) {
        status = take_comm(et, m);
    }
    return status == FD_OK ? take_ids(et, m->deps, NULL) : status;
}

fd_scan_result
fd_et_scan_workload(fd_scan *scan, fd_et *et)
{
    static const char nothing[] = "";
    members m = {.cpu = {nothing, nothing}};
    fd_span name;
    uint64_t id;
    fd_scan_result result = fd_scan_mark(scan, '{');
    for (bool first = true; result == FD_SCAN_OK; first = false) {
        result = fd_scan_member(scan, first, &name);
        const char *from = scan->at;
        if (result == FD_SCAN_OK) {
            result = fd_scan_value(scan);
            take_member(&m, name, (fd_span){from, scan->at});
        }
    }
    if (result != FD_SCAN_DONE) {
        return result;
    }
    if (m.id.from == NULL || !fd_span_u64(m.id, &id)) {
        return FD_SCAN_BAD;
    }
    return build(et, &m, id) == FD_OK ? FD_SCAN_OK : FD_SCAN_ENOMEM;
}
