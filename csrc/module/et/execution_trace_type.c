/* fastdispatch._core.ExecutionTrace: an execution trace as tables. */
#define PY_SSIZE_T_CLEAN
#include "base/scalar_types.h"
#include "et/et_file.h"
#include "et/et_link.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/state.h"

typedef struct et_object {
    PyObject_HEAD fd_et et;
    fd_kineto kineto;
    bool busy; /* a thread works on the trace without the GIL */
} et_object;

/* A column with the name of its member. */
#define COLUMN(row, type, field) FD_COLUMN(row, #field, type, field)
#define HEAD(type, field) COLUMN(fd_et, type, field)
#define FAULT(type, field) COLUMN(fd_et_faults, type, field)
#define CYCLE(type, field) COLUMN(fd_et_cycle, type, field)
#define NODE(type, field) COLUMN(fd_et_node, type, field)
#define SIDE(side, list) FD_COLUMN(fd_et_node, #side "_" #list, U32, side.list)
#define ATTR(type, field) COLUMN(fd_et_attr, type, field)
#define COMM(type, field) COLUMN(fd_et_comm, type, field)
#define KINETO(type, field) COLUMN(fd_kineto, type, field)
#define OP(type, field) COLUMN(fd_kineto_op, type, field)
#define KERNEL(type, field) COLUMN(fd_kineto_kernel, type, field)
#define CALL(type, field) COLUMN(fd_kineto_call, type, field)
#define SYNC(type, field) COLUMN(fd_kineto_sync, type, field)

static const fd_column head_columns[] = {
    FD_COLUMN_OF_NAMES(fd_et, "format", U32, format, fd_et_format_names),
    HEAD(I64_OR_NONE, rank),
    HEAD(U32, world),
    HEAD(TEXT, schema),
    HEAD(BOOL, finished),
    HEAD(U64, pid),
    HEAD(TEXT, time),
    HEAD(I64, start_ts),
    HEAD(I64, finish_ts),
    HEAD(BOOL, unlinked),
};
static const fd_column faults_columns[] = {
    FAULT(U64, lost),       FAULT(U64, lost_bytes),
    FAULT(CHARS, trouble),  FAULT(U64, repaired),
    FAULT(U64, invalid),    FAULT(U64, wrong),
    FAULT(U64, duplicates), FAULT(U64, orphans),
    FAULT(U64, dangling),   FAULT(U64, cycles),
    FAULT(U64, renumbered), FAULT(U64, collectives_unknown),
};
static const fd_column cycle_columns[] = {
    CYCLE(U32, kinds), CYCLE(U64, from),     CYCLE(TEXT, from_name),
    CYCLE(U64, to),    CYCLE(TEXT, to_name),
};
static const fd_column cut_columns[] = {
    {.name = "edges", .type = FD_COLUMN_U64, .bytes = sizeof(uint64_t)}};
static const fd_column groups_columns[] = {
    COLUMN(fd_et_group, TEXT, name), COLUMN(fd_et_group, TEXT, description),
    COLUMN(fd_et_group, TEXT, ranks), COLUMN(fd_et_group, U32, size)};
static const fd_column node_columns[] = {
    NODE(U64, id),         NODE(U64, parent_id), NODE(U32, parent),
    NODE(U32, name),       NODE(U32, schema),    NODE(U8, type),
    NODE(U8, flags),       NODE(U8, scope),      NODE(U8, device),
    NODE(I32, stream),     NODE(U32, tid),       NODE(U32, fw_tid),
    NODE(U64, thread),     NODE(U64, rf_id),     NODE(U64, fw_parent),
    NODE(I64, seq),        NODE(I64, start_ns),  NODE(I64, dur_ns),
    NODE(I64, self_ns),    NODE(U32, category),  NODE(U32, attrs),
    NODE(U32, attr_count), NODE(U32, comm),      SIDE(in, values),
    SIDE(in, shapes),      SIDE(in, types),      SIDE(in, strides),
    SIDE(out, values),     SIDE(out, shapes),    SIDE(out, types),
    SIDE(out, strides),
};
static const fd_column attr_columns[] = {ATTR(U32, name), ATTR(U32, field),
                                         ATTR(U32, text), ATTR(U64, number)};
static const fd_column comm_columns[] = {
    COMM(U32, group), COMM(U32, dtype), COMM(I32, type),  COMM(I32, src),
    COMM(I32, dst),   COMM(I32, tag),   COMM(I64, bytes),
};
static const fd_column edge_columns[] = {COLUMN(fd_et_edge, U32, from),
                                         COLUMN(fd_et_edge, U32, to),
                                         COLUMN(fd_et_edge, U32, kinds)};
static const fd_column kineto_columns[] = {
    KINETO(U64, pid),       KINETO(I64_OR_NONE, rank),
    KINETO(I64, base_ns),   KINETO(I64, begin_ns),
    KINETO(I64, end_ns),    FD_COLUMN(fd_kineto, "operators", U32, ops.count),
    KINETO(U64, events),    KINETO(U64, timeless),
    KINETO(U64, lost),      KINETO(U64, lost_bytes),
    KINETO(CHARS, trouble),
};
static const fd_column op_columns[] = {
    OP(U64, rf_id), OP(U64, external), OP(U64, thread), OP(I64, start),
    OP(I64, dur),   OP(U32, name),     OP(I64, seq),
};
static const fd_column kernel_columns[] = {
    KERNEL(U64, correlation), KERNEL(U64, external), KERNEL(I64, start),
    KERNEL(I64, dur),         KERNEL(I32, stream),   KERNEL(U8, device),
};
static const fd_column call_columns[] = {
    CALL(U64, correlation), CALL(U64, thread), CALL(I64, start),
    CALL(I64, dur),         CALL(U8, wait),
};
static const fd_column sync_columns[] = {
    SYNC(U64, correlation), SYNC(U64, record), SYNC(I32, stream),
    SYNC(I32, source),      SYNC(U8, device),
};

typedef struct et_table {
    fd_table table;
    bool numbers; /* columns become arrays, not lists */
    const void *list;
    uint32_t count;
} et_table;

/* Find a table by name. */
static bool
find_table(const et_object *self, PyObject *name, et_table *found)
{
    const fd_et *et = &self->et;
    const fd_kineto *k = &self->kineto;
#define ROWS(name, type) FD_TABLE(#name "s", name##_columns, type, false), true
#define ROW(name, type) FD_TABLE(#name, name##_columns, type, false), false
    const et_table tables[] = {
        {ROW(head, fd_et), et, 1},
        {ROW(faults, fd_et_faults), &et->faults, 1},
        {ROW(cycle, fd_et_cycle), &et->faults.cycle, 1},
        {ROW(kineto, fd_kineto), k, 1},
        {ROW(groups, fd_et_group), et->groups.list, et->groups.count},
        {ROWS(node, fd_et_node), et->nodes.list, et->nodes.count},
        {ROWS(attr, fd_et_attr), et->attrs.list, et->attrs.count},
        {ROWS(comm, fd_et_comm), et->comms.list, et->comms.count},
        {ROWS(edge, fd_et_edge), et->edges.list, et->edges.count},
        {ROWS(cut, uint64_t), et->faults.cut, FD_ET_KINDS},
        {ROWS(op, fd_kineto_op), k->ops.list, k->ops.count},
        {ROWS(kernel, fd_kineto_kernel), k->kernels.list, k->kernels.count},
        {ROWS(call, fd_kineto_call), k->calls.list, k->calls.count},
        {ROWS(sync, fd_kineto_sync), k->syncs.list, k->syncs.count},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        *found = tables[i];
        if (PyUnicode_Check(name)
            && PyUnicode_CompareWithASCIIString(name, found->table.name)
                   == 0) {
            return true;
        }
    }
    PyErr_Format(fd_value_error(), "no such table: %S", name);
    return false;
}

/* Return the object, or NULL with an exception while a thread works on it. */
static et_object *
idle_trace(PyObject *object)
{
    et_object *self = (et_object *)object;
    if (self->busy) {
        PyErr_SetString(fd_value_error(),
                        "another thread works on the execution trace");
        return NULL;
    }
    return self;
}

static PyObject *
et_columns(PyObject *object, PyObject *name)
{
    const et_object *self = idle_trace(object);
    et_table found;
    if (self == NULL || !find_table(self, name, &found)) {
        return NULL;
    }
    return found.numbers
             ? fd_arrays(&found.table, found.list, found.count, NULL)
             : fd_columns(&found.table, found.list, found.count,
                          &self->et.texts);
}

static PyObject *
et_text(PyObject *object, PyObject *number)
{
    const et_object *self = idle_trace(object);
    unsigned long id = self == NULL ? 0 : PyLong_AsUnsignedLong(number);
    return PyErr_Occurred() != NULL
             ? NULL
             : fd_text_object(&self->et.texts,
                              id > UINT32_MAX ? 0 : (uint32_t)id);
}

/* Free what a failed step left. */
static fd_status
checked_step(et_object *self, fd_status status)
{
    if (status != FD_OK) {
        fd_et_clear(&self->et);
        self->kineto = (fd_kineto){.rank = -1};
    }
    return status;
}

/* A step without the GIL, with a path or another option. */
typedef struct step {
    const char *path;
    unsigned edges;
    bool recording;
    bool layers;
    long long rank;
    fd_et_link_step *link;
    fd_et_rows rows;
} step;

typedef fd_status take_step(et_object *self, const step *options,
                            fd_error *error);

static fd_status
open_file(et_object *self, const step *options, fd_error *error)
{
    return checked_step(self,
                        options->recording
                            ? fd_et_from_recording(&self->et, options->path,
                                                   options->layers, error)
                            : fd_et_open(&self->et, options->path, error));
}

static fd_status
read_kineto(et_object *self, const step *options, fd_error *error)
{
    return checked_step(
        self, fd_kineto_read(&self->kineto, &self->et, options->path, error));
}

static fd_status
link_kineto(et_object *self, const step *options, fd_error *error)
{
    return checked_step(self, fd_et_link(&self->et, &self->kineto,
                                         options->link, options->rows, error));
}

static fd_status
complete_trace(et_object *self, const step *options, fd_error *error)
{
    (void)error;
    self->et.rank = self->et.rank < 0 ? options->rank : self->et.rank;
    return checked_step(self, fd_et_complete(&self->et, options->edges));
}

static fd_status
save_file(et_object *self, const step *options, fd_error *error)
{
    return fd_et_save(&self->et, options->path, error);
}

/* Take a step and return None. `path`, owned by the caller, may be NULL. */
static PyObject *
run_step(PyObject *object, take_step *take, PyObject *path, step options)
{
    et_object *self = idle_trace(object);
    fd_error error = {""};
    fd_status status;
    if (self == NULL) {
        return NULL;
    }
    options.path = path == NULL ? NULL : PyBytes_AS_STRING(path);
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS
        status = take(self, &options, &error);
    Py_END_ALLOW_THREADS
    self->busy = false;
    return fd_none_or_raise(fd_module_of(object), status, &error);
}

static PyObject *
et_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "recording", "layers", NULL};
    PyObject *path = NULL;
    int recording = 0;
    int layers = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$pp:ExecutionTrace",
                                     names, PyUnicode_FSConverter, &path,
                                     &recording, &layers)) {
        return NULL;
    }
    PyObject *self = type->tp_alloc(type, 0);
    step options = {.recording = recording != 0, .layers = layers != 0};
    PyObject *done =
        self == NULL ? NULL : run_step(self, open_file, path, options);
    Py_DECREF(path);
    if (done == NULL) {
        Py_CLEAR(self);
    }
    Py_XDECREF(done);
    return self;
}

static void
et_dealloc(PyObject *self)
{
    fd_et_clear(&((et_object *)self)->et);
    fd_object_free(self);
}

/* Take a step with a path. */
static PyObject *
run_with_path(PyObject *self, take_step *take, PyObject *path)
{
    PyObject *encoded;
    if (!PyUnicode_FSConverter(path, &encoded)) {
        return NULL;
    }
    PyObject *done = run_step(self, take, encoded, (step){.path = NULL});
    Py_DECREF(encoded);
    return done;
}

static PyObject *
et_read_kineto(PyObject *self, PyObject *path)
{
    return run_with_path(self, read_kineto, path);
}

static PyObject *
et_save(PyObject *self, PyObject *path)
{
    return run_with_path(self, save_file, path);
}

/* Take a step of the link with rows. */
static PyObject *
et_link(PyObject *self, PyObject *args)
{
    static const char *const names[] = {"times", "kernels", "edges", "order",
                                        NULL};
    static fd_et_link_step *const steps[] = {
        fd_et_set_times, fd_et_add_kernels, fd_et_add_edges, fd_et_reorder};
    const char *name;
    Py_buffer rows;
    if (!PyArg_ParseTuple(args, "sy*:link", &name, &rows)) {
        return NULL;
    }
    int at = fd_choose_name("step", name, names);
    step options = {.link = at < 0 ? NULL : steps[at],
                    .rows = {rows.buf, (size_t)rows.len}};
    PyObject *done =
        at < 0 ? NULL : run_step(self, link_kineto, NULL, options);
    PyBuffer_Release(&rows);
    return done;
}

/* Set what read/et_collectives.py found about a node. Return false with an
 * exception for any other object. */
static bool
describe_node(fd_et *et, PyObject *row)
{
    unsigned index;
    unsigned call;
    int type;
    const char *texts[2];
    Py_ssize_t sizes[2];
    long long bytes;
    fd_et_comm comm;
    if (!PyArg_ParseTuple(row, "IIis#s#iiiiL", &index, &call, &type, &texts[0],
                          &sizes[0], &texts[1], &sizes[1], &comm.type,
                          &comm.src, &comm.dst, &comm.tag, &bytes)) {
        return false;
    }
    if (index >= et->nodes.count || call > et->nodes.count || type < 0
        || type >= FD_ET_TYPES) {
        PyErr_SetString(PyExc_IndexError, "no such node");
        return false;
    }
    et->nodes.list[index].type = (uint8_t)type;
    if (call != 0) {
        fd_et_add_edge(et, call - 1, index, FD_ET_LAUNCH);
    }
    et->faults.collectives_unknown += type == FD_ET_COLL && comm.type < 0;
    if (type >= FD_ET_SEND) {
        comm.group =
            fd_et_add_text(et, (fd_span){texts[0], texts[0] + sizes[0]});
        comm.dtype =
            fd_et_add_text(et, (fd_span){texts[1], texts[1] + sizes[1]});
        comm.bytes = bytes;
        *fd_et_make_comm(et, index) = comm;
    }
    return true;
}

static fd_status
describe_nodes(fd_et *et, PyObject *rows)
{
    if (fd_arena_caught(&et->arena, NULL)) {
        return et->arena.status;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); i++) {
        if (!describe_node(et, PyList_GET_ITEM(rows, i))) {
            fd_arena_fail(&et->arena, FD_EINVAL);
        }
    }
    return fd_arena_left(&et->arena);
}

static PyObject *
et_complete(PyObject *object, PyObject *args)
{
    et_object *self = idle_trace(object);
    step options = {.path = NULL};
    PyObject *rows;
    if (self == NULL
        || !PyArg_ParseTuple(args, "ILO!:complete", &options.edges,
                             &options.rank, &PyList_Type, &rows)) {
        return NULL;
    }
    fd_error error = {""};
    fd_status status = checked_step(self, describe_nodes(&self->et, rows));
    return PyErr_Occurred() != NULL ? NULL
         : status != FD_OK
             ? fd_none_or_raise(fd_module_of(object), status, &error)
             : run_step(object, complete_trace, NULL, options);
}

static PyObject *
et_item_size(PyObject *self, PyObject *dtype)
{
    (void)self;
    Py_ssize_t size;
    const char *name = PyUnicode_AsUTF8AndSize(dtype, &size);
    return name == NULL
             ? NULL
             : PyLong_FromUnsignedLong(fd_dtype_size(name, (size_t)size));
}

static PyMethodDef methods[] = {
    {"columns", et_columns, METH_O,
     PyDoc_STR("columns($self, table, /)\n--\n\nThe columns of a table.")},
    {"text", et_text, METH_O,
     PyDoc_STR("text($self, number, /)\n--\n\nA text by its number.")},
    {"read_kineto", et_read_kineto, METH_O,
     PyDoc_STR("read_kineto($self, path, /)\n--\n\n"
               "Read the Kineto trace of the same rank.")},
    {"link", et_link, METH_VARARGS,
     PyDoc_STR("link($self, step, rows, /)\n--\n\n"
               "Take a step of the link with the Kineto trace.")},
    {"complete", et_complete, METH_VARARGS,
     PyDoc_STR("complete($self, edges, rank, described, /)\n--\n\n"
               "Find times and edges.")},
    {"item_size", et_item_size, METH_O,
     PyDoc_STR("item_size($self, dtype, /)\n--\n\n"
               "The bytes per element of a dtype.")},
    {"save", et_save, METH_O,
     PyDoc_STR("save($self, path, /)\n--\n\n"
               "Write the trace to a .et file.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "ExecutionTrace(path, *, recording=False, layers=False)\n--\n\n"
     "An execution trace as tables."},
    {Py_tp_new, et_new},
    {Py_tp_dealloc, et_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fd_et_spec = FD_TYPE("ExecutionTrace", et_object, slots);
