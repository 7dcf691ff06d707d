#include "et/readers/json_nodes.h"

#include "et/et_names.h"

#include <string.h>

typedef enum member {
    ID,
    NAME,
    TYPE,
    PARENTS,
    DEPS,
    RUNTIME,
    CPU,
    KIND,
    SIZE,
    SRC,
    DST,
    TAG,
    GROUP,
    MEMBERS
} member;

static const char *const members[MEMBERS] = {
    "Id",       "Name",      "NodeType",  "ctrlDeps",  "data_deps",
    "runtime",  "is_cpu_op", "comm_type", "comm_size", "comm_src",
    "comm_dst", "comm_tag",  "pg_name"};

/* Read a number from 0 to `most`; return `otherwise` if the member is absent
 * or has another value, which is a fault. */
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
    return quoted ? fd_et_add_json_text(et, fd_span_inside(value), text)
                  : FD_OK;
}

/* Read the ids of a list; only the first one if `first` is not NULL. */
static fd_status
take_ids(fd_et *et, fd_span list, uint64_t *first)
{
    fd_scan scan = {.at = list.from, .end = list.to, .forgets = true};
    fd_span each;
    uint64_t id;
    fd_status status = FD_OK;
    bool open = list.from != NULL && fd_scan_mark(&scan, '[') == FD_SCAN_OK;
    for (bool start = true;
         open && status == FD_OK
         && fd_scan_element(&scan, start, &each) == FD_SCAN_OK
         && fd_span_u64(each, &id);
         start = false) {
        if (first != NULL) {
            *first = id;
            break;
        }
        fd_et_given given = {et->nodes.count - 1, 1U << FD_ET_GIVEN, id};
        status = fd_vector_push(&et->given, given);
    }
    return status;
}

static fd_status
take_comm(fd_et *et, const fd_span *m)
{
    fd_et_comm *comm = fd_et_make_comm(et, et->nodes.count - 1);
    if (comm == NULL) {
        return FD_ENOMEM;
    }
    bool collective = et->nodes.list[et->nodes.count - 1].type == FD_ET_COLL;
    bool known = collective && m[KIND].from != NULL && *m[KIND].from != '-';
    comm->type =
        known ? (int32_t)number(et, m[KIND], FD_ET_COLLS - 1, -1) : -1;
    comm->bytes = number(et, m[SIZE], INT64_MAX, -1);
    if (!collective) {
        comm->src = (int32_t)number(et, m[SRC], INT32_MAX, -1);
        comm->dst = (int32_t)number(et, m[DST], INT32_MAX, -1);
        comm->tag = (int32_t)number(et, m[TAG], INT32_MAX, -1);
    }
    et->faults.untyped += collective && comm->type < 0;
    uint32_t group = 0;
    fd_status status = add_text(et, m[GROUP], &group);
    comm->group = group;
    return status;
}

static fd_status
build(fd_et *et, const fd_span *m, uint64_t id)
{
    fd_et_node *node = fd_et_add(et);
    if (node == NULL) {
        return FD_ENOMEM;
    }
    node->id = node->parent_id = id;
    node->type = (uint8_t)number(et, m[TYPE], FD_ET_TYPES - 1, FD_ET_INVALID);
    node->flags = FD_ET_WRITTEN;
    node->flags |= fd_span_is(m[CPU], "false") ? FD_ET_GPU : 0;
    node->self_ns = number(et, m[RUNTIME], INT64_MAX / 1000, 0) * 1000;
    node->dur_ns = node->self_ns;
    node->flags |= node->dur_ns > 0 ? FD_ET_TIMED : 0;
    fd_status status = add_text(et, m[NAME], &node->name);
    node->flags |= fd_et_root(fd_et_text(et, node->name));
    if (status == FD_OK) {
        status = take_ids(et, m[PARENTS], &node->parent_id);
    }
    if (status == FD_OK && node->type >= FD_ET_SEND) {
        status = take_comm(et, m);
    }
    return status == FD_OK ? take_ids(et, m[DEPS], NULL) : status;
}

fd_scan_result
fd_et_scan_workload(fd_scan *scan, fd_et *et)
{
    static const char nothing[] = "";
    fd_span m[MEMBERS] = {[CPU] = {nothing, nothing}};
    fd_span name;
    uint64_t id;
    fd_scan_result result = fd_scan_mark(scan, '{');
    for (bool first = true; result == FD_SCAN_OK; first = false) {
        result = fd_scan_member(scan, first, &name);
        const char *from = scan->at;
        if (result == FD_SCAN_OK) {
            result = fd_scan_value(scan);
            for (int i = 0; i < MEMBERS; i++) {
                m[i] = fd_span_is(name, members[i]) ? (fd_span){from, scan->at}
                                                    : m[i];
            }
        }
    }
    if (result != FD_SCAN_DONE) {
        return result;
    }
    if (m[ID].from == NULL || !fd_span_u64(m[ID], &id)) {
        return FD_SCAN_BAD;
    }
    return build(et, m, id) == FD_OK ? FD_SCAN_OK : FD_SCAN_ENOMEM;
}
