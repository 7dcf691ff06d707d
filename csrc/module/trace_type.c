/* fastdispatch._core.Trace: recordings in memory, as columns. */
#include "module/errors.h"

#include "analysis/edges.h"
#include "analysis/rows.h"
#include "io/columns.h"
#include "io/dump.h"
#include "io/source.h"
#include "module/columns.h"
#include "module/trace_type.h"

typedef struct trace_object {
    PyObject_HEAD
    fd_trace *trace; /* owned */
} trace_object;

static fd_trace *
trace_of(PyObject *self)
{
    return ((trace_object *)self)->trace;
}

fd_trace *
fd_trace_of(PyObject *self)
{
    return trace_of(self);
}

static PyObject *
module_of(PyObject *self)
{
    return PyType_GetModule(Py_TYPE(self));
}

/* ---- making one ---- */

/* File system paths as bytes objects, for as long as they are needed. */
static PyObject *
encoded_paths(PyObject *paths)
{
    PyObject *fast = PySequence_Fast(paths, "paths must be a sequence");
    PyObject *list = fast == NULL ? NULL
                                  : PyList_New(PySequence_Fast_GET_SIZE(fast));
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
        PyObject *bytes = NULL;
        if (!PyUnicode_FSConverter(PySequence_Fast_GET_ITEM(fast, i),
                                   &bytes)) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, bytes);
    }
    Py_XDECREF(fast);
    return list;
}

static fd_status
open_paths(PyObject *list, fd_trace **trace, fd_error *error)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    const char **paths = fd_malloc((size_t)count * sizeof *paths);
    if (paths == NULL) {
        return FD_ENOMEM;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        paths[i] = PyBytes_AS_STRING(PyList_GET_ITEM(list, i));
    }
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
    status = fd_source_open_all(trace, paths, (size_t)count, error);
    Py_END_ALLOW_THREADS
    fd_free(paths);
    return status;
}

static PyObject *
trace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"paths", NULL};
    PyObject *paths;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Trace", names,
                                     &paths)) {
        return NULL;
    }
    PyObject *list = encoded_paths(paths);
    if (list == NULL) {
        return NULL;
    }
    fd_trace *trace = NULL;
    fd_error error = {""};
    fd_status status = open_paths(list, &trace, &error);
    Py_DECREF(list);
    if (status != FD_OK) {
        return fd_raise(PyType_GetModule(type), status, &error);
    }
    return fd_trace_object(PyType_GetModule(type), trace);
}

PyObject *
fd_trace_object(PyObject *module, fd_trace *trace)
{
    PyTypeObject *type = fd_module_state_of(module)->trace;
    trace_object *self = (trace_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        fd_trace_free(trace);
        return NULL;
    }
    self->trace = trace;
    return (PyObject *)self;
}

static void
trace_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    fd_trace_free(trace_of(self));
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
trace_dump(PyObject *self, PyObject *path)
{
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    fd_buffer text = {.bytes = NULL};
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
    fd_dump(trace_of(self), &text);
    status = fd_buffer_save(&text, PyBytes_AS_STRING(bytes), &error);
    Py_END_ALLOW_THREADS
    fd_buffer_clear(&text);
    Py_DECREF(bytes);
    if (status != FD_OK) {
        return fd_raise(module_of(self), status, &error);
    }
    Py_RETURN_NONE;
}

/* ---- tables as they are ---- */

static PyObject *
trace_nodes(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = trace_of(self);
    PyObject *columns = fd_columns(&fd_nodes_table, trace->nodes.list,
                                   trace->nodes.count, &trace->texts);
    return fd_columns_with(columns, "key", fd_node_keys(trace));
}

static PyObject *
trace_modules(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = trace_of(self);
    PyObject *columns = fd_columns(&fd_modules_table, trace->modules.list,
                                   trace->modules.count, &trace->texts);
    return fd_columns_with(columns, "path", fd_module_paths(trace));
}

static const fd_column total_columns[] = {
    {"calls", FD_COLUMN_U64, offsetof(fd_total, calls), NULL},
    {"resumes", FD_COLUMN_U64, offsetof(fd_total, resumes), NULL},
    {"self", FD_COLUMN_U64, offsetof(fd_total, self), NULL},
    {"total", FD_COLUMN_U64, offsetof(fd_total, total), NULL},
    {"ops", FD_COLUMN_U64, offsetof(fd_total, ops), NULL},
    {"backward", FD_COLUMN_I64, offsetof(fd_total, backward), NULL},
    {"async", FD_COLUMN_U64, offsetof(fd_total, async), NULL},
    {"steps", FD_COLUMN_U32, offsetof(fd_total, steps), NULL},
};
static const fd_table totals_table = {
    "totals", total_columns, sizeof total_columns / sizeof *total_columns,
    sizeof(fd_total), true};

/* The rank argument of the methods below: an index, or -1 for all. */
static bool
rank_fits(PyObject *self, int rank)
{
    const fd_trace *trace = trace_of(self);
    if (rank >= FD_ALL_RANKS && rank < (int)trace->ranks.count) {
        return true;
    }
    PyErr_Format(PyExc_IndexError, "rank index %d: the trace has %u ranks",
                 rank, (unsigned)trace->ranks.count);
    return false;
}

bool
fd_trace_rank_fits(PyObject *self, int rank)
{
    return rank_fits(self, rank);
}

static PyObject *
trace_contexts(PyObject *self, PyObject *args)
{
    int rank = FD_ALL_RANKS;
    const fd_trace *trace = trace_of(self);
    fd_totals totals;
    if (!PyArg_ParseTuple(args, "|i:contexts", &rank)
        || !rank_fits(self, rank)) {
        return NULL;
    }
    if (fd_totals_sum(&totals, trace, rank) != FD_OK) {
        return PyErr_NoMemory();
    }
    PyObject *columns = fd_columns(&fd_contexts_table, trace->contexts.list,
                                   trace->contexts.count, &trace->texts);
    columns = fd_columns_join(columns,
                              fd_columns(&totals_table, totals.list,
                                         trace->contexts.count,
                                         &trace->texts));
    fd_totals_clear(&totals);
    return columns;
}

/* ---- ranks ---- */

static PyObject *
counters_of(const fd_trace_rank *rank)
{
    PyObject *counters = PyDict_New();
    for (int i = 0; counters != NULL && i < FD_COUNT_USED; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(rank->counters[i]);
        counters = fd_columns_with(counters, fd_counter_names[i], value);
    }
    return counters;
}

/* {key: JSON text} */
static PyObject *
meta_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    PyObject *meta = PyDict_New();
    for (uint32_t i = 0; meta != NULL && i < rank->meta.count; i++) {
        const char *key = fd_trace_text(trace, rank->meta.list[i].key);
        PyObject *json = fd_text_object(&trace->texts,
                                        rank->meta.list[i].json);
        meta = fd_columns_with(meta, key, json);
    }
    return meta;
}

static PyObject *
notes_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    PyObject *notes = PyList_New(rank->notes.count);
    for (uint32_t i = 0; notes != NULL && i < rank->notes.count; i++) {
        PyObject *text = fd_text_object(&trace->texts, rank->notes.list[i]);
        if (text == NULL) {
            Py_CLEAR(notes);
            break;
        }
        PyList_SET_ITEM(notes, i, text);
    }
    return notes;
}

static PyObject *
rank_of(const fd_trace *trace, const fd_trace_rank *rank)
{
    PyObject *made = Py_BuildValue(
        "{s:I,s:I,s:I,s:s,s:s,s:s,s:O,s:s,s:K,s:K,s:K,s:K,s:K,s:K}", "rank",
        rank->rank, "world", rank->world, "pid", rank->pid, "id", rank->id,
        "boot_id", rank->boot_id, "state", fd_state_names[rank->state],
        "timing", rank->timing != 0 ? Py_True : Py_False, "steps_source",
        fd_steps_source_names[rank->steps_source], "steps",
        (unsigned long long)rank->steps, "recorded",
        (unsigned long long)rank->recorded, "file_bytes",
        (unsigned long long)rank->file_bytes, "start_realtime",
        (unsigned long long)rank->start.realtime_ns, "start_monotonic",
        (unsigned long long)rank->start.monotonic_ns, "start_ticks",
        (unsigned long long)rank->start.ticks);
    const fd_text_pool *texts = &trace->texts;
    made = fd_columns_with(made, "counters", counters_of(rank));
    made = fd_columns_with(made, "meta", meta_of(trace, rank));
    made = fd_columns_with(made, "notes", notes_of(trace, rank));
    made = fd_columns_with(made, "threads",
                           fd_columns(&fd_threads_table, rank->threads.list,
                                      rank->threads.count, texts));
    made = fd_columns_with(made, "open",
                           fd_columns(&fd_open_table, rank->open.list,
                                      rank->open.count, texts));
    made = fd_columns_with(made, "latest_steps",
                           fd_columns(&fd_steps_table, rank->latest.list,
                                      rank->latest.count, texts));
    return fd_columns_with(made, "step_tops",
                           fd_columns(&fd_tops_table, rank->tops.list,
                                      rank->tops.count, texts));
}

static PyObject *
trace_ranks(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_trace *trace = trace_of(self);
    PyObject *list = PyList_New(trace->ranks.count);
    for (uint32_t i = 0; list != NULL && i < trace->ranks.count; i++) {
        PyObject *rank = rank_of(trace, &trace->ranks.list[i]);
        if (rank == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, rank);
    }
    return list;
}

static PyObject *
trace_figures(PyObject *self, PyObject *args)
{
    int rank;
    if (!PyArg_ParseTuple(args, "i:figures", &rank)
        || !rank_fits(self, rank)) {
        return NULL;
    }
    const fd_trace *trace = trace_of(self);
    if (rank == FD_ALL_RANKS) {
        PyErr_SetString(PyExc_ValueError, "figures are per rank");
        return NULL;
    }
    const fd_trace_rank *from = &trace->ranks.list[rank];
    return fd_columns(&fd_figures_table, from->figures.list,
                      from->figures.count, &trace->texts);
}

/* ---- sums ---- */

static const fd_column row_columns[] = {
    {"calls", FD_COLUMN_U64, offsetof(fd_row, calls), NULL},
    {"resumes", FD_COLUMN_U64, offsetof(fd_row, resumes), NULL},
    {"ops", FD_COLUMN_U64, offsetof(fd_row, ops), NULL},
    {"self", FD_COLUMN_U64, offsetof(fd_row, self), NULL},
    {"total", FD_COLUMN_U64, offsetof(fd_row, total), NULL},
    {"backward", FD_COLUMN_I64, offsetof(fd_row, backward), NULL},
    {"async", FD_COLUMN_U64, offsetof(fd_row, async), NULL},
    {"hidden", FD_COLUMN_U64, offsetof(fd_row, hidden), NULL},
    {"step_mean", FD_COLUMN_DOUBLE, offsetof(fd_row, step_mean), NULL},
    {"step_deviation", FD_COLUMN_DOUBLE, offsetof(fd_row, step_deviation),
     NULL},
};
static const fd_table rows_table = {
    "rows", row_columns, sizeof row_columns / sizeof *row_columns,
    sizeof(fd_row), true};

static const fd_column group_columns[] = {
    {"where", FD_COLUMN_TEXT, offsetof(fd_group, label), NULL},
    {"node", FD_COLUMN_INDEX, offsetof(fd_group, node), NULL},
    {"instances", FD_COLUMN_U32, offsetof(fd_group, members), NULL},
};
static const fd_table groups_table = {
    "groups", group_columns, sizeof group_columns / sizeof *group_columns,
    sizeof(fd_group), true};

static const fd_column edge_columns[] = {
    {"caller", FD_COLUMN_INDEX, offsetof(fd_edge, caller), NULL},
    {"callee", FD_COLUMN_INDEX, offsetof(fd_edge, callee), NULL},
    {"calls", FD_COLUMN_U64, offsetof(fd_edge, calls), NULL},
    {"total", FD_COLUMN_U64, offsetof(fd_edge, total), NULL},
};
static const fd_table edges_table = {
    "edges", edge_columns, sizeof edge_columns / sizeof *edge_columns,
    sizeof(fd_edge), false};

static const char *const grouping_names[] = {"node", "function", "operator",
                                             "module", "package", NULL};

static bool
find_grouping(const char *name, fd_grouping *grouping)
{
    for (int i = 0; grouping_names[i] != NULL; i++) {
        if (strcmp(grouping_names[i], name) == 0) {
            *grouping = (fd_grouping)i;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "by=%s: one of node, function, operator, module, package",
                 name);
    return false;
}

static PyObject *
group_totals(const fd_trace *trace, const fd_groups *groups,
             const fd_totals *totals)
{
    fd_rows rows = {NULL, 0, 0};
    if (fd_rows_sum(&rows, trace, groups, totals) != FD_OK) {
        return PyErr_NoMemory();
    }
    PyObject *columns = fd_columns(&groups_table, groups->list.list,
                                   groups->list.count, &groups->labels);
    columns = fd_columns_join(columns, fd_columns(&rows_table, rows.list,
                                                  rows.count,
                                                  &groups->labels));
    fd_vector_clear(&rows);
    return columns;
}

static PyObject *
group_edges(const fd_trace *trace, const fd_groups *groups,
            const fd_totals *totals)
{
    fd_edges edges = {NULL, 0, 0};
    PyObject *columns = NULL;
    if (fd_edges_sum(&edges, trace, groups, totals) != FD_OK) {
        PyErr_NoMemory();
    }
    else {
        columns = fd_columns(&edges_table, edges.list, edges.count,
                             &groups->labels);
    }
    fd_vector_clear(&edges);
    return columns;
}

typedef PyObject *summary(const fd_trace *, const fd_groups *,
                          const fd_totals *);

static PyObject *
summarise(PyObject *self, PyObject *args, summary *sum)
{
    const char *by = "function";
    int rank = FD_ALL_RANKS;
    fd_grouping grouping;
    const fd_trace *trace = trace_of(self);
    if (!PyArg_ParseTuple(args, "|si", &by, &rank) || !rank_fits(self, rank)
        || !find_grouping(by, &grouping)) {
        return NULL;
    }
    fd_totals totals = {.list = NULL};
    fd_groups groups = {.of_context = NULL};
    PyObject *columns = NULL;
    if (fd_totals_sum(&totals, trace, rank) != FD_OK
        || fd_groups_make(&groups, trace, grouping) != FD_OK) {
        PyErr_NoMemory();
    }
    else {
        columns = sum(trace, &groups, &totals);
    }
    fd_totals_clear(&totals);
    fd_groups_clear(&groups);
    return columns;
}

static PyObject *
trace_table(PyObject *self, PyObject *args)
{
    return summarise(self, args, group_totals);
}

static PyObject *
trace_edges(PyObject *self, PyObject *args)
{
    return summarise(self, args, group_edges);
}

static PyObject *
trace_coverage(PyObject *self, PyObject *args)
{
    int rank = FD_ALL_RANKS;
    fd_totals totals;
    if (!PyArg_ParseTuple(args, "|i:coverage", &rank)
        || !rank_fits(self, rank)) {
        return NULL;
    }
    if (fd_totals_sum(&totals, trace_of(self), rank) != FD_OK) {
        return PyErr_NoMemory();
    }
    fd_coverage coverage = totals.coverage;
    fd_totals_clear(&totals);
    return Py_BuildValue("{s:K,s:K,s:K}", "autograd",
                         (unsigned long long)coverage.autograd, "accumulate",
                         (unsigned long long)coverage.accumulate,
                         "attributed",
                         (unsigned long long)coverage.attributed);
}

static PyMethodDef methods[] = {
    {"dump", trace_dump, METH_O,
     PyDoc_STR("dump($self, path, /)\n--\n\nWrite as JSON.")},
    {"nodes", trace_nodes, METH_NOARGS,
     PyDoc_STR("nodes($self, /)\n--\n\nColumns, a row a node.")},
    {"modules", trace_modules, METH_NOARGS,
     PyDoc_STR("modules($self, /)\n--\n\nColumns, a row a module instance.")},
    {"contexts", trace_contexts, METH_VARARGS,
     PyDoc_STR("contexts($self, rank=-1, /)\n--\n\n"
               "Columns, a row a path of calls; -1 sums over ranks.")},
    {"ranks", trace_ranks, METH_NOARGS,
     PyDoc_STR("ranks($self, /)\n--\n\nOne dict a rank.")},
    {"figures", trace_figures, METH_VARARGS,
     PyDoc_STR("figures($self, rank, /)\n--\n\nColumns of one rank.")},
    {"table", trace_table, METH_VARARGS,
     PyDoc_STR("table($self, by='function', rank=-1, /)\n--\n\n"
               "Columns, a row a group.")},
    {"edges", trace_edges, METH_VARARGS,
     PyDoc_STR("edges($self, by='function', rank=-1, /)\n--\n\n"
               "Columns; caller and callee are rows of table(by).")},
    {"coverage", trace_coverage, METH_VARARGS,
     PyDoc_STR("coverage($self, rank=-1, /)\n--\n\n"
               "Backward time and how much of it has an origin.")},
    {"export", (PyCFunction)(void (*)(void))fd_trace_export,
     METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("export($self, format, *, rank=-1, style='default',\n"
               "       weight='time', ops='none', hide=(), contract=(),\n"
               "       min_percent=-1.0, all=False)\n--\n\n"
               "The file of another program, as bytes.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Trace(paths)\n--\n\n"
                "Recordings, dumps and directories, merged."},
    {Py_tp_new, trace_new},
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "fastdispatch._core.Trace",
    .basicsize = sizeof(trace_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int
fd_trace_type_init(PyObject *module)
{
    fd_module_state *state = fd_module_state_of(module);
    state->trace = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec,
                                                            NULL);
    return state->trace == NULL ? -1 : PyModule_AddType(module, state->trace);
}
