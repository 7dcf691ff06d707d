/* et_estimate(). */
#include "module/et/et_binding.h"

#include "base/alloc.h"
#include "et/tools/et_estimate.h"
#include "module/errors.h"
#include "module/field_tables.h"

/* Converted arguments. */
typedef struct arguments {
    PyObject *inputs; /* borrowed; list of (path, rank) */
    PyObject *list;   /* owned; keeps the names of the scales */
    fd_et *traces;
    uint32_t count;
    fd_et_scale *scales;
    fd_et_changes changes;
} arguments;

static bool
take_scales(arguments *a, PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    a->list = Py_NewRef(list);
    a->scales = fd_calloc((size_t)count + 1, sizeof *a->scales);
    if (a->scales == NULL) {
        return PyErr_NoMemory() != NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyArg_Parse(PyList_GET_ITEM(list, i), "(sd)", &a->scales[i].name,
                         &a->scales[i].factor)) {
            return false;
        }
    }
    a->changes.scales = a->scales;
    a->changes.scale_count = (size_t)count;
    return true;
}

static fd_status
load_one(fd_et *et, const char *path, long long rank, fd_et_ranks *ranks,
         fd_error *error)
{
    fd_et_format format;
    fd_status status = fd_et_load(et, path, FD_ET_ALL_KINDS, &format, error);
    et->rank = et->rank < 0 ? rank : et->rank;
    return status == FD_OK ? fd_et_ranks_add(ranks, et) : status;
}

/* Read all inputs. Return false with an exception on failure. */
static bool
load_all(PyObject *module, arguments *a, fd_et_ranks *ranks)
{
    Py_ssize_t count = PyList_GET_SIZE(a->inputs);
    a->traces = fd_calloc((size_t)count + 1, sizeof *a->traces);
    if (a->traces == NULL) {
        return PyErr_NoMemory() != NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *path = NULL;
        long long rank;
        fd_error error = {""};
        fd_status status;
        if (!PyArg_Parse(PyList_GET_ITEM(a->inputs, i), "(O&L)",
                         PyUnicode_FSConverter, &path, &rank)) {
            return false;
        }
        fd_et *et = &a->traces[a->count++];
        Py_BEGIN_ALLOW_THREADS
            status =
                load_one(et, PyBytes_AS_STRING(path), rank, ranks, &error);
        Py_END_ALLOW_THREADS
        Py_DECREF(path);
        if (status != FD_OK) {
            return fd_raise(module, status, &error) != NULL;
        }
    }
    return true;
}

static const fd_column step_columns[] = {
    FD_COLUMN(fd_et_step, "name", TEXT, name),
};
static const fd_table steps_table =
    FD_TABLE("steps", step_columns, fd_et_step, false);

static const fd_column path_columns[] = {
    FD_COLUMN(fd_et_path_entry, "name", TEXT_OR_NONE, name),
    FD_COLUMN(fd_et_path_entry, "count", U64, count),
    FD_COLUMN(fd_et_path_entry, "ns", I64, ns),
};
static const fd_table path_table =
    FD_TABLE("critical_path", path_columns, fd_et_path_entry, false);

static const fd_column estimate_columns[] = {
    FD_COLUMN(fd_et_estimate, "measured_ns", I64, measured_ns),
    FD_COLUMN(fd_et_estimate, "replayed_ns", I64, replayed_ns),
    FD_COLUMN(fd_et_estimate, "predicted_ns", I64, predicted_ns),
    FD_COLUMN(fd_et_estimate, "matched", U64, matched),
    FD_COLUMN(fd_et_estimate, "broken", U64, broken),
    FD_COLUMN(fd_et_estimate, "untimed", U64, untimed),
};
static const fd_table estimate_table =
    FD_TABLE("estimate", estimate_columns, fd_et_estimate, false);

static PyObject *
complete_step(PyObject *record, const void *row, const void *unused)
{
    static const char *const names[] = {"measured_ns", "replayed_ns",
                                        "predicted_ns"};
    const fd_et_step *step = row;
    (void)unused;
    for (int i = 0; i < FD_ET_VERSIONS; i++) {
        record = fd_columns_with(
            record, names[i],
            PyLong_FromLongLong(step->end[i] - step->begin[i]));
    }
    return record;
}

static PyObject *
complete_path(PyObject *record, const void *row, const void *context)
{
    const fd_et_path_entry *part = row;
    const fd_et_ranks *ranks = context;
    return fd_columns_with(
        record, "rank",
        PyLong_FromLongLong(ranks->ranks.list[part->rank].rank));
}

static PyObject *
result(const fd_et_estimate *e, const fd_et_ranks *ranks, uint32_t count)
{
    PyObject *made =
        fd_columns_with(PyDict_New(), "ranks", PyLong_FromUnsignedLong(count));
    made =
        fd_columns_with(made, "steps",
                        fd_records(&steps_table, e->steps.list, e->steps.count,
                                   &e->texts, complete_step, NULL));
    made = fd_columns_join(made, fd_record(&estimate_table, e, NULL));
    made = fd_columns_with(made, "mismatches",
                           PyLong_FromUnsignedLong(ranks->mismatches.count));
    return fd_columns_with(made, "critical_path",
                           fd_records(&path_table, e->path.list, e->path.count,
                                      &e->texts, complete_path, ranks));
}

static PyObject *
estimate(PyObject *module, arguments *a, fd_et_ranks *ranks)
{
    fd_et_estimate e;
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        e = (fd_et_estimate){.matched = 0};
        status = fd_et_ranks_compare(ranks);
        if (status == FD_OK) {
            status = fd_et_estimate_make(a->traces, a->count, ranks,
                                         &a->changes, &e, &error);
        }
    Py_END_ALLOW_THREADS
    PyObject *made = status != FD_OK ? fd_raise(module, status, &error)
                                     : result(&e, ranks, a->count);
    fd_et_estimate_clear(&e);
    return made;
}

PyObject *
fd_et_estimate_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs", "scales", "bandwidth", "latency_ns",
                            NULL};
    arguments a = {.changes = {.bandwidth = 1}};
    fd_et_ranks ranks = {.collectives = 0};
    PyObject *scales;
    long long latency = 0;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|$dL:et_estimate",
                                    names, &PyList_Type, &a.inputs,
                                    &PyList_Type, &scales,
                                    &a.changes.bandwidth, &latency)) {
        a.changes.latency_ns = latency;
        if (take_scales(&a, scales) && load_all(module, &a, &ranks)) {
            made = estimate(module, &a, &ranks);
        }
    }
    for (uint32_t i = 0; i < a.count; i++) {
        fd_et_clear(&a.traces[i]);
    }
    fd_free(a.traces);
    fd_free(a.scales);
    Py_XDECREF(a.list);
    fd_et_ranks_clear(&ranks);
    return made;
}
