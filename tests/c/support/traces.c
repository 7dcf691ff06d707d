#include "traces.h"

#include "fixtures.h"

#include <stdlib.h>
#include <string.h>

void
traces_begin(fd_buffer *to)
{
    fd_buffer_text(to, "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 7, "
                       "\"time\": \"2026-11-22 05:02:45\", \"start_ts\": 5,"
                       "\n  \"nodes\": [");
}

static void
head(fd_buffer *to, unsigned id, unsigned parent, const char *name)
{
    size_t size = to->size;
    bool first = size > 0 && to->bytes[size - 1] == '[';
    fd_buffer_format(to,
                     "%s\n {\"id\": %u, \"name\": \"%s\", \"ctrl_deps\": %u",
                     first ? "" : ",", id, name, parent);
}

static void
sides(fd_buffer *to, const char *in, const char *out)
{
    fd_buffer_format(to,
                     ", \"inputs\": {\"values\": %s, \"shapes\": [], "
                     "\"types\": [], \"strides\": []}, \"outputs\": "
                     "{\"values\": %s, \"shapes\": [], \"types\": [], "
                     "\"strides\": []}",
                     in, out);
}

void
traces_node(fd_buffer *to, unsigned id, unsigned parent, const char *name,
            const char *schema, const char *in, const char *out)
{
    head(to, id, parent, name);
    sides(to, in, out);
    fd_buffer_format(to,
                     ", \"attrs\": [{\"name\": \"rf_id\", \"type\": "
                     "\"uint64\", \"value\": %u},{\"name\": \"tid\", \"type\":"
                     " \"uint64\", \"value\": 1},{\"name\": \"op_schema\", "
                     "\"type\": \"string\", \"value\": \"%s\"}]}",
                     id > 2 ? id + 100 : 0, schema);
}

void
traces_more(fd_buffer *to, unsigned id, unsigned parent, const char *name,
            const char *more)
{
    head(to, id, parent, name);
    sides(to, "[]", "[]");
    fd_buffer_format(to, ", \"attrs\": []%s}", more);
}

void
traces_end(fd_buffer *to)
{
    fd_buffer_text(to, "\n ],\n \"finish_ts\": 9\n}\n");
}

#define X "[10,20,0,6,4,\"cpu\"]"
#define W "[11,21,0,6,4,\"cpu\"]"
#define Y "[12,22,0,6,4,\"cpu\"]"

void
traces_small(fd_buffer *to)
{
    traces_begin(to);
    traces_node(to, 2, 1, "[pytorch|profiler|execution_trace|thread]", "",
                "[]", "[]");
    traces_node(to, 3, 2, "## process_group:init ##", "",
                "[\"[{\\\"pg_name\\\": \\\"0\\\", \\\"pg_desc\\\": "
                "\\\"default_pg\\\", \\\"ranks\\\": [], \\\"group_size\\\": "
                "2}]\"]",
                "[]");
    traces_node(to, 5, 4, "aten::addmm", "aten::addmm(Tensor x) -> Tensor",
                "[" X "," W "]", "[" Y "]");
    traces_node(to, 4, 2, "aten::linear", "aten::linear(Tensor x) -> Tensor",
                "[" X "," W "]", "[" Y "]");
    traces_node(to, 6, 2, "aten::relu_", "aten::relu_(Tensor(a!) self)",
                "[" Y "]", "[" Y "]");
    traces_node(to, 7, 2, "aten::view", "aten::view(Tensor(a) self)",
                "[" Y ",[2,3]]", "[[13,22,0,6,4,\"cpu\"]]");
    traces_node(to, 9, 8, "gloo:all_reduce", "", "[" Y "]", "[]");
    traces_node(to, 8, 2, "c10d::allreduce_", "c10d::allreduce_(Tensor[] t)",
                "[[" Y "],\"<Object>\"]", "[]");
    traces_node(to, 20, 2, "c10d::send", "c10d::send(Tensor[] t)",
                "[[" Y "],\"<Object>\",1,7]", "[]");
    traces_node(to, 1, 1, "[pytorch|profiler|execution_trace|process]", "",
                "[]", "[]");
    traces_end(to);
}

/* Describe the communication of traces_small and of kernels, as Python does. */
static fd_status
describe(fd_et *et)
{
    if (fd_arena_caught(&et->arena, NULL)) {
        return et->arena.status;
    }
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node *node = &et->nodes.list[i];
        const char *name = fd_et_text(et, node->name);
        bool work = strcmp(name, "gloo:all_reduce") == 0;
        bool send = strcmp(name, "c10d::send") == 0;
        if ((node->flags & FD_ET_WRITTEN) != 0
            || (!work && !send && strstr(name, "AllReduce") == NULL)) {
            continue;
        }
        node->type = send ? FD_ET_SEND : FD_ET_COLL;
        fd_et_comm *comm = fd_et_make_comm(et, i);
        comm->type = send ? -1 : 0;
        comm->dst = send ? 1 : -1;
        if (work && node->parent != 0) {
            comm->bytes = 24;
            comm->group = fd_et_add_word(et, "0");
            fd_et_add_edge(et, node->parent - 1, i, FD_ET_LAUNCH);
        }
    }
    return fd_arena_left(&et->arena);
}

fd_status
traces_read(fd_et *et, const char *path, uint32_t kinds, fd_error *error)
{
    fd_status status = fd_et_open(et, path, error);
    fd_then(status, describe(et));
    return fd_then(status, fd_et_complete(et, kinds));
}

fd_status
traces_link(fd_et *et, const char *path, const char *kineto, fd_error *error)
{
    fd_kineto read;
    CLEAN(fd_buffer_clear) fd_buffer launchers = {.bytes = NULL};
    fd_status status = fd_et_open(et, path, error);
    fd_then(status, et->format == FD_ET_PYTORCH ? FD_OK : FD_EINVAL);
    fd_then(status, fd_kineto_read(&read, et, kineto, error));
    for (uint32_t i = 0; status == FD_OK && i < read.kernels.count; i++) {
        uint32_t none = 0;
        fd_buffer_bytes(&launchers, (const char *)&none, sizeof none);
    }
    fd_then(status, launchers.status);
    fd_et_rows rows = {launchers.bytes, launchers.size};
    fd_then(status, fd_et_link(et, &read, fd_et_add_kernels, rows, error));
    fd_then(status, describe(et));
    return fd_then(status, fd_et_complete(et, FD_ET_ALL_KINDS));
}

fd_status
traces_load(fd_et *et, const char *name, const fd_buffer *text, uint32_t kinds,
            fd_error *error)
{
    *et = (fd_et){.rank = -1};
    fd_status status = text->status;
    fd_then(status, fixture_write(name, text->bytes, text->size));
    return fd_then(status, traces_read(et, name, kinds, error));
}

fd_status
traces_loaded(fd_et *et)
{
    fd_buffer text = {.bytes = NULL};
    traces_small(&text);
    fd_status status =
        traces_load(et, "small.json", &text, FD_ET_ALL_KINDS, NULL);
    fd_buffer_clear(&text);
    return status;
}

const fd_et_node *
traces_find(const fd_et *et, uint64_t id)
{
    uint32_t index = fd_et_index(et, id);
    if (index == 0) {
        abort();
    }
    return &et->nodes.list[index - 1];
}

const fd_et_attr *
traces_attr(const fd_et *et, const fd_et_node *node, const char *name)
{
    static const fd_et_attr none = {.name = 0};
    for (uint32_t i = 0; i < node->attr_count; i++) {
        const fd_et_attr *attr = &et->attrs.list[node->attrs + i];
        if (strcmp(fd_et_text(et, attr->name), name) == 0) {
            return attr;
        }
    }
    return &none;
}

const fd_et_node *
traces_named(const fd_et *et, const char *name)
{
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        if (strcmp(fd_et_text(et, et->nodes.list[i].name), name) == 0) {
            return &et->nodes.list[i];
        }
    }
    return traces_find(et, UINT64_MAX);
}

uint32_t
traces_edge(const fd_et *et, uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < et->edges.count; i++) {
        const fd_et_edge *edge = &et->edges.list[i];
        if (et->nodes.list[edge->from].id == from
            && et->nodes.list[edge->to].id == to) {
            return edge->kinds;
        }
    }
    return 0;
}
