/* et_tables(): an execution trace as tables. */
#include "module/et/et_binding.h"

#include "et/et_edges.h"
#include "module/errors.h"
#include "module/field_tables.h"

static const fd_column node_columns[] = {
    FD_COLUMN(fd_et_node, "id", U64, id),
    FD_COLUMN(fd_et_node, "parent", U32, parent),
    FD_COLUMN(fd_et_node, "name", U32, name),
    FD_COLUMN(fd_et_node, "type", U8, type),
    FD_COLUMN(fd_et_node, "flags", U8, flags),
    FD_COLUMN(fd_et_node, "tid", U32, tid),
    FD_COLUMN(fd_et_node, "stream", I32, stream),
    FD_COLUMN(fd_et_node, "start_ns", I64, start_ns),
    FD_COLUMN(fd_et_node, "dur_ns", I64, dur_ns),
    FD_COLUMN(fd_et_node, "comm", U32, comm),
};
static const fd_table nodes_table =
    FD_TABLE("nodes", node_columns, fd_et_node, false);

static const fd_column comm_columns[] = {
    FD_COLUMN(fd_et_comm, "group", U32, group),
    FD_COLUMN(fd_et_comm, "type", I32, type),
    FD_COLUMN(fd_et_comm, "src", I32, src),
    FD_COLUMN(fd_et_comm, "dst", I32, dst),
    FD_COLUMN(fd_et_comm, "bytes", I64, bytes),
};
static const fd_table comms_table =
    FD_TABLE("comms", comm_columns, fd_et_comm, false);

static const fd_column edge_columns[] = {
    FD_COLUMN(fd_et_edge, "from", U32, from),
    FD_COLUMN(fd_et_edge, "to", U32, to),
    FD_COLUMN(fd_et_edge, "kinds", U32, kinds),
};
static const fd_table edges_table =
    FD_TABLE("edges", edge_columns, fd_et_edge, false);

static bool
add_text(PyObject *texts, const fd_et *et, uint32_t id)
{
    PyObject *key = PyLong_FromUnsignedLong(id);
    int found = key == NULL ? -1 : PyDict_Contains(texts, key);
    PyObject *text = found == 0 ? fd_text_object(&et->texts, id) : NULL;
    bool added =
        found > 0 || (text != NULL && PyDict_SetItem(texts, key, text) == 0);
    Py_XDECREF(key);
    Py_XDECREF(text);
    return added;
}

/* Return the names of nodes and groups by their numbers. */
static PyObject *
text_dict(const fd_et *et)
{
    PyObject *texts = PyDict_New();
    bool good = texts != NULL;
    for (uint32_t i = 0; i < et->nodes.count && good; i++) {
        good = add_text(texts, et, et->nodes.list[i].name);
    }
    for (uint32_t i = 0; i < et->comms.count && good; i++) {
        good = add_text(texts, et, et->comms.list[i].group);
    }
    if (!good) {
        Py_CLEAR(texts);
    }
    return texts;
}

static PyObject *
table_dict(const fd_et *et, const uint32_t *order)
{
    PyObject *tables = fd_columns_with(
        PyDict_New(), "nodes",
        fd_arrays(&nodes_table, et->nodes.list, et->nodes.count));
    tables = fd_columns_with(
        tables, "comms",
        fd_arrays(&comms_table, et->comms.list, et->comms.count));
    tables = fd_columns_with(
        tables, "edges",
        fd_arrays(&edges_table, et->edges.list, et->edges.count));
    tables = fd_columns_with(tables, "order",
                             fd_number_list(order, et->nodes.count));
    return fd_columns_with(tables, "texts", text_dict(et));
}

/* Return the nodes depth-first, or NULL after a failed allocation. */
static uint32_t *
walk_nodes(fd_et *et)
{
    if (fd_arena_caught(&et->arena, NULL)) {
        return NULL;
    }
    uint32_t *order = fd_arena_new(&et->arena, et->nodes.count, sizeof *order);
    fd_et_walk(et, order);
    fd_arena_left(&et->arena);
    return order;
}

PyObject *
fd_et_tables_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "edges", "rank", NULL};
    PyObject *path = NULL;
    unsigned edges = FD_ET_ALL_KINDS;
    long long rank = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$IL:et_tables", names,
                                     PyUnicode_FSConverter, &path, &edges,
                                     &rank)) {
        return NULL;
    }
    fd_et et;
    fd_et_format format;
    uint32_t *order = NULL;
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status =
            fd_et_load(&et, PyBytes_AS_STRING(path), edges, &format, &error);
        et.rank = et.rank < 0 ? rank : et.rank;
        if (status == FD_OK) {
            order = walk_nodes(&et);
            status = order == NULL ? FD_ENOMEM : FD_OK;
        }
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? fd_et_summary_py(&et, format)
                                     : fd_raise(module, status, &error);
    if (made != NULL) {
        made = fd_columns_with(made, "tables", table_dict(&et, order));
    }
    fd_et_clear(&et);
    Py_DECREF(path);
    return made;
}
