/* et_graph(): an execution trace, collapsed to a graph small enough to draw. */
#include "module/et/et_binding.h"

#include "et/et_names.h"
#include "et/tools/et_collapse.h"
#include "module/errors.h"
#include "module/field_tables.h"

/* Maximum number of boxes. */
enum { BOXES = 120 };

static const fd_column box_columns[] = {
    FD_COLUMN(fd_et_box, "count", U64, count),
    FD_COLUMN_IN("ns", fd_et_box, "time", I64, ns),
    FD_COLUMN(fd_et_box, "others", BOOL, others),
    FD_COLUMN(fd_et_box, "gpu", BOOL, gpu),
};
static const fd_table boxes_table =
    FD_TABLE("boxes", box_columns, fd_et_box, false);

#define COUNT_COLUMN(name, kind) \
    FD_COLUMN(fd_et_line, name, U64, counts[FD_ET_##kind])
static const fd_column line_columns[] = {
    FD_COLUMN(fd_et_line, "from", U32, from),
    FD_COLUMN(fd_et_line, "to", U32, to),
    FD_COLUMN(fd_et_line, "calls", U64, calls),
    COUNT_COLUMN("order", ORDER),
    COUNT_COLUMN("launch", LAUNCH),
    COUNT_COLUMN("stream", STREAM),
    COUNT_COLUMN("event", EVENT),
    COUNT_COLUMN("sync", SYNC),
    COUNT_COLUMN("group", GROUP),
    COUNT_COLUMN("data", DATA),
    COUNT_COLUMN("given", GIVEN),
};
static const fd_table lines_table =
    FD_TABLE("lines", line_columns, fd_et_line, false);

/* Return the names and types of the first nodes of the boxes. */
static PyObject *
node_columns(const fd_et *et, const fd_et_collapsed *collapsed)
{
    PyObject *names = PyList_New(0);
    PyObject *types = PyList_New(0);
    for (uint32_t i = 0; i < collapsed->boxes.count; i++) {
        const fd_et_node *node =
            &et->nodes.list[collapsed->boxes.list[i].node];
        names = fd_list_with(names, fd_text_object(&et->texts, node->name));
        types = fd_list_with(
            types, PyUnicode_FromString(fd_et_type_name(node->type)));
    }
    return fd_columns_with(fd_columns_with(PyDict_New(), "name", names),
                           "type", types);
}

static PyObject *
graph_dict(const fd_et *et, const fd_et_collapsed *collapsed)
{
    static const char *const modes[] = {"each", "parent", "name", "size"};
    PyObject *boxes =
        fd_columns_join(node_columns(et, collapsed),
                        fd_columns(&boxes_table, collapsed->boxes.list,
                                   collapsed->boxes.count, &et->texts));
    PyObject *made = fd_columns_with(PyDict_New(), "boxes", boxes);
    made = fd_columns_with(made, "lines",
                           fd_columns(&lines_table, collapsed->lines.list,
                                      collapsed->lines.count, &et->texts));
    made = fd_columns_with(made, "mode",
                           PyUnicode_FromString(modes[collapsed->mode]));
    return fd_columns_with(made, "names",
                           PyLong_FromUnsignedLongLong(collapsed->names));
}

PyObject *
fd_et_graph_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "edges", "rank", NULL};
    PyObject *path = NULL;
    unsigned edges = FD_ET_ALL_KINDS;
    long long rank = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$IL:et_graph", names,
                                     PyUnicode_FSConverter, &path, &edges,
                                     &rank)) {
        return NULL;
    }
    fd_et et;
    fd_et_format format;
    fd_et_collapsed collapsed = {.names = 0};
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status =
            fd_et_load(&et, PyBytes_AS_STRING(path), edges, &format, &error);
        et.rank = et.rank < 0 ? rank : et.rank;
        fd_then(status, fd_et_collapse(&collapsed, &et, BOXES));
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? fd_et_summary_py(&et, format)
                                     : fd_raise(module, status, &error);
    if (made != NULL) {
        made = fd_columns_with(made, "graph", graph_dict(&et, &collapsed));
    }
    fd_et_collapsed_clear(&collapsed);
    fd_et_clear(&et);
    Py_DECREF(path);
    return made;
}
